"""Scoreboards: verdicts, intervals and tables."""

import math
from dataclasses import replace
from io import StringIO

import pandas as pd
import pytest

from assign_add_lib import TrainConfig
from assign_add_lib.engine import scoreboard
from assign_add_lib.engine.cli import run_command
from assign_add_lib.engine.scoreboard import Claim, board, judged, level_range, median_interval, verdict
from assign_add_lib.engine.system import System
from assign_add_lib.training import Run, StudyLearner


def claim(name="row", measure=float, level=1.0, **rest):
    return Claim(name, "group", "F0", "It is so.", "a number", measure, level, **rest)


@pytest.mark.parametrize(
    ("held", "of", "words"),
    [(10, 10, "held in all"), (9, 10, "held in most"), (8, 10, "held in most"), (7, 10, "not held"), (0, 10, "not held"),
     (1, 1, "held once"), (0, 1, "failed once"), (3, 4, "held in most"), (2, 4, "not held"), (2, 3, "not held")],
)  # fmt: skip
def test_verdict(held, of, words):
    assert verdict(held, of) == words


@pytest.mark.parametrize(("held", "of"), [(0, 0), (3, 2), (-1, 4)])
def test_verdict_of_no_count(held, of):
    with pytest.raises(ValueError, match="of .* runs cannot have held"):
        verdict(held, of)


@pytest.mark.parametrize(("held", "runs"), [(9, 9), (8, 9), (2, 3), (1, 7)])
def test_the_least_share_is_that_of_the_binomial_tail(held, runs):
    p = scoreboard.least_share(held, runs)
    tail = sum(math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(held, runs + 1))
    assert tail == pytest.approx(0.05) and scoreboard.least_share(0, runs) == 0


def test_a_claim_holds_at_its_level_and_not_for_nan():
    least, most = claim(level=0.5), claim(level=0.5, at_most=True)
    assert [least.holds(v) for v in (0.4, 0.5, 0.6, math.nan, math.inf)] == [False, True, True, False, True]
    assert [most.holds(v) for v in (0.4, 0.5, 0.6, math.nan, math.inf)] == [True, True, False, False, False]
    assert (least.rule, most.rule) == ("≥ 0.5", "≤ 0.5")


def test_interval_is_that_of_the_exact_distribution():
    values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0, 3.5, 8.0, 7.0]
    ordered, n = sorted(values), len(values)
    reached = [sum(math.comb(n, i) * (k / n) ** i * (1 - k / n) ** (n - i) for i in range(6, n + 1)) for k in range(1, n + 1)]
    ends = (ordered[next(k for k, p in enumerate(reached) if p >= q)] for q in (0.025, 0.975))
    assert median_interval(values) == tuple(ends)


def test_interval_with_what_never_came():
    assert median_interval([2.0] * 4) == (2.0, 2.0)
    low, high = median_interval([100.0] * 6 + [math.inf] * 4)
    assert (low, high) == (100.0, math.inf)


def test_board_of_two_sources():
    rows = [
        claim("double", lambda x: 2 * x, 4),
        claim("none", lambda x: math.nan, 0),
        claim("word", len, 3, at_most=True, of="words"),
    ]
    table = board(rows, {"runs": {"s1": 1, "s2": 2, "s3": 3}, "words": {"s2": "ab", "s9": "abcd"}})
    assert list(table.index) == ["double", "none", "word"]
    assert table[["runs", "held"]].to_numpy().tolist() == [[3, 2], [3, 0], [2, 1]]
    assert table["verdict"].tolist() == ["not held"] * 3  # two of three are fewer than three quarters
    assert table.loc["double", ["median", "min", "max"]].tolist() == [4, 2, 6]
    assert table.loc["none", ["median", "low", "high"]].isna().all()
    assert table.loc["word", ["s2", "s9"]].tolist() == [2, 4] and math.isnan(table.loc["word", "s1"])
    assert table.loc["word", "rule"] == "≤ 3"
    again = scoreboard.read_board(StringIO(scoreboard.board_text(table)))
    pd.testing.assert_frame_equal(again, table, check_dtype=False)


def values(*numbers):
    return pd.Series(dict(zip("abcdefghij", map(float, numbers))))


def test_what_the_level_was_set_on_is_no_evidence():
    own = values(1, 2, 3, 4, 5)
    assert judged(claim(level=2), own) == (4, 5, "held in most")
    assert judged(claim(level=2, seen=("a",)), own) == (4, 4, "held in all")
    assert judged(claim(level=2, seen=("e", "elsewhere")), own) == (3, 4, "held in most")
    assert judged(claim(level=2, seen=tuple("abcde")), own) == (4, 5, "count only")
    table = board([claim("row", lambda x: x, 2, seen=("a",))], {"runs": dict(own)})
    assert table.loc["row", ["runs", "held", "median", "min"]].tolist() == [4, 4, 3.5, 2]
    assert table.loc["row", "a"] == 1 and table.loc["row", "seen"] == "a"


@pytest.mark.parametrize("at_most", [False, True])
@pytest.mark.parametrize("seen", [(), ("b",)])
@pytest.mark.parametrize("own", [values(1, 2, 2, 3, 5), values(1, math.nan, 4), values(2, math.inf, math.inf, 7), values(3)])
def test_between_the_ends_of_its_levels_a_verdict_stays_and_beyond_them_it_changes(own, at_most, seen):
    for level in (0, 1, 1.5, 2, 3.5, 5, 9):
        row = claim(level=level, at_most=at_most, seen=seen)
        low, high = level_range(row, own)
        tried = [x / 4 for x in range(-8, 48)]
        said = {x: judged(replace(row, level=x), own)[2] for x in tried}
        inside = [x for x in tried if (low <= x < high if at_most else low < x <= high)]
        assert level in inside and {said[x] for x in inside} == {said[level]}
        for beyond in (low - 0.01 if at_most else low, high if at_most else high + 0.01):
            if math.isfinite(beyond):
                assert judged(replace(row, level=beyond), own)[2] != said[level]


def test_the_command_writes_the_board_and_says_the_verdicts(own_data, capsys):
    rows = [claim("one", float, 2), claim("two", float, 1)]
    system = System("toy", TrainConfig, StudyLearner, Run, claims=lambda: rows, sources=lambda: {"runs": {"s": 1}})
    other = replace(system, claims=lambda: [claim("words", len, 3, of="words")], sources=lambda: {"words": {"s": "ab", "t": ""}})
    assert run_command({"toy": system, "other": other}, {}, ["board"]) == 0
    said = [" 0 of 1   failed once   one", " 1 of 1   held once     two", " 0 of 2   not held      words"]
    assert capsys.readouterr().out.splitlines() == said
    table = scoreboard.load_board()
    assert table["held"].tolist() == [0, 1, 0] and table.loc[["one", "two"], "s"].tolist() == [1, 1]
    assert table.loc["words", ["s", "t"]].tolist() == [2, 0]
    assert run_command({"toy": system}, {}, ["board"]) == 0  # made anew, it is signed anew
    assert scoreboard.load_board()["held"].tolist() == [0, 1]
