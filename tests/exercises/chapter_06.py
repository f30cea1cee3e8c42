"""Answers to the exercises of chapter 6: mistakes, with words of what their check must say."""

import torch

from assign_add_lib.circuits import OV


def lengths(a, b):
    return (a.square().sum(2).mean() * b.square().sum(2).mean()).sqrt()


def levels(a, b, axis=1):
    return (a.mean((0, 1)) * b.mean((0, 1))).sum(), (a.mean(axis) * b.mean(axis)).sum(1).mean()


def divided(a, b, axis=1, by=lengths):
    return tuple(each / by(a, b) for each in levels(a, b, axis))


def cosine_of_means(a, b):
    another = torch.cosine_similarity(a.mean((0, 1)), b.mean((0, 1)), dim=0)
    return another, torch.cosine_similarity(a.mean(1), b.mean(1), dim=1).mean()


def whole_mean_twice(a, b):
    another, _ = divided(a, b)
    return another, another


def circuit(weights, c, relu=True, late=False, skip=False):
    moved = weights.W_E[:59] @ OV(weights, 2)
    pre = moved @ weights.W_in * (1 if late else c)
    out = (pre.relu() if relu else pre) @ weights.W_out @ weights.W_U * (c if late else 1)
    return (out + c * moved @ weights.W_U if skip else out).argmax(1)


def same_totals(labels):
    counts = labels.flatten().bincount().tolist()
    return len(set(counts)) < len(counts)


def same_rows(labels):
    counts = [tuple((labels == label).sum(1).tolist()) for label in labels.unique()]
    return len(set(counts)) < len(counts)


def all_alike(labels):
    counts = {tuple((labels == label).sum(0).tolist() + (labels == label).sum(1).tolist()) for label in labels.unique()}
    return len(counts) == 1


def moved(weights, activations, stream):
    return activations.pattern[:, 1, -1, :, None] * (stream @ OV(weights, 2))


def embedded_only(weights, activations):
    return moved(weights, activations, activations.resid_pre)


def layer_1_only(weights, activations):
    return moved(weights, activations, activations.attn_out[:, 0])


def backwards(weights, activations):
    return moved(weights, activations, activations.resid_pre + activations.attn_out[:, 0]).flip(1)


def overlap(one, two, n=16):
    first, second = (torch.zeros_like(each).scatter(1, each.topk(n).indices, 1.0) for each in (one, two))
    return (first * second).sum(1).mean() / n


def shared_part(one, two):
    one, two = (each.clamp(min=0) / each.clamp(min=0).sum(1, keepdim=True) for each in (one, two))
    return torch.minimum(one, two).sum(1).mean()


MISTAKES = [
    ("control_levels", lambda a, b: divided(a, b)[0], "two things"),
    ("control_levels", levels, "mean dot product; divide"),
    ("control_levels", lambda a, b: divided(a, b, by=lambda a, b: lengths(a, b) ** 2), "twice"),
    ("control_levels", lambda a, b: divided(a, b, axis=0), "share y"),
    ("control_levels", cosine_of_means, "for another pair it gives"),
    ("control_levels", whole_mean_twice, "for the same x it gives"),
    ("alone", lambda weights, c: circuit(weights, c, relu=False), "ReLU between"),
    ("alone", lambda weights, c: circuit(weights, c, late=True), "before the ReLU"),
    ("alone", lambda weights, c: circuit(weights, c, skip=True), "skip path"),
    ("alone", lambda weights, c: circuit(weights, 1.0), "no effect"),
    ("alone", lambda weights, c: (circuit(weights, c) + 1) % 59, "answers differ"),
    ("proof_applies", same_totals, "for x itself"),
    ("proof_applies", same_rows, "for y itself"),
    ("proof_applies", all_alike, "crossed labels"),
    ("proof_applies", lambda labels: True, "the larger number"),
    ("proof_applies", lambda labels: 1.0, "True or False"),
    ("from_positions", embedded_only, "what layer 1 added"),
    ("from_positions", layer_1_only, "should sum to"),
    ("from_positions", backwards, "another's part"),
    ("from_positions", lambda weights, activations: embedded_only(weights, activations).sum(1), "shape"),
    ("sharing", lambda one, two: torch.cosine_similarity(one.mean(0), two.mean(0), dim=0), "compare pair by pair"),
    ("sharing", lambda one, two: (one * two).sum(1).mean() / one.square().sum(1).mean(), "a factor should not matter"),
    ("sharing", lambda one, two: torch.cosine_similarity(one.sum(1), two.sum(1), dim=0), "two sets of neurons"),
    ("sharing", lambda one, two: torch.cosine_similarity(one, two, dim=1), "shape"),
    ("sharing", lambda one, two: torch.tensor(0.0), "nearly the same"),
    ("sharing", lambda one, two: torch.cosine_similarity(one[:, :120], two[:, -120:], dim=1).mean(), "a copy of every neuron"),
]
RIGHT = [
    ("sharing", overlap),
    ("sharing", shared_part),
    ("sharing", lambda one, two: torch.cosine_similarity(one, two, dim=1).mean()),
]
