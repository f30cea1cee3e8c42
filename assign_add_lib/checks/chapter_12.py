"""The checks of chapter 12, Across seeds: the scoreboard."""

import math
import random
from functools import cached_property
from types import SimpleNamespace

import pandas as pd

from ..analysis.phases import arrival
from ..claims.study import SEEDS
from ..claims.subjects import Subject
from ..engine import scoreboard
from ..engine.scoreboard import Claim
from ..task import STUDY
from ..training import TrainConfig
from .common import as_number, as_parts, as_whole, at_least, expect, expect_number, foretold, hint


def _series(steps: range, draws: random.Random) -> pd.Series:
    """A curve that rises, with dips, to a height between 0.9 and 1."""
    start, top = draws.choice([0, 300, 700, 1200]), draws.choice([0.9, 0.97, 0.99])
    lost = draws.choice([range(0), range(1500, 2000)])  # a dip that is too long to be overlooked
    high = [step >= start and step not in lost and draws.random() < 0.9 for step in steps]
    return pd.Series([top if each else 0.3 for each in high], index=steps)


def soon(answer) -> None:
    """Exercise 12.1: `answer()` is a claim on the steps from `0-var train` to `0-var add-restricted`, and a count of runs."""
    two_things = "the answer is two things, a `Claim` and the count that you expect"
    claim, count = as_parts(answer(), 2, two_things)
    expect(isinstance(claim, Claim), two_things)
    _measures_the_lag(claim.measure)
    expect(claim.level is not ..., "`level` is no number yet: look at seed 42, and choose")
    level, steps = as_number(claim.level, "`level`"), TrainConfig().steps
    expect(0 < level <= steps / 3, f"a level of {level:g} tests nothing: training has {steps} steps, and a lag is one or more")
    expect(claim.at_most, "soon means at most so many steps: set `at_most`")
    expect("seed-42" in claim.seen, "you looked at seed 42 to choose the level; `seen` must name it, or it counts as evidence")
    unknown = [name for name in claim.seen if name not in SEEDS]
    expect(not unknown, f"`seen` names runs, such as seed-42, not {', '.join(map(str, unknown))}")
    most = len(SEEDS) - len(set(claim.seen))
    expect(most > 0, "`seen` names every run: none is left that could be evidence")
    expect(count is not ..., f"say in how many of the {most} runs that are evidence you expect it to hold")
    expect(0 <= (count := as_whole(count, "the count")) <= most, f"{most} runs are evidence; you expect {count}")


def _measures_the_lag(measure) -> None:
    """Whether a measure gives the lag, on made-up curves, which are always the same."""
    draws = random.Random(12)
    for _ in range(40):
        metrics = pd.DataFrame({name: _series(range(0, 3000, 100), draws) for name in ("0-var train", "0-var add-restricted")})
        fits, then = (arrival(metrics[name], 0.95) for name in metrics)
        truth = math.nan if fits is None else math.inf if then is None else then - fits
        config = SimpleNamespace(steps=metrics.index[-1])
        given = measure(Subject(SimpleNamespace(task=STUDY, split=None, metrics=metrics, config=config)))
        first, second = ((metrics[name] >= 0.95).idxmax() if metrics[name].max() >= 0.95 else None for name in metrics)
        wrong = {
            "from the first to the second, not the other way round": -truth,
            "a curve arrives when it stays there, which `arrival` knows": None not in (first, second) and second - first,
        }
        case = f"curves of which 0-var train arrives at {fits}, 0-var add-restricted at {then},"
        expect_number(as_number(given, "what `measure` gives"), truth, case, "it should be", wrong=wrong)


@foretold("which of nine values, from below, is the lower end", lambda answer: answer(9))
def lower_rank(answer) -> None:
    """Exercise 12.2: `answer(n)` is the rank of the lower end of the bootstrap interval of the median of n values."""
    sizes = (1, 3, 5, 7, 9, 11, 15, 21, 33)

    def ranks(more: int = 0, least: float = 0.025, start: int = 1) -> list[int]:
        chances = [[at_least((n + 1) // 2 + more, n, k / n) for k in range(1, n + 1)] for n in sizes]
        return [next((k for k, chance in enumerate(each, start) if chance >= least), len(each)) for each in chances]

    given = [as_number(answer(n)) for n in sizes]
    wrong = {
        "count from 1": ranks(start=0),
        "2.5% at each end": ranks(least=0.05),
        "(n + 1) / 2 draws among the k smallest are enough": ranks(more=1),
        "that is the rank of a quantile of the values; ask for one of their median": [math.ceil(0.025 * n) for n in sizes],
        "for n = 3, write down the three chances that at least two draws are among the k smallest": True,
    }
    told = hint(given, wrong)
    for n, ours, truth in zip(sizes, given, ranks()):
        expect(ours == truth, f"of {n} values it gives number {ours:g}, which is too {'low' if ours < truth else 'high'}{told}")


@foretold("how many runs in a row must hold for a share of 0.95", 59)
def least_share(answer) -> None:
    """Exercise 12.3: `answer(held, runs)` is the least chance under which so many runs or more hold with 5%."""
    middling = [(random.randint(1, n - 1), n) for n in random.sample(range(3, 40), 12)]
    for held, runs in [(9, 9), (8, 9), *middling, (0, 10)]:
        given = as_number(answer(held, runs))
        exactly = math.comb(runs, held) * given**held * (1 - given) ** (runs - held)
        wrong = {
            "none or more is certain": held == 0,
            "count the chance of more than that, too": 0 < held < runs and abs(exactly - 0.05) < 1e-4,
        }
        expect_number(given, scoreboard.least_share(held, runs), f"{held} of {runs}", "the least share is", 1e-4, wrong)


@foretold("how many rows hold at step 1000", 9)
def as_of(answer) -> None:
    """Exercise 12.4: `answer(run, step)` is the evidence of a run as it was at a step."""
    metrics = pd.DataFrame({"accuracy": [0.1, 0.5, 0.9]}, index=[0, 100, 200])
    kept = SimpleNamespace(
        task=STUDY, split=None, metrics=metrics, config=SimpleNamespace(steps=200), weights=lambda step=None: f"weights at {step}"
    )
    run = Subject(kept, size=7)
    kept_back = {name for name, each in vars(Subject).items() if isinstance(each, cached_property)} - {"weights"}
    vars(run).update(dict.fromkeys(kept_back, "the last step's"))  # as on a run that has been measured before
    filled = dict(vars(run), weights=run.weights)
    for step in (0, 100):
        given = answer(run, step)
        expect(given is not run and run.last["accuracy"] == 0.9, "the run that it was given has changed; build a new Subject")
        expect(given.last["accuracy"] == metrics.loc[step, "accuracy"], f"`last` is not the row of step {step}")
        expect(given.weights == f"weights at {step}", f"`weights` are {given.weights}; they should be those at step {step}")
        expect(given.size == 7, "the sample should be as large as the run's: pass its size on")
        stale = sorted(kept_back & set(vars(given)))
        expect(not stale, f"what the run had measured at its last step came along: {', '.join(stale)}; do not copy, build anew")
    expect(vars(run) == filled, "the run that it was given has changed; build a new Subject")
