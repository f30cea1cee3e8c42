"""Answers to the exercises of chapter 13: mistakes, with words of what their check must say."""

import math

import torch


def isotropic(m, generator):
    """An answer to exercise 13.5 that leaves the names."""
    u = torch.randn(12, 128, generator=generator)
    return u.T @ u.roll(1, 0)


def hollow(m, generator):
    """An answer to exercise 13.5 that gives names unequal weights."""
    Q = torch.randn(12, 12, generator=generator)
    return m.T @ (Q - Q.diag().diag()) @ m


MISTAKES = [
    ("null", ("return m.T", "return -m.T"), "with the wrong sign"),
    ("sure_share", ("1 - 1 / N", "1 - 1 / N**2"), "counted over all pairs"),
    ("sure_share", lambda N: 1 - 1 / N, "counted over all pairs"),
    ("number_operand", ("(1 - p) * (mixed - 2 * a", "(1 - 1 / N) * (mixed - 2 * a"), "autograd gives"),
    ("number_operand", (" - (X + Y) * a", ""), "r-bar takes its part"),
    ("enough_step", lambda K: math.log(2 * K), "smaller h"),
    ("control", lambda: (2, 2, 0.5, 0.4, 0.3), "shape"),
    ("control", lambda: (1, 1, 0.4, 0.4), "separates nothing"),
    ("sure_share", lambda N: 1, "same double"),
    ("sure_share", lambda N: 1 if N % 2 else 1 - 2 / N, "odd and even"),
    ("enough_step", lambda K: math.log((K - 2) / (math.sqrt(2) - 1)), "not the smallest"),
    ("enough_step", lambda K: math.log(K - 2), "gets wrong"),
    ("enough_step", lambda K: math.log(4 * (K - 2)), "smaller h"),
    ("control", lambda: (2, 1, 0.4, 0.3), "separates nothing"),
    ("control", lambda: (2, 2, 0.5, 0.4), "is not 0.5"),
    ("control", lambda: (4, 2, 0.1, 0.1), "one to three"),
    ("null", hollow, "times the weight"),
    ("null", lambda m, generator: m.T @ m[torch.tensor([0, *range(2, 12), 1])], "paired with itself"),  # one of the names
    ("null", lambda m, generator: m.T @ m.roll(1, 0), "same matrix"),  # without chance
    ("null", isotropic, "leaves the span"),
    ("number_operand", lambda alpha, epsilon, p, N, V: 0.0, "votes of y with itself cancel"),
    ("number_operand", lambda alpha, epsilon, p, N, V: V * 6 * epsilon, "autograd gives"),
]
