"""Sweeps: the grid, the table, and what happens when workers, runs and sweeps are killed."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from small import CONFIG, around, posix
from tiny import TINY, tiny_sweep
from toy import TOY, ToyConfig

from assign_add_lib import Task, TrainConfig, forward, load_run, train
from assign_add_lib.__main__ import main
from assign_add_lib.engine import sweep as module
from assign_add_lib.engine.files import file_sha256
from assign_add_lib.engine.sweep import grid, sweep
from assign_add_lib.sampling import exact_sets
from assign_add_lib.systems import STUDY

SWEPT = around(CONFIG, seed=[1], r=[0.1, 1.0])
LONG = {"steps": 1200, "log_every": 100, "checkpoint_every": 1200}  # of the toy: seconds, so that there is time to kill it
TOY_GRID = [{"seed": [1, 2]} | {name: [value] for name, value in LONG.items()}]
TOYS = """
import sys
from toy import TOY
from assign_add_lib.engine.cli import run_command
sys.exit(run_command({"toy": TOY}, {}, sys.argv[1:]))
"""


def final_sum(folder):
    return file_sha256(sorted(folder.glob("checkpoints/*"))[-1])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The checksums of the weights of both toys, each trained alone."""
    place = tmp_path_factory.mktemp("alone")
    return [final_sum(TOY.train(ToyConfig(seed=n, **LONG), place / f"{n}", "cpu", progress=False)) for n in (1, 2)]


def wait_for(condition, seconds=3000):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def steps_done(folder):
    try:
        return int((folder / "metrics.csv").read_text().splitlines()[-1].split(",")[0])
    except (OSError, ValueError, IndexError):
        return -1


def test_a_grid_is_every_combination():
    configs = grid(TrainConfig, [around(CONFIG, seed=[1, 2], lr=[1e-3, 2e-3], n_numbers=[11, 13])])
    expected = [
        replace(CONFIG, seed=seed, lr=lr, task=replace(CONFIG.task, n_numbers=n))
        for seed, lr, n in itertools.product([1, 2], [1e-3, 2e-3], [11, 13])
    ]
    assert list(configs.values()) == expected
    assert list(configs)[0] == "seed-1_lr-0.001_n_numbers-11" and len(set(configs)) == 8
    assert grid(TrainConfig, [{"r": [0.5]}])["r-0.5"] == TrainConfig(r=0.5)
    assert grid(TrainConfig, [{"r": [0.5, 0.5]}]) == grid(TrainConfig, [{"r": [0.5]}])
    assert list(grid(TrainConfig, [{}]).values()) == [TrainConfig()]


@pytest.mark.parametrize(
    "values, words",
    [
        ({"rr": [1]}, "no setting rr"),
        ({"task": [Task()]}, "no setting task"),
        ({"r": []}, "r has no values"),
        ({"train_fraction": [0.5, 1.5]}, "train_fraction must be above 0 and at most 1, not 1.5"),
        ({"n_numbers": [2]}, "n_numbers"),
    ],
)
def test_a_bad_grid_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        grid(TrainConfig, [values])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"backend": "threads"}, "must be loky or dask"),
        ({"backend": "dask"}, "needs the address of a scheduler"),
        ({"scheduler": "tcp://localhost:1"}, "only it takes one"),
    ],
)
def test_bad_options_are_refused(tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        sweep(STUDY, [SWEPT], tmp_path, progress=False, **options)
    assert not list(tmp_path.iterdir())


def test_each_run_is_the_one_that_train_trains_and_the_table_has_its_exact_accuracies(tmp_path):
    """These by the plain forward; the other columns are those of test_table."""
    table = pd.read_csv(sweep(STUDY, [SWEPT], tmp_path, jobs=1, progress=False))
    assert list(table.columns[:4]) == ["seed", "train_fraction", "r", "steps"] and table["loss"].nunique() == 2
    for (name, config), (_, row) in zip(grid(TrainConfig, [SWEPT]).items(), table.iterrows(), strict=True):
        run = load_run(tmp_path / name)
        assert run.config == config == replace(CONFIG, seed=int(row["seed"]), r=row["r"])
        for kind, batch in exact_sets(run.split).items():
            right = forward(run.weights(), batch.tokens)[:, -1].argmax(1) == batch.answers
            assert row[f"exact {kind}"] == pytest.approx(right.float().mean().item(), abs=1e-5)
    assert final_sum(tmp_path / name) == final_sum(train(config, tmp_path / "run", "cpu", progress=False))


def test_finished_runs_are_skipped_and_a_lost_row_is_written_again(tiny_swept, no_training):
    before = (tiny_swept / "table.csv").read_bytes()
    (tiny_swept / "seed-2" / "row.csv").unlink()
    (tiny_swept / "table.csv").unlink()
    times = {path: path.stat().st_mtime_ns for path in tiny_swept.rglob("*") if path.is_file()}
    assert tiny_sweep(tiny_swept).read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_a_grid_grows(tmp_path):
    """More values later: the old rows stay, in the order of the new grid, and another table may be named."""
    old = pd.read_csv(sweep(TINY, [{"seed": [1, 2], "lr": [0.1, 0.3]}], tmp_path / "swept", jobs=1, progress=False))
    parts = [{"seed": [1, 2], "lr": [0.1, 0.2, 0.3]}]
    rows = pd.read_csv(sweep(TINY, parts, tmp_path / "swept", tmp_path / "more.csv", jobs=1, progress=False))
    assert rows["lr"].tolist() == [0.1, 0.2, 0.3] * 2
    pd.testing.assert_frame_equal(rows[rows["lr"] != 0.2].reset_index(drop=True), old)


def test_another_grid_in_the_folder_trains_no_finished_run_again_and_keeps_all_rows(tiny_swept):
    (tiny_swept / "seed-2" / "state.safetensors").unlink()  # without which nothing could be trained there
    rows = pd.read_csv(sweep(TINY, [{"seed": [2], "lr": [0.1, 0.2]}], tiny_swept, jobs=1, progress=False))
    assert sorted(path.name for path in tiny_swept.glob("*/")) == ["lr-0.2", "seed-1", "seed-2", "seed-3"]
    assert rows[["seed", "lr"]].values.tolist() == [[2, 0.1], [2, 0.2], [1, 0.1], [3, 0.1]]


@pytest.mark.parametrize("lives", [[], [True, True]])
def test_on_windows_a_worker_ends_with_the_process_that_started_it(monkeypatch, lives):
    """There getppid() names the parent for ever."""
    left, parent = threading.Event(), SimpleNamespace(is_alive=iter([*lives, False]).__next__)
    for name, value in {"sys": SimpleNamespace(platform="win32"), "parent_process": lambda: parent}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(module, "os", SimpleNamespace(getppid=lambda: 1, _exit=lambda _: left.set()))
    module.end_with(1)
    assert left.wait(60)


def test_a_folder_with_other_runs_is_refused(tiny_swept):
    with pytest.raises(ValueError, match="seed-1 holds a run with another config"):
        sweep(TINY, [{"seed": [1, 2, 3], "lr": [0.01]}], tiny_swept, progress=False)


@posix
def test_a_killed_worker_of_a_cluster_loses_nothing(tmp_path, running, undisturbed):
    """A Dask worker that is killed in the middle of its run; the one in its place ends it with the bits of an undisturbed one."""
    from distributed import LocalCluster

    options = {"silence_logs": 50, "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **options) as cluster:
        failures, options = [], {"backend": "dask", "scheduler": cluster.scheduler_address, "progress": False}

        def go():
            try:
                sweep(TOY, TOY_GRID, tmp_path / "swept", **options)
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=go)
        thread.start()
        wait_for(lambda: any(100 <= steps_done(each) < 700 for each in running))
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        at_the_kill = [steps_done(each) for each in running]
        thread.join(3000)
        assert not thread.is_alive() and not failures
    assert any(0 < step < 1200 for step in at_the_kill)
    assert pd.read_csv(tmp_path / "swept/table.csv")["seed"].tolist() == [1, 2]
    assert [final_sum(folder) for folder in running] == undisturbed


def children(pid):
    found = subprocess.run(["ps", "-ww", "--ppid", str(pid), "-o", "pid=,args="], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "popen_loky" in line]


@pytest.fixture
def start(root, tmp_path):
    """Starts a command that sweeps two seeds, by two processes, into `swept`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    arguments = ["sweep", "toy", str(tmp_path / "swept"), "--seed", "1,2", "--jobs", "2", "--quiet"]

    def start(**settings):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in (LONG | settings).items()]
        command = [sys.executable, "-c", TOYS, *arguments, *options]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def running(tmp_path):
    return [tmp_path / "swept" / label for label in grid(ToyConfig, TOY_GRID)]


@posix
def test_workers_end_when_the_sweep_is_killed(start, running):
    """Their output, which is the sweep's, closes long before their runs could end."""
    process = start(steps=10_000_000, checkpoint_every=10_000_000)
    wait_for(lambda: all(steps_done(each) >= 100 for each in running))
    process.kill()
    process.communicate(timeout=600)
    assert all(steps_done(each) < 10_000_000 for each in running)


@posix
def test_a_killed_process_here_is_one_line_and_the_same_command_goes_on(start, tmp_path, running, undisturbed):
    process = start()
    wait_for(lambda: all(steps_done(each) >= 100 for each in running))
    os.kill(children(process.pid)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=3000)
    assert (process.returncode, out) == (2, "")
    assert "error: a worker process died; run the same command again to continue" in err.splitlines()
    assert any(0 < steps_done(each) < 1200 for each in running)
    sweep(TOY, TOY_GRID, tmp_path / "swept", jobs=1, progress=False)
    assert [final_sum(folder) for folder in running] == undisturbed


def test_the_bar_counts_the_steps_of_all_runs(tmp_path, capsys):
    table = sweep(TINY, [{"seed": [1, 2], "lr": [0.1, 0.2]}], tmp_path, jobs=1)
    assert "32/32" in capsys.readouterr().err
    assert list(pd.read_csv(table).columns[:4]) == ["seed", "steps", "lr", "loss"]


def test_an_unreachable_scheduler_is_one_line(tmp_path, capsys, monkeypatch):
    from distributed import config

    monkeypatch.setitem(config["distributed"]["comm"]["timeouts"], "connect", "1s")
    assert main(["sweep", str(tmp_path), "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9", "--quiet"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: there is no Dask scheduler at tcp://127.0.0.1:9: ")
