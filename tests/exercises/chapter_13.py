"""Answers to the exercises of chapter 13: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib.theory import Setting, balance


def missing(factor=2, sign=1):
    """An answer to exercise 13.1 with a wrong factor or a wrong direction."""

    def missing_number(c, q):
        n = torch.arange(len(c))
        return factor * c[(sign * (q - n)) % len(c)]

    return missing_number


def step_of(kappa=2, alone=1, operand=True):
    """An answer to exercise 13.2 with parts left out."""

    def balanced_step(lam, always_left):
        number = kappa + 2 * kappa + 1 / 6 + alone
        return lam / (number + (0 if always_left or not operand else (12 * kappa + 1) / 2))

    return balanced_step


def strength(loud=True, own=True):
    """An answer to exercise 13.4 without the loud vote, or without the case x = y."""

    def signal(alpha, epsilon, gamma, N):
        a, e, exp = alpha, epsilon, math.exp
        votes = [exp(gamma * F) for F in (a * a, e * e, 2 * a * e)]
        Z = N - 3 + sum(votes)
        mixed = 2 * a * e * (1 - votes[2] / Z)
        Y, X = mixed - loud * 2 * a * a * votes[0] / Z, mixed - 2 * e * e * votes[1] / Z
        wrong = own * (N - 1) / (N - 1 + exp(gamma * (a + e) ** 2))
        Y, X = ((1 - 1 / N) * pull + 2 * each * (a + e) * wrong / N for pull, each in ((Y, a), (X, e)))
        return (X - 2 * e * (X + Y)) / (2 * a * e * (1 - 1 / N))

    return signal


MISTAKES = [
    ("missing_number", missing(factor=1), "two factors"),
    ("missing_number", missing(sign=-1), "n + m = q"),
    ("missing_number", lambda c, q: c[q], "shape"),
    ("balanced_step", step_of(kappa=1), "attention is equal at"),
    ("balanced_step", step_of(alone=0), "attention is equal at"),
    ("balanced_step", step_of(operand=False), "where a variable could stand"),
    ("zero_variable_answer", lambda left, right: (left + right) % 59, "right answer"),
    ("zero_variable_answer", lambda left, right: 2 * left % 59, "pushed down"),
    ("zero_variable_answer", lambda left, right: right, "the network says"),
    ("signal", lambda alpha, epsilon, gamma, N: 1 - 4 * epsilon, "limit for gamma = 0"),
    ("signal", strength(loud=False), "autograd gives"),
    ("signal", strength(own=False), "autograd gives"),
    ("number_operand", lambda alpha, epsilon, p, N, V: 0.0, "loud vote is silent"),
    ("number_operand", lambda alpha, epsilon, p, N, V: V * 6 * epsilon, "autograd gives"),
]

RIGHT = [
    ("balanced_step", lambda lam, always_left: balance(Setting(lam=lam, rho=1.0 if always_left else 0.5))),
    ("missing_number", missing()),
    ("signal", strength()),
]
