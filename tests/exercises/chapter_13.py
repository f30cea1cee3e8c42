"""Answers to the exercises of chapter 13: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib import theory
from assign_add_lib.theory import Setting


def matching(m, generator):
    """An answer to exercise 13.5 that leaves some names in their places."""
    return m.T @ m[torch.tensor([0, *range(2, 12), 1])]


def fixed(m, generator):
    """An answer to exercise 13.5 without chance."""
    return m.T @ m.roll(1, 0)


def isotropic(m, generator):
    """An answer to exercise 13.5 that leaves the names."""
    u = torch.randn(12, 128, generator=generator)
    return u.T @ u.roll(1, 0)


def hollow(m, generator):
    """An answer to exercise 13.5 that gives names unequal weights."""
    Q = torch.randn(12, 12, generator=generator)
    return m.T @ (Q - Q.diag().diag()) @ m


def derangement(m, generator):
    """Another right answer to exercise 13.5: a cycle through all names in random order."""
    order = torch.rand(12, generator=generator).argsort()
    return m[order].T @ m[order.roll(1)]


def measured():
    """Another right answer to exercise 13.4, step by step."""
    setting = Setting(lam=4.0, gamma=0.5, assignments=2)
    W = setting.initial()
    for _ in range(8):
        W = theory.follow([(setting, 1)], asked=2, start=W)[-1]
    last = theory.coordinates(setting.task)["moved variable"].stop - 1
    return [2, 2, W[last, last], W[last, setting.task.equal]]


MISTAKES = [
    ("sure_share", lambda N: 1, "same double"),
    ("sure_share", lambda N: 1 - 1 / N, "odd and even"),
    ("sure_share", lambda N: 1 if N % 2 else 1 - 2 / N, "odd and even"),
    ("enough_step", lambda K: math.log((K - 2) / (math.sqrt(2) - 1)), "not the smallest"),
    ("enough_step", lambda K: math.log(K - 2), "gets wrong"),
    ("enough_step", lambda K: math.log(4 * (K - 2)), "smaller h"),
    ("control", lambda: (2, 1, 0.4, 0.3), "separates nothing"),
    ("control", lambda: (1, 1, 0.4, 0.4), "separates nothing"),
    ("control", lambda: (2, 2, 0.5, 0.4), "is not 0.5"),
    ("control", lambda: (4, 2, 0.1, 0.1), "one to three"),
    ("null", hollow, "times the weight"),
    ("null", matching, "paired with itself"),
    ("null", fixed, "same matrix"),
    ("null", isotropic, "leaves the span"),
    ("null", lambda m, generator: m.T @ m, "paired with itself"),
    ("number_operand", lambda alpha, epsilon, p, N, V: 0.0, "votes of y with itself cancel"),
    ("number_operand", lambda alpha, epsilon, p, N, V: V * 6 * epsilon, "autograd gives"),
]

RIGHT = [
    ("sure_share", lambda N: 1 - (1 - N % 2) / N),
    ("enough_step", lambda K: math.log(K - 2) + math.log(2)),
    ("control", measured),
    ("null", derangement),
]
