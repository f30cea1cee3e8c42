"""Sweeps: a grid of runs, trained by processes here, by a cluster, or together on one GPU, and their table.

Every run has a folder of its own, FOLDER/NAME, as `train` writes it, and once finished a row.csv.  Whatever stops a
sweep, the same call goes on: finished runs are skipped, begun ones resume.
"""

import itertools
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import joblib
import pandas as pd
import torch
from joblib.externals.loky.process_executor import TerminatedWorkerError
from tqdm.auto import tqdm

from .ensemble import shared, train_together
from .files import write_atomic
from .log import Diverged, Log, choose_device
from .measures import accuracies
from .runs import load_run
from .sampling import exact_sets
from .task import Task
from .training import METRICS, TrainConfig, Trainer, train

ALWAYS = ("seed", "train_fraction", "r", "steps")  # columns of every table, swept or not


def grid(values: dict[str, Sequence], base: TrainConfig | None = None) -> dict[str, TrainConfig]:
    """All combinations of values of TrainConfig's and Task's fields: run name -> config.

    The name tells what varies, such as `seed-1_r-0.3`.  ValueError for an unknown field, an empty list or a bad value.
    """
    base = (base or TrainConfig()).to_dict()
    for field, each in values.items():
        if field not in base and field not in base["task"] or field == "task":
            raise ValueError(f"there is no setting {field} to sweep")
        if not each:
            raise ValueError(f"{field} has no values to sweep")
    named, configs = _varied(values) or list(values), {}
    for combination in itertools.product(*values.values()):
        chosen = dict(zip(values, combination))
        task = base["task"] | {field: value for field, value in chosen.items() if field in base["task"]}
        own = {field: value for field, value in chosen.items() if field not in task}
        name = "_".join(f"{field}-{chosen[field]}" for field in named) or "run"
        configs[name] = TrainConfig(**base | own | {"task": Task(**task)})
    return configs


def _varied(values: dict[str, Sequence]) -> list[str]:
    return [field for field, each in values.items() if len(set(each)) > 1]


def _stands_finished(folder: Path) -> bool:
    if not (folder / "config.json").exists():
        return False
    run = load_run(folder)
    return bool(run.steps) and run.steps[-1] == run.config.steps


def _write_row(folder: Path) -> None:
    """The row of a finished run: its last metrics, and its accuracies on the exact sets."""
    run = load_run(folder)
    config = run.config.to_dict()
    settings = config | config["task"]
    measured = run.metrics.loc[run.config.steps].to_dict()
    exact = accuracies(run.weights(), exact_sets(run.split))
    row = {name: value for name, value in settings.items() if name != "task"}
    row |= {name: f"{value:.6g}" for name, value in measured.items()}
    row |= {f"exact {name}": f"{value:.6f}" for name, value in exact.items()}
    write_atomic(folder / "row.csv", pd.DataFrame([row]).to_csv(index=False, lineterminator="\n"))


def _finish(config: TrainConfig, folder: Path, device: str | None, command: str) -> str | None:
    """Bring one run to its end, from wherever it stands, and write its row; returns what went wrong, if anything."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if not _stands_finished(folder):
            train(config, folder, device, progress=False, command=command)
        _write_row(folder)
    except (ValueError, OSError) as error:
        return f"{folder.name}: {error}"
    finally:
        torch.set_num_threads(threads)
    return None


def _finish_together(configs: dict[str, TrainConfig], folder: Path, device: torch.device, command: str) -> Iterator[str | None]:
    """Bring runs to their ends as ensembles of those that may share one; yields for each what `_finish` would return."""
    groups, failed = defaultdict(list), set()
    for name, config in configs.items():
        try:
            if not _stands_finished(folder / name):
                log = Log(Trainer(config, device), folder / name, command)
                groups[shared(config), log.trainer.step].append(log)
        except (ValueError, OSError) as error:
            failed.add(name)
            yield f"{name}: {error}"
    for logs in groups.values():
        while logs:
            try:
                train_together(logs)
                break
            except Diverged as error:  # the others go on without it, from where they were last kept
                name = next(log.folder.name for log in logs if log.trainer is error.trainer)
                failed.add(name)
                yield f"{name}: {error}"
                others = [log for log in logs if log.folder.name != name]
                logs = [Log(Trainer(log.trainer.config, device), log.folder, command) for log in others]
    for name in configs.keys() - failed:
        yield _finish(configs[name], folder / name, str(device), command)


def _steps_done(folder: Path) -> int:
    try:
        return int((folder / "metrics.csv").read_text().splitlines()[-1].partition(",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def end_with(parent: int, every: float = 1.0) -> None:
    """In a worker process: end it, in the middle of its run, once the process that started it is gone."""

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _progress(folders: list[Path], total: int, shown: bool, every: float = 1.0):
    """A bar over the steps of all runs, read from their folders, wherever they are trained."""
    stop = threading.Event()

    def done() -> int:
        return sum(_steps_done(folder) for folder in folders)

    with tqdm(total=total, initial=done(), desc="sweep", unit="step", disable=not shown) as bar:

        def follow() -> None:
            while not stop.wait(every):
                bar.update(done() - bar.n)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield bar
        finally:
            stop.set()
            thread.join()
            bar.update(done() - bar.n)


def _write_table(table: Path, folders: Sequence[Path], varied: Sequence[str]) -> None:
    """Write the rows of the finished runs, if any: settings that vary, last metrics, exact accuracies."""
    rows = [pd.read_csv(folder / "row.csv", dtype=str) for folder in folders if (folder / "row.csv").exists()]
    if rows:
        whole = pd.concat(rows, ignore_index=True)
        settings = [*ALWAYS, *(name for name in varied if name not in ALWAYS)]
        results = [name for name in whole if name in METRICS[1:] or name.startswith("exact ")]
        write_atomic(table, whole[settings + results].to_csv(index=False, lineterminator="\n"))


def sweep(
    values: dict[str, Sequence],
    folder: str | Path,
    table: str | Path | None = None,
    jobs: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    device: str | None = None,
    together: bool | None = None,
    base: TrainConfig | None = None,
    progress: bool = True,
    command: str = "",
) -> Path:
    """Train a grid of runs (see `grid`) into FOLDER/NAME each, and write their table; returns the table's path.

    `jobs` processes of one thread each, as many as cores by default; with backend "dask" the workers of the cluster at
    `scheduler`, which must see `folder` under the same path.  `together` trains the runs that share shapes in this
    process with a leading run dimension, the default on CUDA.  The table is written anew after each run.
    A run that fails does not stop the others: ValueError names them in the end.  RuntimeError where a worker died.
    """
    if backend not in ("loky", "dask"):
        raise ValueError(f"the backend must be loky or dask, not {backend!r}")
    if (backend == "dask") != (scheduler is not None):
        raise ValueError("the dask backend needs the address of a scheduler, and only it takes one")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    folder = Path(folder).resolve()
    table = Path(table) if table else folder / "table.csv"
    configs = grid(values, base)
    for name, config in configs.items():
        if (folder / name / "config.json").exists() and load_run(folder / name).config != config:
            raise ValueError(f"{folder / name} holds a run with another config; choose another folder")
    if together is None:
        together = backend == "loky" and choose_device(device).type == "cuda"
    varied = _varied(values)
    pending = {name: config for name, config in configs.items() if not (folder / name / "row.csv").exists()}

    def outcomes() -> Iterator[str | None]:
        if together:
            yield from _finish_together(pending, folder, choose_device(device), command)
            return
        here = {"inner_max_num_threads": 1, "initializer": end_with, "initargs": (os.getpid(),)}
        place = {"scheduler_host": scheduler} if backend == "dask" else here
        with joblib.parallel_config(backend, n_jobs=jobs or (-1 if scheduler else joblib.cpu_count()), **place):
            work = joblib.Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
            yield from work(joblib.delayed(_finish)(config, folder / name, device, command) for name, config in pending.items())

    folders, failures = [folder / name for name in configs], []
    with _progress(folders, sum(each.steps for each in configs.values()), progress):
        try:
            _write_table(table, folders, varied)
            for failure in outcomes():
                failures += [failure] if failure else []
                _write_table(table, folders, varied)
        except TerminatedWorkerError:
            raise RuntimeError("a worker process died; the same command goes on where the runs stand") from None
    if failures:
        raise ValueError(f"{len(failures)} of {len(configs)} runs failed: {'; '.join(sorted(failures))}")
    return table
