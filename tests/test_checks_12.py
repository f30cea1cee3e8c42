"""The checks of chapter 12 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import math
from math import comb

import numpy as np
import pytest
import torch

from assign_add_lib import checks
from assign_add_lib.scoreboard import verdict

EXERCISES = ("verdict_of", "median_ends", "least_share", "by_luck", "enough")
KNOWN = {"math": math, "np": np, "torch": torch, "checks": checks}  # what the chapter has imported


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, name, capsys):
    for _ in range(3):
        exec(cells["solution", name], dict(KNOWN))
        assert capsys.readouterr().out.splitlines()[-1] == "Right."


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, name, capsys):
    exec(cells["exercise", name], dict(KNOWN))
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


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


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
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
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


def test_the_first_check_and_the_package_judge_alike(capsys):
    def ours(values, level, at_most):
        held = sum(value <= level if at_most else value >= level for value in values)
        return verdict(held, len(values))

    checks.verdict_of(ours)
    assert capsys.readouterr().out == "Right.\n"
