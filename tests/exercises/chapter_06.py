"""Answers to the exercises of chapter 6: mistakes, with words of what their check must say."""

import torch

from assign_add_lib.circuits import OV


def cosine(a, b):
    return torch.cosine_similarity(a, b, dim=-1).mean()


def in_place(logits, answers):
    right = logits.gather(1, answers[:, None])[:, 0]
    logits.scatter_(1, answers[:, None], -torch.inf)
    return right - logits.max(1).values


def best_two(logits, answers):
    first, second = logits.topk(2, dim=1).values.unbind(1)
    return first - second


def neurons(weights, x, y, relu=True):
    pre = (weights.W_E[x] + weights.W_E[y]) @ OV(weights, 2) @ weights.W_in
    return pre.relu() if relu else pre


def effects(weights):
    return weights.W_out @ weights.W_U


def without_mean(weights, x, y):
    return neurons(weights, x, y) * effects(weights)[:, (x + y) % 59]


def without_relu(weights, x, y):
    out = effects(weights)
    return neurons(weights, x, y, relu=False) * (out[:, (x + y) % 59] - out.mean(1))


def without_modulus(weights, x, y):
    out = effects(weights)
    return neurons(weights, x, y) * (out[:, x + y] - out.mean(1))


MISTAKES = [
    ("matched_and_shuffled", lambda a, b, order: cosine(a, b), "two things"),
    ("matched_and_shuffled", lambda a, b, order: ((a * b).sum(1).mean(), cosine(a, b[order])), "both lengths"),
    ("matched_and_shuffled", lambda a, b, order: (cosine(a, b), cosine(a[order], b[order])), "shuffled mean"),
    ("matched_and_shuffled", lambda a, b, order: (cosine(a.T, b.T), cosine(a.T, b[order].T)), "row by row"),
    ("truly_new", lambda train: ~train, "same sum"),
    ("truly_new", lambda train: train & train.T, "training pair"),
    ("truly_new", lambda train: ~train & ~train.T & ~torch.eye(59).bool(), "its own twin"),
    ("margin", in_place, "copy"),
    ("margin", best_two, "negative where the network is wrong"),
    ("margin", lambda logits, answers: logits.max(1).values, "negative where the network is wrong"),
    ("attribution", without_mean, "mean over all 59"),
    ("attribution", without_relu, "differ from the definition"),
    ("attribution", without_modulus, "stopped with IndexError"),
    ("attribution", lambda weights, x, y: neurons(weights, x, y)[None], "shape"),
]
