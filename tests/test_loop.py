"""The loop: runs that survive kills, full disks and divergence, to the same bits."""

import errno
import os
from dataclasses import replace

import pytest
import torch
from small import CONFIG, contents
from tiny import TinyLearner, tiny

from assign_add_lib import train
from assign_add_lib.engine.files import load_tensors
from assign_add_lib.engine.runs import checkpoint_path
from assign_add_lib.training import StudyLearner


@pytest.fixture(scope="module")
def whole(finished):
    """The files of a run that nothing disturbed."""
    return contents(finished)


def test_two_runs_of_one_seed_are_equal_and_of_two_seeds_are_not(whole, tmp_path, capsys):
    assert contents(train(CONFIG, tmp_path / "again")) == whole
    shown = capsys.readouterr().err  # and progress tells the loss and three accuracies
    assert all(each in shown for each in ("80/80", "loss=", "0-var train=", "1-var train=", "2-var train="))
    other = contents(train(replace(CONFIG, seed=4), tmp_path / "other", progress=False))
    assert set(other) == set(whole) and not any(other[name] == whole[name] for name in whole)


def test_a_stopped_run_goes_on_to_the_same_bits(whole, stopped):
    assert set(contents(stopped)) < set(whole)
    for stop in (47, 60, None):
        train(CONFIG, stopped, progress=False, stop=stop)
    assert contents(stopped) == whole


@pytest.mark.parametrize("write", [1, 2, 4, 6, 7, 10, 11])
def test_a_full_disk_is_one_clear_error_and_the_run_goes_on_later(tiny_runs, tmp_path, monkeypatch, write):
    """The disk is full from the n-th file on: 4 files at step 0, 3 at step 2, 4 at step 4."""
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) >= write:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="cannot write .*: No space left on device") as refusal:
            tiny(tmp_path / "run")
    assert "\n" not in str(refusal.value) and len(calls) == write
    for path in (tmp_path / "run").rglob("*"):
        assert not path.name.startswith(".")
        if path.suffix == ".safetensors":
            load_tensors(path)
    assert contents(tiny(tmp_path / "run")) == contents(tiny_runs["whole"])


def test_a_loss_that_is_not_finite_is_one_error_and_keeps_the_start(tmp_path):
    config = replace(CONFIG, lr=1e20)
    with pytest.raises(ValueError, match="the loss is (nan|inf) at step [1-9].*; training stops here"):
        train(config, tmp_path / "run", progress=False)
    assert load_tensors(tmp_path / "run" / "state.safetensors")[1]["step"] == "0"
    fresh = StudyLearner(config).weights.tensors()
    kept, _ = load_tensors(checkpoint_path(tmp_path / "run", 0))
    assert all(torch.equal(kept[name], tensor) for name, tensor in fresh.items())


@pytest.mark.parametrize("poisoned", [3, 4])
def test_weights_that_go_bad_never_reach_a_file(tiny_runs, tmp_path, monkeypatch, poisoned):
    """After the step between two rows of metrics, and after the one just before a row."""
    advance = TinyLearner.advance

    def poison(learner):
        value = advance(learner)
        if learner.step == poisoned:
            learner.tensors["guess"].data[0] = float("nan")
        return value

    with monkeypatch.context() as patch:
        patch.setattr(TinyLearner, "advance", poison)
        with pytest.raises(ValueError, match=f"the loss is nan at step {poisoned}"):
            tiny(tmp_path / "run")
    assert contents(tiny(tmp_path / "run")) == contents(tiny_runs["whole"])
