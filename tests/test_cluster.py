"""Clusters: the same work elsewhere, which ends when nobody wants it, and never waits for the dead."""

import subprocess
import sys
from threading import Event
from types import SimpleNamespace

import pytest
from distributed import Client, KilledWorker, LocalCluster, config
from tiny import tiny_sweep

from assign_add_lib.engine import cluster

LOCAL = {"processes": False, "dashboard_address": ":0", "silence_logs": 50}


def test_a_sweep_on_a_cluster_is_the_same_sweep(tmp_path, pristine_sweep):
    with LocalCluster(n_workers=2, threads_per_worker=1, **LOCAL) as place:
        table = tiny_sweep(tmp_path, backend="dask", scheduler=place.scheduler_address)
    assert table.read_bytes() == (pristine_sweep / "table.csv").read_bytes()


def test_a_cluster_without_workers_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    with LocalCluster(n_workers=0, **LOCAL) as place:
        with pytest.raises(RuntimeError, match="has no workers; run the same command again"):
            tiny_sweep(tmp_path, backend="dask", scheduler=place.scheduler_address)


def test_a_worker_without_the_package_is_named_before_it_gets_a_job(tmp_path, monkeypatch, no_training):
    monkeypatch.setitem(sys.modules, "assign_add_lib.engine.sweep", None)
    with LocalCluster(n_workers=1, threads_per_worker=1, **LOCAL) as place:
        with pytest.raises(ValueError, match=f"the worker {next(iter(place.scheduler.workers))} cannot import this package: "):
            tiny_sweep(tmp_path, backend="dask", scheduler=place.scheduler_address)


def test_a_job_ends_when_its_sweep_gives_it_up(tmp_path):
    """The job says that it has begun; then the sweep ends, and so must the job, which else would go on for ever."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    def long(wanted):
        begun.touch()
        while wanted():
            pass
        ended.touch()

    def short(wanted):
        while not begun.exists():
            pass
        return "seen"

    with LocalCluster(n_workers=1, threads_per_worker=2, **LOCAL) as place:
        outcomes = cluster.on_cluster(place.scheduler_address, {"short": short, "long": long})
        assert next(outcomes) == ("short", "seen")
        outcomes.close()
        while not ended.exists():
            pass


def test_a_job_whose_workers_die_again_and_again_is_one_line():
    def killed(wanted):
        raise KilledWorker("_do-779efff9", SimpleNamespace(address=""), 3)

    with LocalCluster(n_workers=1, threads_per_worker=1, **LOCAL) as place:
        outcomes = dict(cluster.on_cluster(place.scheduler_address, {"seed-1": killed}))
    assert outcomes == {"seed-1": "its workers died, one after another; run the same command again to continue"}


def test_a_result_that_goes_away_with_its_worker_is_not_waited_for_without_end(monkeypatch):
    """Two jobs end at once; before the second is asked for what it returned, the only worker goes."""

    class Both(Event):
        ends = 0

        def set(self):
            self.ends += 1

        def wait(self, timeout):
            while self.ends < 2:
                pass

    monkeypatch.setattr(cluster, "Event", Both)
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    monkeypatch.setattr(cluster, "LOOK", 0.1)
    with LocalCluster(n_workers=1, threads_per_worker=1, **LOCAL) as place:
        outcomes = cluster.on_cluster(place.scheduler_address, dict.fromkeys("ab", lambda wanted: "done"))
        assert next(outcomes)[1] == "done"
        place.sync(place.workers[0].close)
        with pytest.raises(RuntimeError, match="has no workers; run the same command again"):
            next(outcomes)


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
            tiny_sweep(tmp_path, backend="dask", scheduler=address)
