"""Subject: each measure against a slow truth, on records made by hand and on small random networks."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import cosine
from small import SIZES, random_weights

from assign_add_lib import Split, Task
from assign_add_lib.circuits import position_scores, qk_table
from assign_add_lib.claims import subjects
from assign_add_lib.claims.subjects import Subject, Sweep


def record(**columns):
    """The evidence of a run that left these metrics, a row every 100 steps."""
    steps = range(0, 100 * len(next(iter(columns.values()))), 100)
    metrics = pd.DataFrame(columns, index=steps)
    config = SimpleNamespace(steps=steps[-1])
    return Subject(SimpleNamespace(task=Task(), split=Split.draw(), metrics=metrics, config=config))


def test_order_and_spread_of_arrivals():
    run = record(first=[0, 1, 1, 1, 1, 1, 1], then=[0, 0, 0, 0, 1, 1, 1], never=[0] * 7)
    pairs = [("first", "then"), ("then", "first"), ("first", "never")]
    assert [subjects.order(*pair, (0.5, 0.9))(run) for pair in pairs] == [300, -300, math.inf]
    assert math.isnan(subjects.order("never", "never", (0.5, 0.9))(run))
    assert subjects.spread_of_arrivals({"then": 0.5, "first": 0.5})(run) == 300


def test_below_the_shortcut_looks_from_step_500_to_the_spike():
    apart = [9.0] * 5 + [0.1, 0.2, 0.3, 0.4, 0.5] + [9.0] * 4
    assert subjects.below_shortcut(record(**{"1-var train": [0.0] * 9 + [1.0] * 5, "1-var var-restricted": apart})) == 0.3


def spiking(before, restricted, **columns):
    """A run whose 1-var train rises after `before` measured steps, and 1-var var-restricted after `restricted`."""
    rise = {"1-var train": before, "1-var var-restricted": restricted}
    n = restricted + 10
    return record(**{name: [0.2] * start + [1.0] * (n - start) for name, start in rise.items()}, **columns)


def test_before_the_spike_is_the_last_step_below():
    run = spiking(7, 30, x=list(range(40)))
    assert run.first_spike == 600 and subjects.beside_the_spike("x")(run) == 6
    assert (subjects.beside_the_spike("x", after=True)(run), subjects.first_rise(run)) == (7, 100)
    slow = spiking(7, 30)
    slow.metrics.loc[700:1100, "1-var train"] = 0.6
    assert subjects.first_rise(slow) == 600
    never = record(**{"1-var train": [0.1] * 9})
    assert math.isnan(subjects.beside_the_spike("1-var train")(never)) and math.isnan(subjects.constant_before_the_spike(never))
    assert subjects.first_rise(never) == math.inf


def test_adding_alone_is_compared_by_arrival(monkeypatch, tmp_path):
    rows = [(seed, 100 * k, float(k >= start)) for seed, start in ((1, 2), (2, 9)) for k in range(15)]
    pd.DataFrame(rows, columns=["seed", "step", "ov2_mlp2_accuracy"]).to_csv(tmp_path / "alone.csv", index=False)
    monkeypatch.setattr(subjects, "shipped_file", lambda name: tmp_path / name.removeprefix("history/"))
    run = record(ov2_mlp2_accuracy=[float(k >= 7) for k in range(15)])
    for seed, apart in ((1, 500), (2, 200), (3, math.inf)):
        run.run.config.seed = seed
        assert subjects.adder_alone(run) == apart


@pytest.mark.parametrize(("heights", "found"), [((0.9, 0.85, 0.8), 3), ((0.9, 1.0, 0.99), 2), ((0.79, 0.995, 1.0), 0)])
def test_plateaus_are_medians_between_the_spikes(heights, found):
    columns = {name: [0.0] * 7 + [height] * 23 + [1.0] * 10 for name, height in zip(subjects.ROUTING, heights)}
    assert subjects.on_the_plateau(spiking(7, 30, **columns)) == found
    flat = {name: [0.9] * 22 for name in subjects.ROUTING}
    assert math.isnan(subjects.on_the_plateau(spiking(7, 12, **flat)))


def test_constants_part_of_the_attention_on_two_operands():
    run = spiking(7, 30)
    task, scores = run.task, torch.randn(14 + 1, generator=torch.Generator().manual_seed(0)).tolist()
    names = [*task.variable_names, f"position {task.left}", f"position {task.right}", "numbers"]
    table = {("score", name): [9.0, 9.0, value, 9.0] for name, value in zip(names, scores)}
    run.history = pd.DataFrame(table, index=[0, 500, 600, 700])
    score, parts = dict(zip(names, scores)), []
    for side, here, there in (("left", task.left, task.right), ("right", task.right, task.left)):
        for name in (task.variable_names[index] for index in run.split.variables(side)):
            number, variable = score["numbers"] + score[f"position {there}"], score[name] + score[f"position {here}"]
            parts.append(1 / (1 + math.exp(variable - number)))
    assert len(parts) == 20 and subjects.constant_before_the_spike(run) == pytest.approx(np.mean(parts))
    assert sorted(subjects.constant_parts(run)) == pytest.approx(sorted(parts))
    run.history.loc[500] = 9.0
    assert subjects.constant_parts(run, 100).tolist() == [0.5] * 20


PLACES = {"trained": ["c left", "c right", "a left", "k right"], "untrained": ["a right", "k left"]}


def arrivals(*steps):
    names = ["a left", "a right", "c left", "c right", "k left", "k right"]
    return SimpleNamespace(places=PLACES, place_arrivals=pd.Series(dict(zip(names, map(float, steps)))))


def test_last_places():
    run = arrivals(100, 900, 300, 200, 700, 1000)
    assert (subjects.restricted_last(run), subjects.one_by_one(run)) == (700, 200)
    assert subjects.restricted_last(arrivals(1, 1, 5, 4, 3, 2)) == 0
    assert subjects.restricted_last(arrivals(1, math.inf, 5, 4, 3, 2)) == math.inf


def test_score_of_the_last_variables_against_the_others():
    steps = range(0, 3000, 100)
    slopes = {"a": 0.0003, "b": 0.001, "c": 0.0002, "d": 0.0002, "e": 0.002}
    score = {name: [slope * step for step in steps] for name, slope in slopes.items()}
    accuracy = {"b right": [float(step >= 1500) for step in steps], "a left": [1.0] * 30}
    history = pd.concat({"score": pd.DataFrame(score, steps), "accuracy": pd.DataFrame(accuracy, steps)}, axis=1)
    arrived, task = pd.Series({"a left": 0.0, "b right": 1500.0}), SimpleNamespace(variable_names="abcde")
    run = SimpleNamespace(history=history, place_arrivals=arrived, task=task)
    assert subjects.score_rises(run) == pytest.approx((1 - 0.25) * (2.0 - 0.9))  # from 1400 - 500 to 1500 + 500
    assert subjects.scored_higher(run) == 0.25  # e alone
    run.history[("accuracy", "a left")], run.place_arrivals = run.history[("accuracy", "b right")], arrived.replace(0.0, 1500.0)
    assert subjects.score_rises(run) == pytest.approx(((1 - 0.25) + (0.3 - 0.6)) / 2 * 1.1)
    assert subjects.scored_higher(run) == pytest.approx(1 / 3)
    run.history[("accuracy", "b right")] = 0.0
    assert math.isnan(subjects.score_rises(run)) and math.isnan(subjects.scored_higher(run))


def test_sweep():
    sweep = Sweep(pd.Series({0.5: 0.95, 0.1: 0.2, 0.3: 0.92, 0.2: 0.91, 0.25: 0.5}))
    assert [subjects.enough(level)(sweep) for level in (0.9, 0.1, 0.96)] == [0.3, 0.1, math.inf]
    assert subjects.gain(sweep) == pytest.approx(0.75)


@pytest.fixture(scope="module", params=range(1, 3))
def small(request):
    task, *sizes = SIZES[request.param]
    weights = random_weights(task, *sizes, seed=request.param)
    made = {"metrics": pd.DataFrame({"x": [0.0]}, index=[0]), "config": SimpleNamespace(steps=0), "weights": lambda: weights}
    return Subject(SimpleNamespace(task=task, split=Split.draw(task, 0), **made), size=task.n_numbers**2)


def test_table_of_layer_1_cell_by_cell(small):
    task, S = small.task, qk_table(small.weights).tolist()
    position = task.d_vocab
    row = S[task.equal][position:]
    rest = max(value for place, value in enumerate(row) if place not in (task.left, task.right))
    assert subjects.equal_prefers_operands(small) == pytest.approx(min(row[task.left], row[task.right]) - rest)
    things = [*range(task.n_numbers), task.pad]
    for queries, rows in (("numbers", range(task.n_numbers)), ("positions", range(position, position + task.room))):
        good = [min(S[i][task.first_variable : task.d_vocab]) > max(S[i][t] for t in things) for i in rows]
        assert subjects.prefers_variables(queries)(small) == pytest.approx(sum(good) / len(good))


def test_position_table_cell_by_cell(small):
    P = position_scores(small.weights).numpy()
    n = len(P)
    ups = [np.mean([P[i, j + 1] - P[i, j] for i in range(j + 1, n)]) > 0 for j in range(n - 2)]
    assert subjects.grows_to_the_right(small) == pytest.approx(np.mean(ups))
    pairs = [np.corrcoef(P[i], P[j])[0, 1] for i in range(n) for j in range(i)]
    assert subjects.rows_alike(small) == pytest.approx(np.mean(pairs))


def test_cosines_of_the_own_pair_and_of_the_control(small):
    N = small.task.n_numbers
    for site in ("as 0-var", "bare sum"):
        ours, own, other = subjects.cosines(small, site)
        matched, mixed = (np.mean([1 - cosine(*each) for each in zip(ours, theirs)]) for theirs in (own, other))
        assert subjects.matched(site)(small) == pytest.approx(matched)
        assert subjects.cosine_gap(site)(small) == pytest.approx(matched - mixed)
    order = torch.randperm(small.size, generator=torch.Generator().manual_seed(2))
    x, y = small.pairs
    number = small.weights.W_E[:N] @ small.weights.W_V[1] @ small.weights.W_O[1]
    torch.testing.assert_close(other, torch.cat(2 * [number[x] + number[y[order]]]), check_dtype=False)
    own, other = subjects.cosines(small, "as 0-var")[1:]
    assert torch.equal(other, own[order])


def test_names_read_from_equal_and_what_layer_2_reads(small):
    run = Subject(small.run, size=200)
    assert 0 <= subjects.asked_names(run) <= 1
    run.whole_spike = None
    assert math.isnan(subjects.most_read_before(run))


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
    assert subjects.other_misses(run) == 0
    missed[0, 2] = missed[3, 3] = True  # held out, no double; a double, not held out
    assert subjects.other_misses(run) == 2
