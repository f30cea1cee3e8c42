"""Scoreboards: claims, each decided by one number a run; what many runs say together; and a verdict by a stated rule.

A *subject* is whatever a claim measures: mostly a run, or one seed's part of a sweep.  A *source* is a set of subjects by
name.  Nothing here knows what is claimed.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .manifest import shipped_file

BOARD = "scoreboard.csv"  # of the shipped data
MOST = 0.75  # share of the runs in which a claim must hold to hold in most
SUMMARY = ("median", "min", "max", "low", "high", "level_from", "level_to")
WORDS = ("group", "origin", "statement", "quote", "measured", "rule", "theirs", "where", "seen")  # text columns of a board


@dataclass(frozen=True)
class Claim:
    """One row of a scoreboard: a statement about every subject of a source, and the number that decides it.

    The claim holds for a subject if `measure` gives at least `level`, or at most `level` where `at_most` is set; nan,
    nothing to measure, does not hold.  An infinite number of steps stands for what never came.
    The level was set on the subjects in `seen`: they are no evidence, so verdict and statistics leave them out.
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
    theirs: str = ""  # the source's own number, as text; empty where it gives none
    quote: str = ""  # a few words of the source, where the wording matters
    where: str = ""  # where the book measures it: a chapter's file and a heading, `05_attention: Counting`
    seen: tuple[str, ...] = ()  # subjects whose values were known when the level was set

    @property
    def rule(self) -> str:
        """When the claim holds, as text: `≥ 0.99`."""
        return f"{'≤' if self.at_most else '≥'} {self.level:g}"

    def holds(self, value: float) -> bool:
        """Whether a measured value bears the claim out."""
        return value <= self.level if self.at_most else value >= self.level


def claims_of_chapter(chapter: str, group: str, origin: str, of: str, **common) -> Callable[..., Claim]:
    """What makes a claim of a chapter, `16_toy`, of its own words and measure, and the heading under which it is measured."""

    def claim(name: str, statement: str, measured: str, measure: Callable, level: float, heading: str, **more) -> Claim:
        where = f"{chapter}: {heading}"
        return Claim(name, group, origin, statement, measured, measure, level, of=of, where=where, **common, **more)

    return claim


def verdict(held: int, runs: int) -> str:
    """`held in all`, `held in most` (at least three quarters) or `not held`; ValueError for no runs.

    One run is no scoreboard: it gets `held once` or `failed once`.
    """
    if not 0 <= held <= runs or not runs:
        raise ValueError(f"{held} of {runs} runs cannot have held")
    if runs == 1:
        return "held once" if held else "failed once"
    return "held in all" if held == runs else "held in most" if held >= MOST * runs else "not held"


def least_share(held: int, runs: int) -> float:
    """The smallest share of all subjects under which `held` of `runs` or more hold with a chance of at least 5%."""
    from scipy.special import betaincinv  # the quantile of scipy.stats.beta, whose import would cost every process

    return float(betaincinv(held, runs - held + 1, 0.05)) if held else 0.0


def independent(claim: Claim, own: pd.Series) -> pd.Series:
    """The values of a claim on which its level was not set; all of them where it was set on all."""
    unseen = own[~own.index.isin(claim.seen)]
    return unseen if len(unseen) else own


def judged(claim: Claim, own: pd.Series) -> tuple[int, int, str]:
    """In how many runs a claim held, of how many, and the verdict: `count only` where its level was set on all of them."""
    evidence = independent(claim, own)
    held, runs = int(evidence.map(claim.holds).sum()), len(evidence)
    return held, runs, "count only" if set(own.index) <= set(claim.seen) else verdict(held, runs)


def level_range(claim: Claim, own: pd.Series) -> tuple[float, float]:
    """The levels between which the verdict on these values stays what it is; infinite where nothing would change it.

    The verdict changes just above the upper end of a claim that asks for at least its level, and just below the lower
    end of one that asks for at most.
    """
    edges = sorted({-math.inf, math.inf, *own.dropna()})
    steps = list(zip(edges, edges[1:]))  # how many hold is the same all over (low, high], or [low, high) for at most
    said = [judged(replace(claim, level=low if claim.at_most else high), own)[2] for low, high in steps]
    holds_its_level = [low <= claim.level < high if claim.at_most else low < claim.level <= high for low, high in steps]
    place = holds_its_level.index(True)
    other = [each != said[place] for each in said]
    first = max((k + 1 for k in range(place) if other[k]), default=0)
    last = min((k - 1 for k in range(place, len(said)) if other[k]), default=-1)
    return steps[first][0], steps[last][1]


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
    """What the values (claim, subject) of claims come to: in how many runs each held, the verdict, median, spread, interval,
    and the levels between which the verdict stays.

    `sources` names the subjects of each source.  Those on which a level was set are left out.  Values of nan count among
    the runs and are left out of the statistics.
    """
    rows = {}
    for claim in claims:
        own = values.loc[claim.name, list(sources[claim.of])]
        held, runs, said = judged(claim, own)
        known = independent(claim, own).dropna()
        ends = median_interval(known) if len(known) else (math.nan, math.nan)
        numbers = known.median(), known.min(), known.max(), *ends, *level_range(claim, own)
        rows[claim.name] = {"runs": runs, "held": held, "verdict": said} | dict(zip(SUMMARY, numbers))
    return pd.DataFrame.from_dict(rows, orient="index")


def board(claims: Iterable[Claim], sources: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """The whole scoreboard: for each claim its words and rule, its summary, and its value for every subject."""
    claims = list(claims)
    words = {claim.name: {word: getattr(claim, word) for word in WORDS} | {"seen": " ".join(claim.seen)} for claim in claims}
    values = claim_values(claims, sources)
    text = pd.DataFrame.from_dict(words, orient="index")
    return pd.concat([text, summary(claims, values, sources), values], axis=1).rename_axis("claim")


def board_text(table: pd.DataFrame) -> str:
    """A scoreboard as the text of its CSV file, with five digits a value."""
    return table.to_csv(float_format="%.5g", lineterminator="\n")


def load_board() -> pd.DataFrame:
    """The shipped scoreboard; FileNotFoundError or ValueError where it is missing or damaged."""
    return read_board(shipped_file(BOARD))


def read_board(file) -> pd.DataFrame:
    """A scoreboard from a path or an open file; text that is missing is empty."""
    table = pd.read_csv(file, index_col="claim")
    return table.assign(**{word: table[word].astype(object).fillna("").astype(str) for word in WORDS if word in table})
