"""The checks of chapter 12, Across seeds: the scoreboard."""

import math
import random
from functools import cache
from types import SimpleNamespace

import pandas as pd
import torch

from ..analysis.phases import arrival
from ..claims.study import HALFWAY, SEEDS
from ..claims.subjects import Subject
from ..engine import scoreboard
from ..engine.scoreboard import Claim
from ..task import STUDY
from ..training import load_run
from .common import as_number, as_parts, as_whole, expect, expect_number, foretold


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
    level, late = as_number(claim.level, "`level`"), arrival(load_run("seed-42").metrics["1-var train"], HALFWAY)
    words = f"a lag is one step or more, and by step {late} of our run answers with a variable come right: soon is before"
    expect(0 < level <= late, f"a level of {level:g} tests nothing: {words}")
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


@foretold("how many runs must hold in a row for a share of 0.95, and how many with one failure among them", (59, 93))
def least_share(answer) -> None:
    """Exercise 12.2: `answer(held, runs)` is the least chance under which so many runs or more hold with 5%."""
    middling = [(random.randint(1, n - 1), n) for n in random.sample(range(3, 40), 12)]
    for held, runs in [(9, 9), (8, 9), *middling, (0, 10)]:
        given = as_number(answer(held, runs))
        exactly = math.comb(runs, held) * given**held * (1 - given) ** (runs - held)
        wrong = {
            "none or more is certain": held == 0,
            "count the chance of more than that, too": 0 < held < runs and abs(exactly - 0.05) < 1e-4,
        }
        expect_number(given, scoreboard.least_share(held, runs), f"{held} of {runs}", "the least share is", 1e-4, wrong)


@cache
def _rivals() -> dict[str, Subject]:
    """Our run at its end, and what must not pass: it as it was before it learned to look up, and before it learned anything; and
    its end with the typed sums of other pairs, for a number that does not compare the two."""
    run, swapped = load_run("seed-42"), Subject(load_run("seed-42"))
    mixed = torch.randperm(swapped.size, generator=torch.Generator().manual_seed(3))
    swapped.seen["0-var"] = tuple(each[mixed] for each in swapped.seen["0-var"])
    early = {"at step 1000": Subject(run, step=1000), "untrained": Subject(run, step=0)}
    return {"at its last step": Subject(run), **early, "with the typed sums of other pairs": swapped}


@foretold("the number of your claim in our untrained network", lambda answer: answer().measure(_rivals()["untrained"]))
def shared(answer) -> None:
    """Exercise 12.3: `answer()` is a claim that holds of our trained run, and of none of the `_rivals`."""
    claim = answer()
    expect(isinstance(claim, Claim), "the answer is one `Claim`")
    values = {words: as_number(claim.measure(run), "what `measure` gives") for words, run in _rivals().items()}
    expect(claim.level is not ..., "`level` is no number yet")
    as_number(claim.level, "`level`")
    expect("seed-42" in claim.seen, "you look at seed 42 to choose the level; `seen` must name it, or it counts as evidence")
    for words, value in values.items():
        trained = words == "at its last step"
        told = "fails where it should hold" if trained else "holds where it should fail"
        words = f"our run {words} has {value:.3g}, so by your level of {claim.level:g} the claim {told}"
        expect(claim.holds(value) == trained, words)
