"""One command from a world's file to its page."""

import re
import sys

import pandas as pd
import pytest

from assign_add_lib.__main__ import main
from assign_add_lib.laboratory import WorldRun
from assign_add_lib.laboratory.page import cell, differences, prose, table
from assign_add_lib.laboratory.world import World

SETTINGS = {"n_numbers": 8, "n_variables": 6, "length": 14, "operation": "-", "d_model": 8, "d_mlp": 8}
SETTINGS |= {"steps": 6, "log_every": 2, "checkpoint_every": 6, "batch_size": 16}
PREDICTION = "".join(f'{each} = "Words."\n' for each in ("statement", "because", "rival", "control", "chance"))
FILE = f"""
title = "Mini"
question = "Does it run?"

[world]
{chr(10).join(f"{name} = {value!r}" for name, value in SETTINGS.items())}

[[prediction]]
name = "little is learned | in six steps"
{PREDICTION}measure = "right"
of = "1-var train"
at_most = 0.9

[[prediction]]
name = "all is learned"
{PREDICTION}measure = "arrives"
of = "0-var train"
at_most = 4
seeds = 1
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["assign_add_lib", "world", "mini.toml"])
    (tmp_path / "mini.toml").write_text(FILE)
    return tmp_path


def world(*arguments):
    return main(["world", *(arguments or ["mini.toml"]), "--folder", "lab", "--jobs", "1", "--quiet", "--device", "cpu"])


def row(page, name):
    line = next(line for line in page.splitlines() if line.startswith(f"| {name}"))
    return [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_a_world_is_trained_measured_and_told(here, capsys):
    assert world() == 0
    out, folder = capsys.readouterr().out.splitlines(), here / "lab"
    assert out == [
        "note: an untrained network fulfils it already: mini, little is learned | in six steps",
        "held, 3 of 3 seeds: mini, little is learned | in six steps",
        "not held, 0 of 3 seeds: mini, all is learned",
        f"written: {folder.name}/mini.md",
    ]
    page, values = (folder / "mini.md").read_text(), pd.read_csv(folder / "mini.csv", index_col="prediction")
    runs = {seed: WorldRun.open(folder / f"mini-{seed}") for seed in (0, 1, 2)}
    assert all(run.finished and run.world.operation == "-" for run in runs.values())
    assert page.startswith("# Mini\n\nDoes it run?\n") and "| operation | - | + |" in page and "![Accuracy" in page
    found = row(page, "little is learned")
    assert found[1] == "right of 1-var train ≤ 0.9 in 3 of 3 seeds" and found[-1] == "held, 3 of 3 seeds"
    assert found[3:6] == [f"{value:.3g}" for value in values.iloc[0]]
    assert row(page, "all is learned")[2:6] == ["inf"] * 4
    for name in ("0-var train", "2-var var-restricted (2)"):
        assert row(page, name)[2:] == [f"{run.metrics[name].iloc[-1]:.3g}" for run in runs.values()]
    assert (folder / "mini.png").read_bytes()[:4] == b"\x89PNG" and "python -m assign_add_lib world mini.toml" in page
    assert (folder / "mini.toml").read_text() == FILE

    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    (here / "mini.toml").write_text(FILE.replace("at_most = 0.9", "at_most = 0.8"))
    assert world() == 0  # nothing is trained again, and a changed prediction has no verdict
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")} == before
    assert "no verdict, for the predictions were changed after training began" in capsys.readouterr().out
    assert row((folder / "mini.md").read_text(), "little is learned")[-1].startswith("no verdict")
    (here / "mini.toml").write_text(FILE.replace("steps = 6", "steps = 8", 1).replace("every = 6", "every = 8"))
    assert world() == 2
    assert (
        "mini-0 holds a run with another config (steps 6 -> 8, checkpoint_every 6 -> 8); choose another folder"
        in capsys.readouterr().err
    )


def test_seeds_that_were_trained_before_count_and_words_of_a_file_are_words_alone(here, capsys):
    (here / "mini.toml").write_text(
        FILE.replace('"Does it run?"', '"<b>So</b>\\n# Held\\u001b[31m"').replace("Words.", "# Words.")
    )
    for seeds, missing in (("0,1", "2"), ("2,5", "0, 1")):
        assert world("mini.toml", "--seed", seeds) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"note: a verdict also needs the seeds {missing}\n") and "\x1b" not in out
        assert ("open, 2 of 3 seeds" if missing == "2" else "held, 3 of 3 seeds") in out
    page = (here / "lab" / "mini.md").read_text()
    assert (
        "\x1b" not in page
        and "&lt;b>So&lt;/b> # Held" in page
        and "\n\\# Words." in page
        and "| seed 2 | seed 5 | seed 0 | seed 1 |" in page
    )


BAD = [
    ([], FILE, FILE.split("[[")[0], "mini predicts nothing; write at least one [[prediction]] before it is trained"),
    ([], '"arrives"\nof = "0-var train"', '"waves_of_logarithms"', "p must be a prime, not 8"),
    ([], "steps = 6", "steps = 0", "mini.toml: steps must be at least 1, not 0"),
    ([], "[world]", "world", "mini.toml: "),
    (["nowhere"], "", "", "there is no world nowhere; there are: chain-three-layers"),
    (["mini.toml", "./mini.toml"], "", "", "two worlds have the same name"),
    (["mini.toml", "--seed", "x"], "", "", "argument --seed: 'x' is not a whole number"),
]


@pytest.mark.parametrize("arguments, old, new, line", BAD, ids=[line[-30:] for *_, line in BAD])
def test_what_cannot_be_measured_is_told_before_training(here, capsys, arguments, old, new, line):
    (here / "mini.toml").write_text(FILE.replace(old, new, 1))
    try:
        code = world(*arguments)
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2 and out == "" and err.startswith("error: ") and line in err and err.count("\n") == 1
    assert not (here / "lab").exists()


@pytest.mark.parametrize("kind", ["md", "png", "csv"])
def test_a_file_that_is_no_page_of_this_world_is_not_overwritten(here, capsys, kind):
    (here / "lab").mkdir()
    (here / "lab" / f"mini.{kind}").write_text("mine")
    assert world() == 2
    assert capsys.readouterr().err == f"error: lab/mini.{kind} exists, and no run of its world; choose another folder\n"
    assert [path.read_text() for path in (here / "lab").iterdir()] == ["mine"]


def test_tables_are_markdown():
    assert table(["a", "b"], [[1, 0.12345], ["x|y", 12345.0]]) == "| a | b |\n| --- | --- |\n| 1 | 0.123 |\n| x\\|y | 12345 |\n"
    assert cell("<b>\u001b[31m") == "&lt;b> [31m" and prose("# <b>") == "\\# &lt;b>"
    assert cell(float("inf")) == "inf" and cell(float("nan")) == "nan" and cell(True) == "True"
    assert differences(World(layers=3, seed=4, name="x")) == [["layers", 3, 2]]
