"""Sweeps under attack: rows that lie, runs that fail, clusters that die, and no more processes than runs."""

import errno
import os

import joblib
import pytest
import torch
from tiny import TINY, TinyConfig, TinyLearner, tiny_sweep

from assign_add_lib.engine import sweep as module
from assign_add_lib.engine.cli import LISTS, whole_numbers
from assign_add_lib.engine.files import UNFINISHED
from assign_add_lib.engine.learner import Diverged
from assign_add_lib.engine.lock import lock_file
from assign_add_lib.engine.sweep import grid, sweep
from assign_add_lib.training import StudyLearner, TrainConfig

# 10: runs that fail beside others


def test_a_run_that_diverges_stops_no_other(tmp_path, pristine_sweep):
    parts = [{"seed": [1, 2], "lr": [1e30, 0.1]}]
    with pytest.raises(ValueError, match="2 of 4 runs failed: seed-1_lr-1e.30: the loss is (inf|nan) at step"):
        sweep(TINY, parts, tmp_path, jobs=1, progress=False)
    for seed in (1, 2):
        ours, theirs = tmp_path / f"seed-{seed}_lr-0.1" / "metrics.csv", pristine_sweep / f"seed-{seed}" / "metrics.csv"
        assert ours.read_bytes() == theirs.read_bytes()
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 3


def test_a_run_that_cannot_be_written_stops_no_other_beside_it(tmp_path, pristine_sweep, monkeypatch):
    replace_file = os.replace

    def full(source, target):
        if "seed-2" in str(target) and target.name == "step-000004.safetensors":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ValueError, match="1 of 3 runs failed: seed-2: cannot write .*No space left"):
        tiny_sweep(tmp_path, device="cpu")
    monkeypatch.undo()
    assert tiny_sweep(tmp_path).read_bytes() == (pristine_sweep / "table.csv").read_bytes()


def test_the_study_tells_of_divergence_before_its_probes_do():
    """Weights that are no numbers: the loss says so, not the library that fits the probe."""
    learner = StudyLearner(TrainConfig(d_model=8, d_mlp=8))
    with torch.no_grad():
        learner.weights.W_U[:] = torch.nan
    with pytest.raises(Diverged, match="the loss is nan at step 0"):
        learner.evaluated()


def test_a_weight_that_is_no_number_is_divergence_even_where_the_loss_is_fine(tmp_path, monkeypatch):
    monkeypatch.setattr(TinyLearner, "evaluate", lambda learner: {"loss": 1.0, "distance": 1.0})
    learner = TinyLearner(TinyConfig())
    with torch.no_grad():
        learner.tensors["guess"][0] = torch.inf
    with pytest.raises(Diverged, match="guess holds a number that is not finite at step 0"):
        learner.evaluated()


def test_a_run_that_is_given_up_goes_on_later(tmp_path, pristine_sweep):
    answers = iter([True] * 5 + [False] * 3)
    said = module._finish(TINY, TinyConfig(seed=1), tmp_path / "seed-1", "cpu", "", lambda: next(answers))
    assert said == "given up by the sweep"
    assert (tmp_path / "seed-1" / "metrics.csv").read_text().splitlines()[-1].startswith("4,")
    assert tiny_sweep(tmp_path).read_bytes() == (pristine_sweep / "table.csv").read_bytes()


# 14, 16: how much at once


@pytest.mark.parametrize("jobs, runs, processes", [(10**400, 2, 2), (2, 3, 2)])
def test_no_more_processes_than_runs(tmp_path, monkeypatch, jobs, runs, processes):
    asked, parallel = [], joblib.parallel_config
    monkeypatch.setattr(joblib, "parallel_config", lambda backend, n_jobs, **_: asked.append(n_jobs) or parallel("sequential"))
    sweep(TINY, [{"seed": list(range(runs))}], tmp_path, jobs=jobs, progress=False)
    assert asked == [processes]


def test_a_grid_too_large_to_list_is_refused_at_once():
    values = {"seed": range(100_000), "lr": [float(n) for n in range(1, 2001)]}
    with pytest.raises(ValueError, match="a sweep of 200000000 runs is too much; the most is 10000"):
        grid(TinyConfig, [values])


@pytest.mark.parametrize(
    "text", ["1-", "-1", "3-1", "1-2-3", "1:2:3", "1.5", "", "1,", "٣", "1-3:0", "0-99999999", "9" * 400, "9" * 5000]
)
def test_ranges_are_read_strictly(text):
    with pytest.raises(Exception, match="is not a whole number or a range"):
        whole_numbers(text)


def test_lists_of_numbers_hold_numbers():
    with pytest.raises(Exception, match="'0.1,x' is not a list of numbers"):
        LISTS[float][0]("0.1,x")


# 18: what fails at once


@pytest.mark.parametrize("place", ["folder", "file/table.csv"])
def test_a_table_that_cannot_be_written_is_found_before_training(tmp_path, no_training, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises((ValueError, OSError), match="folder is no table of|cannot write .*file/table.csv: Not a directory"):
        tiny_sweep(tmp_path / "swept", table=tmp_path / place)
    assert not any((tmp_path / "swept").rglob("*"))


def test_a_table_has_one_writer(tiny_swept):
    with lock_file(tiny_swept / "table.csv"), pytest.raises(ValueError, match="table.csv is being written by another process"):
        tiny_sweep(tiny_swept)


@pytest.mark.parametrize("options, said", [({"device": "xpu"}, "on cpu or cuda, not on 'xpu'"), ({}, "cannot write")])
def test_a_bad_device_or_folder_fails_once(tmp_path, no_training, options, said):
    (tmp_path / "file").write_text("x")
    with pytest.raises((ValueError, OSError), match=said) as refusal:
        sweep(TINY, [{"seed": list(range(36))}], tmp_path / ("swept" if options else "file"), progress=False, **options)
    assert len(str(refusal.value)) < 300 and "runs failed" not in str(refusal.value)


def test_many_failures_are_told_in_short(tmp_path):
    for seed in range(1, 36):
        (tmp_path / f"seed-{seed}").mkdir()
        (tmp_path / f"seed-{seed}" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="35 of 36 runs failed: .*; and 32 more") as refusal:
        sweep(TINY, [{"seed": list(range(36))}], tmp_path, jobs=1, progress=False)
    assert len(str(refusal.value)) < 1000


def test_leftovers_of_killed_sweeps_go(tiny_swept):
    left = [tiny_swept / f".table.csv.abc{UNFINISHED}", tiny_swept / "seed-2" / f".row.csv.abc{UNFINISHED}"]
    for path in left:
        path.write_text("x")
    (tiny_swept / "seed-2" / "row.csv").unlink()
    tiny_sweep(tiny_swept)
    assert not any(path.exists() for path in left)
