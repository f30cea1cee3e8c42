"""The engine serves a system that it has never heard of: a toy, defined in five short files."""

import os
import signal
import subprocess
import sys

import pandas as pd
import pytest
import torch
from small import contents, posix
from toy import TOY, ToyConfig, ToyLearner, ToyRun

from assign_add_lib.engine.cli import run_command
from assign_add_lib.engine.files import load_tensors
from assign_add_lib.engine.scoreboard import load_board


def command(*arguments):
    """The exit code of a command of a program that knows the toy alone."""
    try:
        return run_command({"toy": TOY}, {}, [str(each) for each in arguments])
    except SystemExit as stop:
        return stop.code


def test_a_system_takes_five_short_files(root):
    """And they are those that each companion of the book has."""
    files = {path.name: path.read_text("utf-8").splitlines() for path in (root / "tests/toy").glob("*.py")}
    named = {"__init__.py", "data.py", "model.py", "training.py", "analysis.py", "claims.py"}
    assert files.keys() == named and all(0 < len(lines) < 60 for lines in files.values())
    companions = [path for path in (root / "assign_add_lib/companions").iterdir() if (path / "__init__.py").is_file()]
    assert len(companions) > 1 and all(named <= {path.name for path in each.glob("*.py")} for each in companions)


KILLED = """
import os, signal, sys
from toy import TOY, ToyLearner
from assign_add_lib.engine.cli import run_command

advance = ToyLearner.advance

def dying(learner):
    if learner.step == 37:
        os.kill(os.getpid(), signal.SIGKILL)
    return advance(learner)

ToyLearner.advance = dying
run_command({"toy": TOY}, {}, sys.argv[1:])
"""


@posix
def test_it_trains_is_killed_and_goes_on_to_the_same_bits(root, tmp_path, capsys):
    options = ["--seed", "3", "--width", "5", "--device", "cpu", "--threads", "1", "--quiet"]
    assert command("train", "toy", tmp_path / "whole", *options) == 0
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    killed = [sys.executable, "-c", KILLED, "train", "toy", tmp_path / "run", *options]
    assert subprocess.run(killed, env=environment).returncode == -signal.SIGKILL
    assert load_tensors(tmp_path / "run" / "state.safetensors")[1]["step"] == "30"
    assert not ToyRun.open(tmp_path / "run").finished
    assert command("train", tmp_path / "run", *options) == 0  # without a name, it is the first system
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    assert capsys.readouterr() == (f"finished: {tmp_path / 'whole'}\nfinished: {tmp_path / 'run'}\n", "")
    run = ToyRun.open(tmp_path / "run")
    assert run.config == ToyConfig(seed=3, width=5) and run.steps == [0, 20, 40, 60] and run.finished
    assert run.metrics["distance"].iloc[-1] < 0.3 < run.metrics["distance"].iloc[0]
    learner = ToyLearner(run.config)
    assert (run.tensors()["guess"] - learner.hidden).norm().item() == pytest.approx(run.metrics["distance"][60], rel=1e-5)
    assert command("train", "toy", tmp_path / "run", *options) == 2
    assert "holds a finished run, which is never overwritten" in capsys.readouterr().err
    assert command("solve", "1+1") == 2  # only the study's program has it


def test_it_is_swept_exported_and_judged(own_data, tmp_path, capsys):
    """The book's four runs are trained; all are shipped, and a claim is put to them."""
    book = ["sweep", "toy", tmp_path / "all", "--book", "--jobs", "1", "--quiet", "--device", "cpu"]
    assert command(*book) == 0
    names = ["width-2_seed-0", "width-2_seed-1", "width-4_seed-0", "width-4_seed-1"]
    table = pd.read_csv(tmp_path / "all" / "table.csv")
    assert list(table.columns) == ["seed", "steps", "width", "loss", "distance"]
    assert list(zip(table["width"], table["seed"])) == [(2, 0), (2, 1), (4, 0), (4, 1)]
    for name, row in zip(names, table.itertuples()):
        alone = TOY.train(ToyConfig(seed=row.seed, width=row.width), tmp_path / name, "cpu", progress=False)
        (tmp_path / "all" / name / "row.csv").rename(tmp_path / f"{name}.csv")
        assert contents(tmp_path / "all" / name) == contents(alone)
        assert row.distance == pytest.approx(ToyRun.open(alone).metrics["distance"][60])
    assert command("export", "toy", *(tmp_path / "all" / name for name in names)) == 0
    assert ToyRun.shipped() == names and (own_data / "companions/toy").is_dir()
    for name in names:
        shipped, ours = ToyRun.open(name), ToyRun.open(tmp_path / name)
        assert shipped.steps == [60] and shipped.config == ours.config
        assert torch.equal(shipped.tensors()["guess"], ours.tensors()["guess"].half().float())
    capsys.readouterr()
    assert command("board") == 0
    board = load_board()
    wide = [ToyRun.open(f"width-4_seed-{seed}") for seed in (0, 1)]
    found = [(run.tensors()["guess"] - ToyLearner(run.config).hidden).norm().item() for run in wide]
    assert board.loc["found", ["seed-0", "seed-1"]].to_numpy(float) == pytest.approx(found, rel=1e-4)
    held = sum(distance <= 0.3 for distance in found)
    assert capsys.readouterr().out == f"{held:>2} of 2   {board.loc['found', 'verdict']:<12}  found\n"
    assert board.loc["found", ["runs", "held"]].tolist() == [2, held]
