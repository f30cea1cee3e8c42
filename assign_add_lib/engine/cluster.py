"""Clusters: work on the machines of a Dask scheduler, which ends with the process that asked for it."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event
from time import monotonic
from typing import Any

PATIENCE = 60.0  # seconds that a cluster may be without any worker
LOOK = 1.0  # seconds between looks at it

Job = Callable[[Callable[[], bool]], Any]  # what is to be done, given a question: is it still wanted?


def _do(job: Job) -> Any:
    """In a worker: do a job, which is wanted as long as its task was not given up and the worker has its scheduler."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status == Status.running and task is not None and task.state in ("executing", "long-running")

    return job(wanted)


@contextmanager
def _connected(scheduler: str) -> Iterator:
    """A client of the scheduler; closing it says nothing, as it may fail in many ways once the scheduler is gone."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("the dask backend needs the package distributed: pip install distributed") from None
    try:
        client = Client(scheduler, set_as_default=False)
    except Exception as error:  # of many kinds, by what the address names
        raise OSError(f"there is no Dask scheduler at {scheduler}: {error}") from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close()


def _workers(client) -> int | None:
    """How many workers the scheduler has now; None where it does not answer."""
    try:
        return len(client.ncores()) if client.status == "running" else None
    except Exception:
        return None


def _check_workers(client) -> None:
    """ValueError where a worker cannot import what a sweep needs, which would end it at each job that it gets."""
    with suppress(OSError):  # a scheduler that has gone away is told of later
        for worker, found in client.run(import_module, f"{__package__}.sweep", on_error="return").items():
            if isinstance(found, ImportError):
                raise ValueError(f"the worker {worker} cannot import this package: {found}")


def on_cluster(scheduler: str, jobs: Mapping[str, Job]) -> Iterator[tuple[str, Any]]:
    """Do jobs on the workers of the scheduler at this address; yields each one's name and what it returned, as they end.

    A job whose worker died is done again by another; after some deaths it is given up, and a line is yielded.  ValueError
    without the package `distributed`, or where a worker lacks this one, OSError where no scheduler answers, RuntimeError
    where the scheduler goes away, or has no worker for `PATIENCE` seconds.
    """
    gone = RuntimeError(f"the scheduler {scheduler} went away; run the same command again to continue")
    with _connected(scheduler) as client:
        from distributed import KilledWorker

        _check_workers(client)
        names, ended = {client.submit(_do, job, pure=False): name for name, job in jobs.items()}, Event()
        for future in names:
            future.add_done_callback(lambda _: ended.set())
        last_seen = monotonic()
        while names:
            ended.wait(LOOK)
            ended.clear()
            for future in [each for each in names if each.status in ("finished", "error")]:
                try:
                    outcome = future.exception(LOOK) or future.result(LOOK)
                except TimeoutError:  # its worker went away before it was asked: the job is done again
                    continue
                except (OSError, CancelledError):
                    raise gone from None
                if isinstance(outcome, KilledWorker):
                    outcome = "its workers died, one after another; run the same command again to continue"
                yield names.pop(future), outcome
            workers = _workers(client)
            if workers is None or any(each.cancelled() for each in names):
                raise gone
            last_seen = monotonic() if workers else last_seen
            if monotonic() - last_seen > PATIENCE:
                raise RuntimeError(f"the scheduler {scheduler} has no workers; run the same command again to continue")
