"""The loop: runs that survive kills, full disks and divergence, to the same bits."""

import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small import CONFIG, contents, posix

from assign_add_lib import train
from assign_add_lib.engine.files import load_tensors
from assign_add_lib.engine.runs import checkpoint_path
from assign_add_lib.training import StudyLearner


@pytest.fixture(scope="module")
def whole(finished):
    """The files of a run that nothing disturbed."""
    return contents(finished)


def test_two_runs_of_one_seed_are_equal_and_of_two_seeds_are_not(whole, tmp_path):
    assert contents(train(CONFIG, tmp_path / "again", progress=False)) == whole
    other = contents(train(replace(CONFIG, seed=4), tmp_path / "other", progress=False))
    assert set(other) == set(whole) and not any(other[name] == whole[name] for name in whole)


def test_a_stopped_run_goes_on_to_the_same_bits(whole, stopped):
    assert set(contents(stopped)) < set(whole)
    for stop in (47, 60, None):
        train(CONFIG, stopped, progress=False, stop=stop)
    assert contents(stopped) == whole


KILLED = """
import os, signal, sys
from small import CONFIG, contents
from assign_add_lib import train, training

folder, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
replace, advance = os.replace, training.StudyLearner.advance

def die():
    global times
    times -= 1
    if times == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def dying_replace(source, target):
    if os.path.basename(target) == name:
        die()
    replace(source, target)

def dying_advance(learner):
    if name == "step":
        die()
    return advance(learner)

os.replace, training.StudyLearner.advance = dying_replace, dying_advance
train(CONFIG, folder, progress=False)
"""


@posix
@pytest.mark.parametrize(
    "name, times, reached",
    [
        ("state.safetensors", 3, 20),
        ("step-000040.safetensors", 1, 20),
        ("step", 71, 60),
    ],
)
def test_a_killed_run_goes_on_to_the_same_bits(root, whole, tmp_path, name, times, reached):
    """kill -9 as a file is about to be renamed for the n-th time, or before the n-th step."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    arguments = [sys.executable, "-c", KILLED, tmp_path / "run", name, str(times)]
    assert subprocess.run(arguments, env=environment).returncode == -signal.SIGKILL
    state = tmp_path / "run" / "state.safetensors"
    assert load_tensors(state)[1]["step"] == str(reached)
    train(CONFIG, tmp_path / "run", progress=False)
    after = contents(tmp_path / "run")
    assert {path: content for path, content in after.items() if not Path(path).name.startswith(".")} == whole


@pytest.mark.parametrize("write", [1, 2, 4, 6, 7, 10, 11])
def test_a_full_disk_is_one_clear_error_and_the_run_goes_on_later(whole, tmp_path, monkeypatch, write):
    """The disk is full from the n-th file on: 4 files at step 0, 3 at step 20, 4 at step 40."""
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) >= write:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="cannot write .*: No space left on device") as refusal:
            train(CONFIG, tmp_path / "run", progress=False)
    assert "\n" not in str(refusal.value) and len(calls) == write
    for path in (tmp_path / "run").rglob("*"):
        assert not path.name.startswith(".")
        if path.suffix == ".safetensors":
            load_tensors(path)
    train(CONFIG, tmp_path / "run", progress=False)
    assert contents(tmp_path / "run") == whole


@pytest.mark.parametrize("lr", [1e20, 1e38])
def test_a_loss_that_is_not_finite_is_one_error_and_keeps_the_start(tmp_path, lr):
    config = replace(CONFIG, lr=lr)
    with pytest.raises(ValueError, match="the loss is (nan|inf) at step [1-9].*; training stops here"):
        train(config, tmp_path / "run", progress=False)
    assert load_tensors(tmp_path / "run" / "state.safetensors")[1]["step"] == "0"
    fresh = StudyLearner(config).weights.tensors()
    kept, _ = load_tensors(checkpoint_path(tmp_path / "run", 0))
    assert all(torch.equal(kept[name], tensor) for name, tensor in fresh.items())


@pytest.mark.parametrize("poisoned", [47, 60])
def test_weights_that_go_bad_never_reach_a_file(whole, tmp_path, monkeypatch, poisoned):
    """After the step between two rows of metrics, and after the one just before a row."""
    advance = StudyLearner.advance

    def poison(learner):
        value = advance(learner)
        if learner.step == poisoned:
            learner.weights.W_U.data[0, 0] = float("nan")
        return value

    with monkeypatch.context() as patch:
        patch.setattr(StudyLearner, "advance", poison)
        with pytest.raises(ValueError, match=f"the loss is nan at step {poisoned}"):
            train(CONFIG, tmp_path / "run", progress=False)
    train(CONFIG, tmp_path / "run", progress=False)
    assert contents(tmp_path / "run") == whole


def test_progress_shows_loss_and_three_accuracies(tmp_path, capsys):
    train(CONFIG, tmp_path / "run")
    shown = capsys.readouterr().err
    assert "80/80" in shown and "loss=" in shown
    for name in ("0-var train=", "1-var train=", "2-var train="):
        assert name in shown
