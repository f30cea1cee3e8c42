"""The checks of chapter 12, Across seeds: the scoreboard."""

import math
import random
from collections.abc import Callable
from math import comb

from ..engine.scoreboard import verdict as stated
from .common import as_tensor, exercise, expect


def _at_least(k: int, n: int, p: float) -> float:
    """The probability of at least k heads in n tosses of a coin with chance p."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


@exercise
def verdict_of(answer: Callable) -> None:
    """Exercise 12.1: `answer(values, level, at_most)` is the verdict on the values of a claim."""
    for turn in range(60):
        n, level, at_most = random.randint(4, 12), random.choice([0.0, 0.5, 100.0]), bool(turn % 2)
        held = random.choice([n, n - 1, math.ceil(0.75 * n), math.ceil(0.75 * n) - 1, 0])
        values = [level + (1 if (i < held) != at_most else -1) * random.random() for i in range(n)]
        if held == n and turn % 3 == 0:
            values[0] = level  # at the level is enough
        if held < n and turn % 3 == 1:
            values[-1] = math.nan
        random.shuffle(values)
        given, truth = answer(list(values), level, at_most), stated(held, n)
        expect(given is not None, "your function returns nothing yet")
        rule = f"{'at most' if at_most else 'at least'} {level:g}"
        at_level = "; one value is exactly at the level" if level in values else ""
        at_level += "; nan does not hold" if any(map(math.isnan, values)) else ""
        expect(given == truth, f"{held} of {n} values are {rule}: it says {given!r}; the verdict is {truth!r}{at_level}")


def _order_statistic(n: int, p: float) -> int:
    """Which of n ordered values, counted from 0, is the p-quantile of the bootstrapped median, for odd n."""
    return next(k for k in range(1, n + 1) if _at_least((n + 1) // 2, n, k / n) >= p) - 1  # the median is at most the k-th


@exercise
def median_ends(answer: Callable) -> None:
    """Exercise 12.2: `answer(values, draws)` are the ends of the 95% bootstrap interval of the median."""
    for n in (5, 7, 11):  # where 4000 draws settle both ends beyond doubt
        values = [random.gauss(0, 1) for _ in range(n)]
        place = _order_statistic(n, 0.025)
        ordered = sorted(values)
        ends = answer(list(values), 4000)
        expect(ends is not None, "your function returns nothing yet")
        given = as_tensor([float(end) for end in ends], (2,), "the interval").tolist()
        for words, ours, truth in zip(("lower", "upper"), given, (ordered[place], ordered[n - 1 - place])):
            hint = "; draw as many values as there are, with replacement" if abs(ours - ordered[n // 2]) < 1e-5 else ""
            hint = (
                "; that is the end of the values themselves"
                if place and min(ours - ordered[0], ordered[-1] - ours) < 1e-5
                else hint
            )
            expect(abs(ours - truth) < 1e-5, f"of {n} values the {words} end is {ours:.4f}; it should be {truth:.4f}{hint}")


@exercise
def least_share(answer: Callable) -> None:
    """Exercise 12.3: `answer(held, runs)` is the least chance under which so many runs or more hold with 5%."""
    cases = [(10, 10), (0, 10), *((random.randint(0, n), n) for n in random.sample(range(3, 40), 12))]
    for held, runs in cases:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _at_least(held, runs, middle) < 0.05 else (low, middle)
        truth = high if held else 0.0
        given = float(as_tensor(answer(held, runs), (), "the answer"))
        exactly = held and abs(comb(runs, held) * given**held * (1 - given) ** (runs - held) - 0.05) < 1e-4 and held < runs
        hint = "; count the chance of more than that, too" if exactly and abs(given - truth) > 1e-4 else ""
        expect(abs(given - truth) < 1e-4, f"for {held} of {runs}: it gives {given:.5f}; the least share is {truth:.5f}{hint}")


@exercise
def by_luck(answer: Callable) -> None:
    """Exercise 12.4: `answer(claims, runs, chance)` is the mean number of claims that hold in most runs, or in all."""
    for _ in range(30):
        claims, runs, chance = random.randint(1, 60), random.randint(1, 30), random.choice([0.0, 0.2, 0.5, 0.7, 0.9, 1.0])
        truth = claims * sum(
            comb(runs, k) * chance**k * (1 - chance) ** (runs - k) for k in range(runs + 1) if stated(k, runs) != "not held"
        )
        given = float(as_tensor(answer(claims, runs, chance), (), "the answer"))
        words = f"{claims} claims, {runs} runs, chance {chance}: it gives {given:.4f}; it should be {truth:.4f}"
        all_only = abs(given - claims * chance**runs) < 1e-4
        expect(abs(given - truth) < 1e-4, words + ("; most counts as well as all" if all_only else ""))


@exercise
def enough(answer: Callable) -> None:
    """Exercise 12.5: `answer(accuracy, level)` is the least setting from which on the accuracy is at least a level."""
    for turn in range(60):
        n = random.randint(2, 12)
        settings = random.sample(range(1, 100), n)
        heights = [random.random() ** (1 if turn % 2 else 0.2) for _ in settings]
        accuracy = {setting / 100: height for setting, height in zip(settings, heights)}
        level = random.choice([0.3, 0.6, 0.9, max(heights), max(heights) + 0.1])
        truth = math.inf
        for setting in sorted(accuracy, reverse=True):
            if accuracy[setting] < level:
                break
            truth = setting
        given = answer(dict(accuracy), level)
        expect(given is not None, "your function returns nothing yet")
        first = next((setting for setting in sorted(accuracy) if accuracy[setting] >= level), None)
        hint = "; it falls below the level again later" if given == first else ""
        shown = ", ".join(f"{setting}: {accuracy[setting]:.3f}" for setting in sorted(accuracy))
        words = f"for {{{shown}}} and level {level:.3f} it gives {given}; it should be {truth}{hint}"
        expect(given == truth, words)
