"""The training loop, for every system: a run alone, or several side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from torch import Tensor

from .learner import Config, Diverged, Learner
from .log import Log
from .progress import progress_bar

FAILURES = (ValueError, OSError, RuntimeError, MemoryError)  # what ends a run and is told in one line


def always() -> bool:
    """The answer to whether a run is still wanted, where nothing ends it early."""
    return True


def begin(log: Log) -> None:
    """Write down the start of a run, where that was not done."""
    if not log.rows:
        log.keep(log.learner.evaluated())


def follow(
    learner: Learner,
    folder: str | Path,
    command: str = "",
    progress: bool = True,
    stop: int | None = None,
    wanted: Callable[[], bool] = always,
) -> Path:
    """Train a learner into a folder, or go on with the run that stands there; returns the folder.

    The folder gets config.json, metrics.csv (a row every `log_every` steps), checkpoints/, and state.safetensors, from
    which a killed run goes on to the same bits.  `stop` ends early, and so does `wanted` once it is false, to be resumed.
    Raises ValueError where the folder holds a finished, damaged or different run or one that is being trained, OSError
    where it cannot be written, `Diverged` where a loss is not finite.
    """
    config = learner.config
    with Log.open(learner, folder, command) as log:
        begin(log)
        last = config.steps if stop is None else min(stop, config.steps)
        with progress_bar(log.folder.name, config.steps, learner.step, progress) as bar:
            while learner.step < last and wanted():
                loss = learner.advance()
                bar.update()
                if log.due:
                    metrics = learner.evaluated()
                    log.keep(metrics)
                    shown = {name: f"{metrics[name]:{form}}" for name, form in learner.shown.items()}
                    bar.set_postfix(loss=f"{loss:.3f}", **shown)
    return log.folder


class Ensemble(Protocol):
    """Learners that advance together, a step of each at a time; ValueError unless all but what `shared` leaves out is equal."""

    step: int

    def __init__(self, learners: Sequence[Learner]): ...

    @staticmethod
    def shared(config: Config) -> Config:
        """What runs must have in common to be trained together."""

    def advance(self) -> Tensor:
        """One step of every learner; returns the losses (run,), raises `Diverged` where one is not finite."""


class Stopped(Exception):
    """One of several runs that were trained together cannot go on."""

    def __init__(self, log: Log, reason: Exception):
        super().__init__(f"{log.folder.name}: {reason}")
        self.log = log


def follow_together(logs: Sequence[Log], ensemble: Ensemble) -> None:
    """Train the learners of these logs to their ends, writing each down as `follow` does; `Stopped` leaves all as last kept."""
    while ensemble.step < logs[0].learner.config.steps:
        try:
            ensemble.advance()
        except Diverged as error:
            raise Stopped(next(log for log in logs if log.learner is error.learner), error) from None
        for log in logs if logs[0].due else ():
            try:
                log.keep(log.learner.evaluated())
            except FAILURES as error:
                raise Stopped(log, error) from None
