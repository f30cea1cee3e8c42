"""Scoreboards: claims, each decided by one number a run; what many runs say together; and a verdict by a stated rule.

A *subject* is whatever a claim measures: mostly a run, or one seed's part of a sweep.  A *source* is a set of subjects by
name.  Nothing here knows what is claimed.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .manifest import shipped_file

MOST = 0.75  # share of the runs in which a claim must hold to hold in most
SUMMARY = ("median", "min", "max", "low", "high")


@dataclass(frozen=True)
class Claim:
    """One row of a scoreboard: a statement about every subject of a source, and the number that decides it.

    The claim holds for a subject if `measure` gives at least `level`, or at most `level` where `at_most` is set; nan,
    nothing to measure, does not hold.  An infinite number of steps stands for what never came.
    """

    name: str  # short, unique, as in "F5a, margin"
    group: str  # the heading it stands under
    origin: str  # a figure of the paper, or the chapter of this book that found it
    statement: str
    measured: str  # what the number is, in words
    measure: Callable[[Any], float]
    level: float
    at_most: bool = False
    of: str = "runs"  # the source of its subjects

    @property
    def rule(self) -> str:
        """When the claim holds, as text: `≥ 0.99`."""
        return f"{'≤' if self.at_most else '≥'} {self.level:g}"

    def holds(self, value: float) -> bool:
        """Whether a measured value bears the claim out."""
        return value <= self.level if self.at_most else value >= self.level


def verdict(held: int, runs: int) -> str:
    """`held in all`, `held in most` (at least three quarters) or `not held`; ValueError for no runs."""
    if not 0 <= held <= runs or not runs:
        raise ValueError(f"{held} of {runs} runs cannot have held")
    return "held in all" if held == runs else "held in most" if held >= MOST * runs else "not held"


def median_interval(values: Iterable[float], draws: int = 10_000, seed: int = 0) -> tuple[float, float]:
    """Ends of the 95% bootstrap interval of the median, by drawing the runs with replacement."""
    values, rng = np.asarray(list(values), dtype=float), np.random.default_rng(seed)
    medians = np.median(values[rng.integers(len(values), size=(draws, len(values)))], axis=1)
    low, high = np.quantile(medians, [0.025, 0.975], method="inverted_cdf")  # no mean of a number and infinity
    return float(low), float(high)


def claim_values(claims: Iterable[Claim], sources: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """The values (claim, subject) of claims, nan where a subject is not of the claim's source.

    Subject by subject, so that what a subject keeps from one measure to the next is kept once.
    """
    claims, columns = list(claims), {}
    for source, subjects in sources.items():
        for name, subject in subjects.items():
            found = {claim.name: float(claim.measure(subject)) for claim in claims if claim.of == source}
            columns.setdefault(name, {}).update(found)
    return pd.DataFrame(columns, index=[claim.name for claim in claims], dtype=float)


def summary(claims: Iterable[Claim], values: pd.DataFrame, sources: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """What the values (claim, subject) of claims come to: in how many runs each held, the verdict, median, spread, interval.

    `sources` names the subjects of each source.  Values of nan count among the runs and are left out of the statistics.
    """
    rows = {}
    for claim in claims:
        own = values.loc[claim.name, list(sources[claim.of])]
        held, known = int(own.map(claim.holds).sum()), own.dropna()
        rows[claim.name] = {"runs": len(own), "held": held, "verdict": verdict(held, len(own))}
        ends = median_interval(known) if len(known) else (math.nan, math.nan)
        rows[claim.name] |= dict(zip(SUMMARY, (known.median(), known.min(), known.max(), *ends)))
    return pd.DataFrame.from_dict(rows, orient="index")


def board(claims: Iterable[Claim], sources: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """The whole scoreboard: for each claim its words and rule, its summary, and its value for every subject."""
    claims = list(claims)
    words = {
        claim.name: {
            "group": claim.group,
            "origin": claim.origin,
            "statement": claim.statement,
            "measured": claim.measured,
            "rule": claim.rule,
        }
        for claim in claims
    }
    values = claim_values(claims, sources)
    text = pd.DataFrame.from_dict(words, orient="index")
    return pd.concat([text, summary(claims, values, sources), values], axis=1).rename_axis("claim")


def board_text(table: pd.DataFrame) -> str:
    """A scoreboard as the text of its CSV file, with five digits a value."""
    return table.to_csv(float_format="%.5g", lineterminator="\n")


def load_board() -> pd.DataFrame:
    """The shipped scoreboard; FileNotFoundError or ValueError where it is missing or damaged."""
    return pd.read_csv(shipped_file("scoreboard.csv"), index_col="claim")
