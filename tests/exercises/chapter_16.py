"""Answers to the exercises of chapter 16: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.companions.rules.data import lines_known
from assign_add_lib.companions.rules.model import rotary
from assign_add_lib.companions.rules.solvers import expected_ratio_matching


def multiples(inputs, p):
    return {(c * x % p, c * y % p) for x, y in inputs for c in range(p)} | {(0, 0)}


def known_by_solving(inputs, p):
    """An answer to exercise 16.1 that asks whether two inputs are independent."""
    for x, y in inputs:
        if any((x * v - y * u) % p for u, v in inputs):
            return {(x, y) for x in range(p) for y in range(p)}
    return multiples(inputs, p)


def expected_by(origin=1.0, guess=True, itself=True):
    """An answer to exercise 16.2 that goes through all questions."""

    def expected(shown, k):
        p, pairs = len(shown), shown.nonzero()
        factors = torch.arange(1, p)[:, None, None] * pairs % p  # (factor, pair, 2)
        fits = (factors[:, :, None] == pairs).all(3).any(0)  # whether an input (row) is multiplied into a question (column)
        fits &= itself | ~torch.eye(len(pairs), dtype=torch.bool)
        unmatched = (1 - fits.double().mean(0)) ** k
        right = 1 - unmatched + unmatched / p * guess
        right[(pairs == 0).all(1)] = origin or 1 / p
        return right.mean()

    return expected


def by_turning(places):
    """An answer to exercise 16.3 whose query is its key, turned by some places."""

    def looks_back(distance, d):
        key = torch.linspace(1, 2, d)
        return rotary(key[None], torch.tensor([float(places(distance))]))[0], key

    return looks_back


def struck_out(p):
    """An answer to exercise 16.4 that counts for each question."""
    zero = 1 / p
    return torch.tensor([zero, *(zero + (1 - zero) / left for left in range(p - 2, 0, -1))])


def lines_off_the_axes(rows):
    """An answer to exercise 16.5: on how many lines the examples lie, and nothing where the question has a 0."""
    return lines_known(rows) * (rows.inputs[:, -1].prod(1) > 0)


MISTAKES = [
    ("known", lambda inputs, p: multiples(inputs, p) - {(0, 0)}, "it is 0 for every rule"),
    ("known", multiples, "combine two examples"),
    ("known", lambda inputs, p: {(x, y) for x in range(p) for y in range(p)}, "two rules differ there"),
    ("known", lambda inputs, p: set(inputs) | {(0, 0)}, "is fixed, too"),
    ("expected", lambda shown, k: expected_ratio_matching(len(shown), k), "the formula for all inputs"),
    ("expected", expected_by(guess=False), "a guess is right at times"),
    ("expected", expected_by(origin=0), "the origin is always answered by 0"),
    ("expected", expected_by(itself=False), "by the factor 1"),
    ("looks_back", by_turning(lambda distance: distance), "it looks ahead"),
    ("looks_back", by_turning(lambda distance: 0), "the best key stands 0 back"),
    ("looks_back", lambda distance, d: (torch.ones(d + 1), torch.ones(d)), "vectors of 8 numbers"),
    ("without_ratios", lambda p: [1 / p] * (p - 1), "question 2"),
    ("without_ratios", lambda p: [1 / (p - 1), *struck_out(p)[1:]], "nothing came before"),
    ("without_ratios", lambda p: [1 / p, *(1 / (p - k) for k in range(2, p))], "the tasks whose answers are all 0"),
    ("without_ratios", lambda p: [1 / p, *(1 / p + (1 - 1 / p) / left for left in range(p - 1, 1, -1))], "0 is struck out, too"),
    ("without_ratios", lambda p: struck_out(p)[1:], "a line has 4 inputs"),
    ("likely", lines_known, "0.05 more is asked for"),
    ("likely", lambda rows: torch.zeros(len(rows.answers)), "0.50 of the pairs"),
    ("likely", lambda rows: rows.answers, "you gave 18000 scores"),
]

RIGHT = [
    ("known", known_by_solving),
    ("expected", expected_by()),
    ("looks_back", by_turning(lambda distance: -distance)),
    ("without_ratios", struck_out),
    ("likely", lines_off_the_axes),
]
