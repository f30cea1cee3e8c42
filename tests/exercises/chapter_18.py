"""Answers to the exercises of chapter 18: mistakes, with words of what their check must say."""

import torch

from assign_add_lib import Problem, handmade
from assign_add_lib.proof import attack as at

NAMES = {"report": lambda *_: None, "torch": torch, "Problem": Problem, "handmade": handmade, "at": at}
TEXT = "c=46, d=46, e=46, a=46, f=46, b=46, 21+22=?"


def mixture(weights, value):
    """What = reads."""
    return (weights * value).sum() / weights.sum()


MISTAKES = [
    ("least_mixture", lambda low, high, value: mixture(torch.where(value < 0, high, low), value), "not whether it is below 0"),
    ("least_mixture", ("high, low)", "low, high)"), "trying all ends gives"),
    ("least_mixture", lambda low, high, value: ((low + high) * value).sum() / (low + high).sum(), "the middle of each weight"),
    ("least_mixture", lambda low, high, value: (high * value).min() / high.sum(), "trying all ends gives"),
    ("least_mixture", lambda low, high, value: None, "returns nothing"),
    ("worst", ("min(found) >= found[0]", "min(found) >= found[0] - 3"), "has"),  # stops too early
    ("worst", lambda text, margins: "i=33, e=33, l=33, g=33, f=33, k=13, k+24=?", "the largest step"),
    ("worst", ("letter not in (problem.left, problem.right)", "True"), "asks for something else"),
    ("worst", ("range(59)}", "range(30)}"), "has"),
    ("worst", lambda text, margins: text, "has"),
    ("worst", lambda text, margins: "33", "no problem"),
    ("worst", lambda text, margins: "a=1, 10+23=?", "other letters"),
    ("between", lambda: (0.22, 0.13), "three things"),
    ("between", lambda: (0.13, 0.22, TEXT), "0 < broken < proved"),
    ("between", lambda: (0.22, 0.13, "k=13, k+24=?"), "does not ask for 21+22"),
    ("between", lambda: (0.22, 0.13, "no"), "is no problem"),
    ("between", lambda: (0.23, 0.2, TEXT), "answered right"),
    ("between", lambda: (0.16, 0.1, TEXT), "proves nothing"),
    ("between", lambda: (1, 0.1, TEXT), "within a factor of 2"),
]


def all_corners(low, high, value):
    """Every end, where there are few; else the level."""
    from itertools import product

    if len(value) > 12:
        return min(float((w * value).sum() / w.sum()) for w in (torch.where(value < level, high, low) for level in value))
    return min(float((w * value).sum() / w.sum()) for w in map(torch.stack, product(*zip(low, high))))


def by_iteration(low, high, value):
    """The level that is its own mean."""
    mean = value.max()
    for _ in range(200):
        w = torch.where(value < mean, high, low)
        mean = (w * value).sum() / w.sum()
    return mean


RIGHT = [("least_mixture", all_corners), ("least_mixture", by_iteration)]
