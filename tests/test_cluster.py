"""Clusters: the same work elsewhere, which ends when nobody wants it, and never waits for the dead."""

import subprocess
import sys
from pathlib import Path

import pytest
from tiny import TINY

from assign_add_lib.engine import cluster
from assign_add_lib.engine.sweep import sweep

SEEDS = {"seed": [1, 2, 3]}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A finished sweep of three seeds."""
    return sweep(TINY, [SEEDS], tmp_path_factory.mktemp("pristine"), jobs=1, progress=False).parent


def again(folder, **options):
    return sweep(TINY, [SEEDS], folder, jobs=1, progress=False, **options)


# 13: clusters


def test_a_sweep_on_a_cluster_is_the_same_sweep(tmp_path, pristine):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50) as place:
        table = again(tmp_path, backend="dask", scheduler=place.scheduler_address)
    assert table.read_bytes() == (pristine / "table.csv").read_bytes()


def test_a_cluster_without_workers_is_not_waited_for_without_end(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50) as place:
        with pytest.raises(RuntimeError, match="has no workers; run the same command again"):
            again(tmp_path, backend="dask", scheduler=place.scheduler_address)


def test_a_job_ends_when_its_sweep_gives_it_up(tmp_path):
    """The job says that it has begun; then the sweep ends, and so must the job, which else would go on for ever."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", silence_logs=50) as place:
        outcomes = cluster.on_cluster(place.scheduler_address, {"short": _when(tmp_path), "long": _until_given_up(tmp_path)})
        assert next(outcomes) == ("short", "seen")
        outcomes.close()
        while not (tmp_path / "ended").exists():
            pass


class _until_given_up:
    def __init__(self, place: Path):
        self.place = place

    def __call__(self, wanted):
        (self.place / "begun").touch()
        while wanted():
            pass
        (self.place / "ended").touch()


class _when(_until_given_up):
    def __call__(self, wanted):
        while not (self.place / "begun").exists():
            pass
        return "seen"


SCHEDULER = """
import asyncio
from distributed import Scheduler

async def run():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(run())
"""


@pytest.mark.parametrize("closes", [True, False])
def test_a_scheduler_that_is_killed_is_one_line(tmp_path, monkeypatch, closes):
    """Also where its client cannot be closed any more, which Dask's timeouts at times bring about."""
    from distributed import Client, config

    def close(client, closed=Client.close):
        was_open = client.status != "closed"
        closed(client)
        if was_open and not closes:
            raise RuntimeError("Cannot change state of expiring Timeout")

    monkeypatch.setattr(Client, "close", close)
    monkeypatch.setitem(config["distributed"]["comm"]["timeouts"], "connect", "1s")
    command = [sys.executable, "-c", SCHEDULER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        address = process.stdout.readline().strip()
        submitted = cluster._workers

        def kill(client):
            process.kill()
            process.wait()
            return submitted(client)

        monkeypatch.setattr(cluster, "_workers", kill)
        with pytest.raises(RuntimeError, match=f"the scheduler {address} went away; run the same command again"):
            again(tmp_path, backend="dask", scheduler=address)


def test_a_scheduler_that_is_none_is_one_line(tmp_path):
    with pytest.raises(OSError, match="there is no Dask scheduler at nonsense: "):
        again(tmp_path, backend="dask", scheduler="nonsense")
