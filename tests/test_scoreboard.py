"""Scoreboards: verdicts, intervals and tables; the measures against slow truths; and the shipped board against the runs."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scoreboard as tool
import torch
from small import SIZES, random_weights

from assign_add_lib import Split, Task, claims, evidence, runs, scoreboard
from assign_add_lib.circuits import position_scores, qk_table
from assign_add_lib.claims import CLAIMS
from assign_add_lib.companions.hypernetwork import claims as hypernetwork
from assign_add_lib.evidence import Evidence, Sweep
from assign_add_lib.scoreboard import Claim, board, measured, median_interval, summary, verdict


def claim(name="row", measure=float, level=1.0, **rest):
    return Claim(name, "group", "F0", "It is so.", "a number", measure, level, **rest)


@pytest.mark.parametrize(
    ("held", "of", "words"),
    [(10, 10, "held in all"), (9, 10, "held in most"), (8, 10, "held in most"), (7, 10, "not held"), (0, 10, "not held"),
     (1, 1, "held in all"), (0, 1, "not held"), (3, 4, "held in most"), (2, 4, "not held"), (2, 3, "not held")],
)  # fmt: skip
def test_verdict(held, of, words):
    assert verdict(held, of) == words


@pytest.mark.parametrize(("held", "of"), [(0, 0), (3, 2), (-1, 4)])
def test_verdict_of_no_count(held, of):
    with pytest.raises(ValueError, match="no count"):
        verdict(held, of)


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
    assert median_interval(values) == median_interval(values)


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
    again = pd.read_csv(pd.io.common.StringIO(scoreboard.board_text(table)), index_col="claim")
    pd.testing.assert_frame_equal(again, table, check_dtype=False)


def test_each_subject_is_measured_once_a_claim():
    asked = []
    rows = [claim(name, lambda x, name=name: asked.append((x, name)) or 0) for name in "ab"]
    measured(rows, {"runs": {"1": 1, "2": 2}})
    assert asked == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


# the measures of records


def record(**columns):
    steps = range(0, 100 * len(next(iter(columns.values()))), 100)
    run = SimpleNamespace(metrics=pd.DataFrame({name.replace("_", " "): c for name, c in columns.items()}, index=steps))
    run.arrival = lambda name, level: Evidence.arrival(run, name, level)
    return run


def test_order_and_spread_of_arrivals():
    run = record(first=[0, 1, 1, 1, 1, 1, 1], then=[0, 0, 0, 0, 1, 1, 1], never=[0] * 7)
    assert evidence.order("first", "then", (0.5, 0.9))(run) == 300
    assert evidence.order("then", "first", (0.5, 0.9))(run) == -300
    assert evidence.order("first", "never", (0.5, 0.9))(run) == math.inf
    assert math.isnan(evidence.order("never", "never", (0.5, 0.9))(run))
    assert evidence.spread_of_arrivals({"then": 0.5, "first": 0.5})(run) == 300


def test_below_the_shortcut_looks_from_step_500_to_the_spike():
    learned = [0.0] * 9 + [1.0] * 5
    apart = [9.0] * 5 + [0.1, 0.2, 0.3, 0.4, 0.5] + [9.0] * 4
    run = record(**{"1-var train": learned, "1-var var-restricted": apart})
    assert evidence.below_shortcut(run) == 0.3


PLACES = {"trained": ["c left", "c right", "a left", "k right"], "untrained": ["a right", "k left"]}


def arrivals(*steps):
    names = ["a left", "a right", "c left", "c right", "k left", "k right"]
    return SimpleNamespace(places=PLACES, place_arrivals=pd.Series(dict(zip(names, map(float, steps)))))


def test_last_places():
    run = arrivals(100, 900, 300, 200, 700, 1000)
    assert evidence.restricted_last(run) == 700
    assert evidence.one_by_one(run) == 200
    assert evidence.last_place(run) == "k right"
    assert evidence.last_place(arrivals(1, 2, 2, 2, 2, 2)) == "a right"
    assert evidence.restricted_last(arrivals(1, 1, 5, 4, 3, 2)) == 0
    assert evidence.restricted_last(arrivals(1, math.inf, 5, 4, 3, 2)) == math.inf


def test_score_of_the_last_variable_against_the_others():
    steps = range(0, 3000, 100)
    score = {name: [0.001 * step if name == "b" else 0.0002 * step for step in steps] for name in "abc"}
    accuracy = {"b right": [float(step >= 1500) for step in steps], "a left": [1.0] * 30}
    columns = {("score", name): each for name, each in score.items()} | {("accuracy", n): each for n, each in accuracy.items()}
    run = SimpleNamespace(
        history=pd.DataFrame(columns, index=steps),
        place_arrivals=pd.Series({"a left": 0.0, "b right": 1500.0}),
        task=SimpleNamespace(variable_names="abc"),
    )
    assert evidence.score_rises(run) == pytest.approx(0.8 * (2.0 - 0.9))  # from 1400 - 500 to 1500 + 500
    run.history[("accuracy", "b right")] = 0.0
    assert math.isnan(evidence.score_rises(run))


def test_sweep():
    sweep = Sweep(pd.Series({0.5: 0.95, 0.1: 0.2, 0.3: 0.92, 0.2: 0.91, 0.25: 0.5}))
    assert evidence.enough(0.9)(sweep) == 0.3
    assert evidence.enough(0.1)(sweep) == 0.1
    assert evidence.enough(0.96)(sweep) == math.inf
    assert evidence.gain(sweep) == pytest.approx(0.75)


def test_swept_leaves_out_seeds_with_few_values(monkeypatch, tmp_path):
    values = [round(0.1 * k, 1) for k in range(1, 10)]
    rows = [(0, v, v) for v in values] + [(1, v, 1.0) for v in values[:3]] + [(0, 0.95, 0.5)]
    path = tmp_path / "r.csv"
    pd.DataFrame(rows, columns=["seed", "r", "exact 2-var held-out"]).to_csv(path, index=False)
    monkeypatch.setattr(claims, "shipped_file", lambda name: path if name == "sweeps/r.csv" else None)
    parts = claims.swept("r")
    assert list(parts) == ["seed-0"] and len(parts["seed-0"].accuracy) == 10
    assert parts["seed-0"].accuracy.index.is_monotonic_increasing


# the measures of weights, on small random networks


@pytest.fixture(scope="module", params=range(1, 3))
def small(request):
    task, *sizes = SIZES[request.param]
    weights = random_weights(task, *sizes, seed=request.param)
    config = SimpleNamespace(steps=0)
    metrics = pd.DataFrame({"x": [0.0]}, index=[0])
    run = SimpleNamespace(task=task, split=Split.draw(task, 0), metrics=metrics, config=config, weights=lambda: weights)
    return Evidence(run, size=task.n_numbers**2)


def test_table_of_layer_1_cell_by_cell(small):
    task, S = small.task, qk_table(small.weights).tolist()
    position = task.d_vocab
    row = S[task.equal][position:]
    rest = max(value for place, value in enumerate(row) if place not in (task.left, task.right))
    assert evidence.equal_prefers_operands(small) == pytest.approx(min(row[task.left], row[task.right]) - rest)
    things = [*range(task.n_numbers), task.pad]
    for queries, rows in (("numbers", range(task.n_numbers)), ("positions", range(position, position + task.room))):
        good = [min(S[i][task.first_variable : task.d_vocab]) > max(S[i][t] for t in things) for i in rows]
        assert evidence.prefers_variables(queries)(small) == pytest.approx(sum(good) / len(good))


def test_position_table_cell_by_cell(small):
    P = position_scores(small.weights, small.task).numpy()
    n = len(P)
    ups = [P[i, j + 1] > P[i, j] for i in range(n) for j in range(n - 2)]
    assert evidence.grows_to_the_right(small) == pytest.approx(np.mean(ups))
    pairs = [np.corrcoef(P[i], P[j])[0, 1] for i in range(n) for j in range(i)]
    assert evidence.rows_alike(small) == pytest.approx(np.mean(pairs))


def test_cosines_of_the_own_pair_and_of_the_next(small):
    for site in ("MLP input", "layer 2"):
        ours, theirs = (each.numpy() for each in evidence.cosines(small, site))
        cosine = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in theirs] for a in ours]
        own = np.mean([cosine[i][i] for i in range(len(ours))])
        assert evidence.matched(site)(small) == pytest.approx(own)
        assert evidence.margin(site)(small) == pytest.approx(own - np.mean([cosine[i][i - 1] for i in range(len(ours))]))


def test_sample_holds_each_pair_once_in_both_kinds(small):
    N = small.task.n_numbers
    x, y = small.pairs
    assert sorted((N * x + y).tolist()) == list(range(N * N))
    assert {kind: len(each[0]) for kind, each in small.seen.items()} == {"0-var": N * N, "1-var": N * N}


def test_misses_that_are_no_held_out_doubles():
    held_out = torch.zeros(4, 4, dtype=torch.bool)
    held_out[1, 1] = held_out[0, 2] = True
    missed = torch.zeros(4, 4, dtype=torch.bool)
    missed[1, 1] = True
    run = SimpleNamespace(missed=missed, split=SimpleNamespace(held_out_pairs=held_out))
    assert evidence.other_misses(run) == 0
    missed[0, 2] = missed[3, 3] = True  # held out, no double; a double, not held out
    assert evidence.other_misses(run) == 2


def test_rank_counts_large_singular_values(monkeypatch):
    monkeypatch.setattr(evidence, "variable_identity", lambda *_: torch.diag(torch.tensor([8.0, 4.0, 2.1, 1.9, 0.0])))
    assert evidence.identity_rank(None, Task()) == 3


# the list, and the shipped board


def test_claims_are_a_well_formed_list():
    names = [row.name for row in CLAIMS]
    assert len(names) == len(set(names)) >= 18
    assert {row.of for row in CLAIMS} == {"runs", *claims.SWEEPS, hypernetwork.SOURCE}
    assert all(row.statement.endswith(".") and row.measured and row.origin for row in CLAIMS)


@pytest.fixture(scope="module")
def shipped():
    return scoreboard.load_board()


def close(values, shipped):
    """Within what another machine may make of the same run: a hundredth, or one problem of the sample."""
    np.testing.assert_allclose(values.to_numpy(float), shipped.to_numpy(float), rtol=0.01, atol=0.02)


def test_shipped_words_are_those_of_the_list(shipped):
    assert list(shipped.index) == [row.name for row in CLAIMS]
    assert list(shipped["statement"]) == [row.statement for row in CLAIMS]
    assert list(shipped["rule"]) == [row.rule for row in CLAIMS]


def test_shipped_rows_about_records_and_sweeps_come_out_again(shipped):
    parts = {name: claims.swept(name) for name in claims.SWEEPS}
    values = measured(claims.claims_of(*parts), parts)
    close(values, shipped.loc[values.index, values.columns])
    cheap = [row for row in claims.claims_of("runs") if row.group in (claims.FINAL, claims.ORDER)]
    values = measured(cheap, {"runs": claims.study_runs()})
    close(values, shipped.loc[values.index, values.columns])


def test_all_shipped_values_of_one_run_come_out_again(shipped):
    rows = claims.claims_of("runs")
    with torch.no_grad():
        values = measured(rows, {"runs": {"seed-5": claims.study_runs()["seed-5"]}})
    close(values, shipped.loc[values.index, values.columns])


def test_shipped_rows_about_a_companion_come_out_again(shipped):
    sources = {hypernetwork.SOURCE: {"seed-1": hypernetwork.seeds()["seed-1"]}}
    values = measured(claims.claims_of(hypernetwork.SOURCE), sources)
    close(values, shipped.loc[values.index, values.columns])


def test_shipped_summary_follows_from_the_shipped_values(shipped):
    subjects = {"runs": list(claims.SEEDS)} | {name: list(claims.swept(name)) for name in claims.SWEEPS}
    subjects[hypernetwork.SOURCE] = list(hypernetwork.seeds())
    values = shipped[[name for name in shipped if name.startswith("seed-")]]
    again = summary(CLAIMS, values, subjects)
    assert (again["verdict"] == shipped["verdict"]).all() and (again["held"] == shipped["held"]).all()
    pd.testing.assert_frame_equal(
        again[["median", "low", "high"]], shipped[["median", "low", "high"]], rtol=1e-3, check_names=False
    )


def test_tool_writes_the_board_and_says_the_verdicts(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tool, "CLAIMS", [claim("one", float, 2), claim("two", float, 1)])
    monkeypatch.setattr(tool, "sources", lambda: {"runs": {"s": 1}})
    for module in (tool, runs):
        monkeypatch.setattr(module, "data_folder", lambda: tmp_path)
    tool.main()
    assert capsys.readouterr().out.splitlines() == [" 0 of 1   not held      one", " 1 of 1   held in all   two"]
    table = pd.read_csv(runs.shipped_file("scoreboard.csv"), index_col="claim")
    assert table["held"].tolist() == [0, 1] and table["s"].tolist() == [1, 1]
