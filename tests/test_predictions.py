"""Predictions and the files that hold them: rules that decide, and one line for what is wrong."""

import math

import pandas as pd
import pytest
from worlds import Run

from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.engine.sweep import grid
from assign_add_lib.laboratory import SYSTEM, World
from assign_add_lib.laboratory.analysis import MEASURES
from assign_add_lib.laboratory.predictions import Prediction, measured, plan_of, read_plan, shipped_plans
from assign_add_lib.laboratory.training import WorldRun

TEXTS = {each: "words" for each in ("statement", "because", "rival", "control", "chance")}


def predicting(**own):
    return Prediction(**TEXTS | {"name": "p", "measure": "right", "of": "1-var train", "at_least": 0.5} | own)


def test_a_value_holds_at_its_level():
    for value, least, most in ((0.49, False, True), (0.5, True, True), (0.51, True, False), (math.nan, False, False)):
        assert predicting().holds(value) == least and predicting(at_least=None, at_most=0.5).holds(value) == most
    assert predicting(at_least=None, at_most=5000, measure="arrives").holds(math.inf) is False


VERDICTS = [  # seeds that are asked for, values by seed, seeds that fulfil the condition where there is one
    (3, {0: 1, 1: 1, 2: 1}, None, "held, 3 of 3 seeds"),
    (3, {0: 1, 1: 0, 2: 1}, None, "not held, 2 of 3 seeds"),
    (2, {0: 1, 1: 0, 2: 1}, None, "held, 2 of 3 seeds"),
    (2, {0: 1, 1: math.nan, 2: 0}, None, "not held, 1 of 3 seeds"),
    (2, {0: 1, 2: 1, 7: 1}, None, "open, 2 of 3 seeds"),
    (2, {0: 1, 1: 0, 2: 1}, {0, 2}, "held, 2 of 2 seeds that count"),
    (2, {0: 1, 1: 0, 2: 1}, {0, 1}, "undecided, 1 of 2 seeds that count"),
    (2, {0: 1, 1: 0, 2: 1}, {1}, "undecided, 0 of 1 seeds that count"),
    (3, {0: 1, 1: 0, 2: 1}, {0, 1}, "not held, 1 of 2 seeds that count"),
    (2, {0: 1}, {0}, "open, 1 of 3 seeds"),
]


@pytest.mark.parametrize("seeds, values, counting, said", VERDICTS)
def test_three_seeds_give_a_verdict(seeds, values, counting, said):
    if counting is None:
        assert predicting(seeds=seeds).verdict(values) == said
    else:
        assert predicting(seeds=seeds, only_if="another").verdict(values, counting) == said


def test_a_plan_asks_the_condition_of_each_seed():
    gated = GOOD + GOOD[GOOD.index("[[") :].replace('"p"', '"q"').replace("at_least = 0.5", 'at_most = 0.7\nonly_if = "p"')
    values = pd.DataFrame([[0.4, 0.6, math.nan], [0.1, 0.6, 0.1]], ["p", "q"], [0, 1, 2])
    expected = {"p": "not held, 1 of 3 seeds", "q": "undecided, 1 of 1 seeds that count"}
    assert plan_of("gated", gated).verdicts(values) == expected


def test_a_rule_is_told_in_words():
    assert predicting(only_if="another").rule == "right of 1-var train ≥ 0.5 in 3 of 3 seeds, only if: another"
    assert predicting(seeds=2).rule == "right of 1-var train ≥ 0.5 in 2 of 3 seeds"
    assert predicting(of="", measure="least_at_half", at_least=None, at_most=3).rule == "least_at_half ≤ 3 in 3 of 3 seeds"


@pytest.mark.parametrize("name", shipped_plans())
def test_each_shipped_world_predicts(name):
    plan = read_plan(name)
    world = plan.world(2)
    assert (world.name, world.seed) == (name, 2) and plan.title and plan.question and len(plan.predictions) > 1
    for setting, value in plan.settings.items():  # a file states only what differs
        assert value != World.settings()[setting].default
    assert world.label(plan.settings) == (f"{name}-2")
    for each in plan.predictions:
        assert each.because[-1] == each.rival[-1] == each.control[-1] == each.chance[-1] == each.statement[-1] == "."


def test_the_book_trains_every_shipped_world_with_three_seeds():
    assert SYSTEM.grid == [read_plan(name).values() for name in shipped_plans()] and SYSTEM.seeds == (0, 1, 2)
    assert len(shipped_plans()) == 16 and sum(len(read_plan(name).predictions) for name in shipped_plans()) == 43
    runs = grid(World, [part | {"seed": SYSTEM.seeds} for part in SYSTEM.grid])
    assert set(runs) == {f"{name}-{seed}" for name in shipped_plans() for seed in (0, 1, 2)}  # as the command names them
    used = {each.measure for name in shipped_plans() for each in read_plan(name).predictions}
    assert used == set(MEASURES)  # no measure is there that nothing asks


def test_predictions_are_measured_for_every_seed(monkeypatch):
    for name in MEASURES:
        monkeypatch.setitem(MEASURES, name, lambda run, of: run.world.seed + len(of))
    plan = read_plan("one-layer")
    found = measured(plan, {seed: Run(World(seed=seed), None) for seed in (0, 2)})
    expected = {0: [20.0, 11.0], 2: [22.0, 13.0]}
    pd.testing.assert_frame_equal(found.iloc[:2], pd.DataFrame(expected, index=[each.name for each in plan.predictions[:2]]))


GOOD = """
title = "T"
question = "Q?"
[world]
layers = 1
[[prediction]]
name = "p"
statement = "s"
because = "b"
rival = "r"
control = "c"
chance = "0"
measure = "right"
of = "1-var train"
at_least = 0.5
"""
BAD = [
    ("title =", "name =", "a world's file has no entry name; it has title, question, world, prediction"),
    ('title = "T"', "", "the title is missing, or no text"),
    ("layers = 1", "layer = 1", "there is no setting layer; there are: seed, steps, train_fraction"),
    ("layers = 1", "seed = 1", "[world] is a table of settings, without name and seed"),
    ("layers = 1", "layers = ", "Invalid value"),
    ("[[prediction]]", "[prediction]", "predictions are tables [[prediction]]"),
    ('rival = "r"', "", "prediction 'p' lacks rival"),
    ('rival = "r"', 'rival = ""', "the rival of a prediction is empty"),
    ('rival = "r"', "rival = 3", "rival of a prediction cannot be 3"),
    ('"right"', '"left"', "p: there is no measure 'left'; there are: right, right_when_full"),
    ("1-var train", "1-var chain train", "p: right is of a set, not of '1-var chain train'; the sets are: 0-var train, "),
    ('"right"', '"later"', "p: later is of two sets, `A, B`, not of '1-var train'"),
    ('"right"', '"off_by_half"', "p: off_by_half is of no set, not of '1-var train'"),
    ("at_least = 0.5", "at_least = 0.5\nat_most = 1", "p: a prediction needs at_least or at_most, and not both"),
    ("at_least = 0.5", "at_least = true", "at_least of a prediction cannot be True"),
    *(
        ("at_least = 0.5", f"at_least = {huge}", "at_least of a prediction cannot be")
        for huge in ("nan", "-inf", "1e308", "1" + "0" * 400)
    ),
    ('title = "T"', f'title = "{"T" * 5000}"', "it is too long: a world's file has"),
    ('title = "T"', f"{'.'.join('a' * 20_000)} = 1", "it is too long: a world's file has"),
    ('title = "T"', 'title = "T"\n' * 10_000, "it is too long: a world's file has"),
    ("at_least = 0.5", 'at_least = 0.5\nonly_if = "p"', "p: only_if must name a prediction above it, not 'p'"),
    ("at_least = 0.5", "at_least = 0.5\nseeds = 4", "p: seeds must be from 1 to 3, not 4"),
    ("at_least = 0.5", "at_least = 0.5\n" + GOOD[GOOD.index("[[") :], "two predictions have the same name"),
]


@pytest.mark.parametrize("old, new, line", BAD, ids=[line[:40] for *_, line in BAD])
def test_a_wrong_file_is_one_line(tmp_path, old, new, line):
    assert plan_of("good", GOOD).predictions[0].name == "p"
    path = tmp_path / "wrong.toml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError) as error:
        read_plan(path)
    assert str(error.value).startswith(f"{path}: {line}") and "\n" not in str(error.value)


def test_a_file_that_is_missing_or_no_text_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no world nowhere; there are: chain-three-layers, .*; or give a file"):
        read_plan("nowhere")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="binary.toml: "):
        read_plan(tmp_path / "binary.toml")
    for name in ("table", "study", "Table"):
        (tmp_path / f"{name}.toml").write_text(GOOD)
        with pytest.raises(ValueError, match=f"{name} is the name of something else here"):
            read_plan(tmp_path / f"{name}.toml")
    (tmp_path / "a b.toml").write_text(GOOD)
    with pytest.raises(ValueError, match="a world needs a plain name"):
        read_plan(tmp_path / "a b.toml")


def test_shipped_numbers_are_those_of_the_predictions_as_they_stand():
    """A rule that was changed after its world was trained has no verdict to stand on."""
    table = pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"])
    for name in table.index.unique("world"):
        plan = read_plan(name)
        assert table.loc[name, "rule"].to_dict() == {each.name: each.rule for each in plan.predictions}
        for seed in SYSTEM.seeds:
            run = WorldRun.open(plan.world(seed).label())
            assert run.config == plan.world(seed) and run.metrics.index[-1] == run.config.steps
