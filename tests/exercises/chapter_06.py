"""Answers to the exercises of chapter 6: mistakes, with words of what their check must say, and other right ones."""

import torch

BOTH = "another_pair / lengths, same_x / lengths"
COSINE = "torch.cosine_similarity(a.mean((0, 1)), b.mean((0, 1)), dim=0), same_x / lengths"

MISTAKES = [
    # neighbouring labels alone are compared
    ("proof_applies", ("        seen.add(counts)", "        seen = {counts}"), "that are no neighbours"),
    ("sharing", lambda one, two: torch.cosine_similarity(one, two, dim=1).mean(), "which this chapter used"),
    ("control_levels", (BOTH, "another_pair"), "two things"),
    ("control_levels", (" / lengths", ""), "mean dot product; divide"),
    ("control_levels", ("/ lengths", "/ lengths**2"), "twice"),
    ("control_levels", ("a.mean(1) * b.mean(1)", "a.mean(0) * b.mean(0)"), "share y"),
    ("control_levels", (BOTH, COSINE), "for another pair it gives"),
    ("control_levels", ("same_x / lengths", "another_pair / lengths"), "for the same x it gives"),
    ("alone", (".relu()", ""), "ReLU between"),
    ("alone", ("c * weights", "weights", "weights.W_U)", "weights.W_U * c)"), "before the ReLU"),
    ("alone", ("neurons @ weights.W_out", "(neurons @ weights.W_out + stream)"), "skip path"),
    ("alone", ("c * weights", "weights"), "no effect"),
    ("alone", ("argmax(1)", "argmax(1) + 1"), "answers differ"),
    ("proof_applies", ("tuple(cells.sum(0).tolist() + cells.sum(1).tolist())", "int(cells.sum())"), "for x itself"),
    ("proof_applies", ("cells.sum(0).tolist() + ", ""), "for y itself"),
    ("proof_applies", ("return True", "continue", "return False", "return len(seen) == 1"), "crossed labels"),
    ("proof_applies", lambda labels: True, "the larger number"),
    ("proof_applies", lambda labels: 1.0, "True or False"),
    ("from_positions", (" + activations.attn_out[:, 0]", ""), "what layer 1 added"),
    ("from_positions", ("activations.resid_pre + ", ""), "should sum to"),
    ("from_positions", ("1, -1]", "1, -1].flip(1)", "(stream @", "(stream.flip(1) @"), "another's part"),
    ("from_positions", lambda weights, activations: activations.resid_pre[:, 0], "shape"),
    ("sharing", lambda one, two: torch.cosine_similarity(one.mean(0), two.mean(0), dim=0), "compare pair by pair"),
    ("sharing", lambda one, two: (one * two).sum(1).mean() / one.square().sum(1).mean(), "a factor should not matter"),
    ("sharing", lambda one, two: torch.cosine_similarity(one.sum(1), two.sum(1), dim=0), "two sets of neurons"),
    ("sharing", lambda one, two: torch.cosine_similarity(one, two, dim=1), "shape"),
    ("sharing", lambda one, two: torch.tensor(0.0), "nearly the same"),
    ("sharing", lambda one, two: torch.cosine_similarity(one[:, :120], two[:, -120:], dim=1).mean(), "a copy of every neuron"),
]


def overlap(one, two):
    """What the shares of the squared contributions have in common."""
    return torch.minimum(*(each.square() / each.square().sum(1, keepdim=True) for each in (one, two))).sum(1).mean()


RIGHT = [("sharing", overlap), ("sharing", lambda one, two: torch.cosine_similarity(one.abs(), two.abs(), dim=1).median() ** 2)]
