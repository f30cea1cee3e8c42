"""Answers to the exercises of chapter 12: mistakes, with words of what their check must say, and other right ones."""

import copy
import math
from math import comb

from assign_add_lib.analysis.phases import arrival
from assign_add_lib.claims.evidence import Evidence
from assign_add_lib.claims.study import SEEDS
from assign_add_lib.engine.scoreboard import Claim


def lagging(sign=1, first=False, missing=math.inf):
    """An answer to exercise 12.1 with mistakes."""

    def when(series):
        good = series.index[series >= 0.95]
        return (good[0] if len(good) else None) if first else arrival(series, 0.95)

    def lag(run):
        fits, then = (when(run.metrics[name]) for name in ("0-var train", "0-var add-restricted"))
        if fits is None:
            return math.nan
        return missing if then is None else sign * (then - fits)

    return lag


def by_evidence(run):
    """Another right answer to exercise 12.1, with what Evidence offers."""
    fits, then = (run.arrival(name, 0.95) for name in ("0-var train", "0-var add-restricted"))
    return math.nan if math.isinf(fits) else then - fits


def claimed(measure=None, level=800, at_most=True, seen=("seed-42",), expected=9):
    """An answer to exercise 12.1 with mistakes."""
    measure = measure or lagging()
    return lambda: (Claim("soon", "", "", "", "", measure, level, at_most=at_most, seen=seen), expected)


def ranked(least=0.025, start=1, more=0):
    """An answer to exercise 12.2 with mistakes."""

    def lower_rank(n):
        need = (n + 1) // 2 + more

        def chance(p):
            return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(need, n + 1))

        return next((k for k in range(1, n + 1) if chance(k / n) >= least), n - start + 1) + start - 1

    return lower_rank


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


def in_place(run, step):
    run.last, run.weights = run.metrics.loc[step], run.run.weights(step)
    return run


def copied(run, step):
    earlier = copy.copy(run)
    earlier.last, earlier.weights = run.metrics.loc[step], run.run.weights(step)
    return earlier


def seen_at(step=None, size=None, last=True):
    """An answer to exercise 12.4 with mistakes."""

    def as_of(run, then):
        earlier = Evidence(run.run, size or run.size)
        if last:
            earlier.last = run.metrics.loc[then]
        earlier.weights = run.run.weights(then if step is None else step)
        return earlier

    return as_of


MISTAKES = [
    ("soon", claimed(lagging(sign=-1)), "not the other way round"),
    ("soon", claimed(lagging(first=True)), "which `arrival` knows"),
    ("soon", claimed(lagging(missing=0)), "it should be inf"),
    ("soon", claimed(level=...), "is no number yet"),
    ("soon", claimed(level=math.inf), "more than that"),
    ("soon", claimed(at_most=False), "set `at_most`"),
    ("soon", claimed(seen=()), "it counts as evidence"),
    ("soon", claimed(seen=("seed-42", "42")), "names runs"),
    ("soon", claimed(seen=SEEDS), "none is left"),
    ("soon", claimed(expected=...), "you expect it to hold"),
    ("soon", claimed(expected=10), "9 runs are evidence"),
    ("soon", lambda: claimed()()[0], "two things"),
    ("lower_rank", ranked(least=0.05), "2.5% at each end"),
    ("lower_rank", ranked(start=0), "count from 1"),
    ("lower_rank", ranked(more=1), "draws among the k smallest are enough"),
    ("lower_rank", lambda n: 2, "which is too"),
    ("lower_rank", lambda n: math.ceil(0.025 * n), "a quantile of the values"),
    ("least_share", lambda held, runs: held / runs, "the least share is"),
    ("least_share", bound(tail=0.025), "the least share is"),
    ("least_share", bound(more=1), "the least share is"),
    ("least_share", lambda held, runs: bound()(held, runs) if held else 0.05, "none or more is certain"),
    ("as_of", in_place, "has changed"),
    ("as_of", copied, "came along"),
    ("as_of", seen_at(last=False), "is not the row of step"),
    ("as_of", seen_at(step=50), "they should be those at step"),
    ("as_of", seen_at(size=500), "as large as the run's"),
]
RIGHT = [
    ("soon", claimed()),
    ("soon", claimed(by_evidence, level=2000, expected=7)),
    ("lower_rank", ranked()),
    ("as_of", seen_at()),
]
