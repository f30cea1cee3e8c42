"""Answers to the exercises of chapter 13: mistakes, with words of what their check must say."""

import math

import torch

NAMES = {"math": math, "torch": torch}

RIGHT = [
    ("fair", ("y >= 11", "(x - y) % 59 >= 12")),
]

MISTAKES = [
    ("sure_share", ("1 - 1 / N", "1 - 1 / N**2"), "counted over all pairs"),
    ("sure_share", lambda N: 1 - 1 / N, "counted over all pairs"),
    ("number_operand", ("p - 1 / N", "p"), "autograd gives"),
    ("number_operand", (" - epsilon * on_x", ""), "the average pull takes its part"),
    ("enough_step", lambda K: math.log(2 * K), "smaller h"),
    ("sure_share", lambda N: 1, "same double"),
    ("sure_share", lambda N: 1 if N % 2 else 1 - 2 / N, "odd and even"),
    ("enough_step", lambda K: math.log((K - 2) / (math.sqrt(2) - 1)), "not the smallest"),
    ("enough_step", lambda K: math.log(K - 2), "gets wrong"),
    ("enough_step", lambda K: math.log(4 * (K - 2)), "smaller h"),
    ("number_operand", lambda alpha, epsilon, p, N, V: 0.0, "votes of y with itself cancel"),
    ("number_operand", lambda alpha, epsilon, p, N, V: V * 6 * epsilon, "autograd gives"),
    ("fair", ("y >= 11", "y >= 2"), "leave out 600 to 1100"),
    ("fair", ("y >= 11", "(x + y) % 59 >= 12"), "for one typed y"),
    ("fair", lambda: torch.eye(59, dtype=torch.bool), "leave out 600 to 1100"),
    ("fair", ("y >= 11", "x >= 11"), "for one typed y"),
    ("fair", lambda: torch.rand(59, 59, generator=torch.Generator().manual_seed(0)) < 0.7, "for one typed y"),
    ("fair", lambda: torch.ones(59, 58), "shape"),
]
