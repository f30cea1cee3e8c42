"""Answers to the exercises of chapter 12: mistakes, with words of what their check must say, and other right ones."""

import math
from math import comb

import numpy as np

from assign_add_lib.engine.scoreboard import verdict


def judged(strict=False, most=0.75, drop_nan=False, one_way=False):
    """An answer to exercise 12.1 with mistakes."""

    def verdict_of(values, level, at_most):
        values = [v for v in values if not (drop_nan and math.isnan(v))]
        values = [-v for v in values] if at_most and not one_way else values
        level = -level if at_most and not one_way else level
        held = sum(v > level or (v == level and not strict) for v in values)
        if held == len(values):
            return "held in all"
        return "held in most" if held >= most * len(values) else "not held"

    return verdict_of


def resampled(size=None, replace=True, ends=(2.5, 97.5), statistic=np.median):
    """An answer to exercise 12.2 with mistakes."""

    def median_ends(values, draws):
        rng = np.random.default_rng()
        drawn = [rng.choice(values, size or len(values), replace=replace) for _ in range(draws)]
        return np.percentile([statistic(each) for each in drawn], ends)

    return median_ends


def bound(more=0, tail=0.05):
    """An answer to exercise 12.3 that starts to count `more` runs further on, or with another tail."""

    def least_share(held, runs):
        low, high = 0.0, 1.0
        for _ in range(50):
            p = (low + high) / 2
            chance = sum(comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(held + more, runs + 1))
            low, high = (p, high) if chance < tail else (low, p)
        return low

    return least_share


def lucky(claims, runs, chance):
    return claims * chance**runs


MISTAKES = [
    ("verdict_of", judged(strict=True), "exactly at the level"),
    ("verdict_of", judged(most=0.5), "the verdict is"),
    ("verdict_of", judged(drop_nan=True), "nan does not hold"),
    ("verdict_of", judged(one_way=True), "at most"),
    ("median_ends", resampled(replace=False), "with replacement"),
    ("median_ends", resampled(ends=(25, 75)), "end is"),
    ("median_ends", resampled(statistic=np.mean), "end is"),
    ("median_ends", resampled(size=1), "end of the values themselves"),
    ("median_ends", lambda values, draws: 0.5, "TypeError"),
    ("least_share", lambda held, runs: held / runs, "the least share is"),
    ("least_share", bound(tail=0.025), "the least share is"),
    ("least_share", bound(more=1), "the least share is"),
    ("by_luck", lucky, "most counts as well as all"),
    ("by_luck", lambda claims, runs, chance: claims * chance, "it should be"),
    ("enough", lambda accuracy, level: min((s for s in accuracy if accuracy[s] >= level), default=math.inf), "falls below"),
    ("enough", lambda accuracy, level: max(accuracy), "it should be"),
]


def as_the_package_judges(values, level, at_most):
    held = sum(value <= level if at_most else value >= level for value in values)
    return verdict(held, len(values))


RIGHT = [("verdict_of", as_the_package_judges)]
