"""Sweeps: a grid of runs, trained by processes here or by a cluster, and their table.

Every run has a folder of its own, FOLDER/NAME, as `train` writes it, and once finished a row.csv.  Whatever stops a
sweep, the same call continues it: finished runs are skipped, unfinished ones are resumed.
"""

import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import joblib
import torch
from joblib.externals.loky.process_executor import TerminatedWorkerError

from .cluster import Job, on_cluster
from .files import check_writable, remove_unfinished
from .folder import CONFIG, METRICS, other_config
from .learner import Config, choose_device
from .lock import lock_file
from .loop import FAILURES, always
from .progress import progress_bar
from .system import System
from .table import read_row, rows_beside, write_row, write_table

Values = Mapping[str, Sequence]  # values of settings, of which all combinations are meant


MOST_RUNS = 10_000  # in one part of a sweep
MOST_TOLD = 3  # failures in one error


def grid(kind: type[Config], parts: Sequence[Values]) -> dict[str, Config]:
    """All combinations of the values in each part, as configs of a kind: run name -> config.

    The name tells what varies, such as `seed-1_r-0.3`.  ValueError for an unknown setting, an empty list, a bad value, or
    two runs of one name.
    """
    for setting, each in (item for values in parts for item in values.items()):
        if setting not in kind.settings():
            raise ValueError(f"there is no setting {setting} to sweep")
        if not each:
            raise ValueError(f"{setting} has no values to sweep")
    named, configs = varied(kind, parts), {}
    for values in parts:
        if (runs := math.prod(map(len, values.values()))) > MOST_RUNS:
            raise ValueError(f"a sweep of {runs} runs is too much; the most is {MOST_RUNS}")
        for combination in itertools.product(*values.values()):
            config = kind.of(**dict(zip(values, combination)))
            name = config.label(named)
            if configs.setdefault(name, config) != config:
                raise ValueError(f"two different runs would be called {name}; sweep fewer settings at once")
    return configs


def varied(kind: type[Config], parts: Sequence[Values]) -> list[str]:
    """The settings that take more than one value in a sweep; where none does, all that are given, so that a run has a name.

    A part that leaves a setting out takes its default.
    """
    given = list(dict.fromkeys(setting for part in parts for setting in part))
    default = {setting: [kind.settings()[setting].default] for setting in given}
    values = {setting: {value for part in parts for value in part.get(setting, default[setting])} for setting in given}
    return [setting for setting in given if len(values[setting]) > 1] or given


def _finish(
    system: System, config: Config, folder: Path, device: str | None, command: str, wanted: Callable[[], bool]
) -> str | None:
    """Bring one run to its end, from wherever it stands, and write its row; returns what went wrong, if anything."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if not ((folder / CONFIG).exists() and system.run.open(folder).finished):
            system.train(config, folder, device, progress=False, command=command, wanted=wanted)
        if not wanted():
            return "given up by the sweep"
        write_row(system, folder)
    except FAILURES as error:
        return str(error)
    finally:
        torch.set_num_threads(threads)
    return None


def here(work: Mapping[str, Job], jobs: int | None) -> Iterator[tuple[str, Any]]:
    """Do this work by processes here, no more than there are jobs; yields as `on_cluster` does."""
    ends = {"inner_max_num_threads": 1, "initializer": end_with, "initargs": (os.getpid(),)}
    with joblib.parallel_config("loky", n_jobs=max(1, min(jobs or joblib.cpu_count(), len(work))), **ends):
        workers = joblib.Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        try:
            yield from workers(joblib.delayed(lambda name, job: (name, job(always)))(*each) for each in work.items())
        except TerminatedWorkerError:
            raise RuntimeError("a worker process died; run the same command again to continue") from None


def _steps_done(folder: Path) -> int:
    try:
        return int((folder / METRICS).read_text().splitlines()[-1].partition(",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def end_with(parent: int) -> None:
    """In a worker process: end it, in the middle of its run, once the process that started it is gone."""

    def follow() -> None:
        windows = sys.platform == "win32"  # where getppid() still names a parent that is gone
        while parent_process().is_alive() if windows else os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _progress(folders: list[Path], total: int, shown: bool):
    """A bar over the steps of all runs, read from their folders, wherever they are trained."""
    stop = threading.Event()

    def done() -> int:
        return sum(_steps_done(folder) for folder in folders)

    with progress_bar("sweep", total, done(), shown) as bar:

        def follow() -> None:
            while not stop.wait(1):
                bar.update(done() - bar.n)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield bar
        finally:
            stop.set()
            thread.join()
            bar.update(done() - bar.n)


def _check_same(system: System, folder: Path, configs: Mapping[str, Config]) -> None:
    """ValueError where a run with another config stands in the place of one of these."""
    for name, config in configs.items():
        try:
            there = system.run.open(folder / name).config if (folder / name / CONFIG).exists() else config
        except (ValueError, OSError):  # a damaged run is told of when its turn comes, and stops no other
            continue
        if there != config:
            raise other_config(folder / name, there.flat(), config.flat())


def check_place(
    jobs: int | None = None, backend: str = "loky", scheduler: str | None = None, device: str | None = None, **_
) -> None:
    """ValueError where a sweep cannot be trained so: before any folder is made, and once, not in each run."""
    if backend not in ("loky", "dask"):
        raise ValueError(f"the backend must be loky or dask, not {backend!r}")
    if (backend == "dask") != bool(scheduler):
        raise ValueError("the dask backend needs the address of a scheduler, and only it takes one")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    if not scheduler:
        choose_device(device)


def sweep(
    system: System,
    parts: Sequence[Values],
    folder: str | Path,
    table: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    device: str | None = None,
    progress: bool = True,
    command: str = "",
) -> Path:
    """Train a grid of runs of a system (see `grid`) into FOLDER/NAME each, and write their table; returns the table's path.

    `jobs` processes of one thread each, as many as cores by default; with backend "dask" the workers of the cluster at
    `scheduler`, which must see `folder` under the same path.  The table is written anew after each run.  No
    finished run of FOLDER is trained again, under whatever name, and FOLDER/table.csv, the default, lists them all.  A run that
    fails does not stop the others: ValueError names them in the end.  RuntimeError where a worker died.
    """
    check_place(jobs, backend, scheduler, device)
    folder = Path(folder).resolve()
    configs = grid(system.config, parts)
    names, others = rows_beside(system, folder, configs)
    configs, others = {names.get(name, name): config for name, config in configs.items()}, [] if table else others
    table = Path(table).resolve() if table else folder / "table.csv"
    _check_same(system, folder, configs)
    if table.exists() and not (table.is_file() and table.read_bytes().startswith(",".join(system.columns).encode())):
        raise ValueError(f"{table} is no table of such a sweep, and is not overwritten; choose another file")

    def write() -> None:
        rows = [read_row(folder / name, config) for name, config in configs.items()] + others
        write_table(system, table, rows, list(dict.fromkeys([*system.columns, *varied(system.config, parts)])))

    pending = {name: config for name, config in configs.items() if not read_row(folder / name, config)}
    work = {name: partial(_finish, system, config, folder / name, device, command) for name, config in pending.items()}
    outcomes = on_cluster(scheduler, work) if scheduler else here(work, jobs)
    folders, failures = [folder / name for name in configs], []
    with lock_file(table), _progress(folders, sum(each.steps for each in configs.values()), progress):
        check_writable(folder)
        remove_unfinished(table.parent, table.name)
        write()
        for name, failure in outcomes:
            failures += [f"{name}: {failure}"] if failure else []
            write()
    if failures:
        told = sorted(failures)[:MOST_TOLD] + [f"and {len(failures) - MOST_TOLD} more"] * (len(failures) > MOST_TOLD)
        raise ValueError(f"{len(failures)} of {len(configs)} runs failed: {'; '.join(told)}")
    return table
