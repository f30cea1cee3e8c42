"""The training loop, for every system."""

from collections.abc import Callable
from pathlib import Path

from .learner import Learner
from .log import Log
from .progress import progress_bar

FAILURES = (ValueError, OSError, RuntimeError, MemoryError)  # what ends a run and is told in one line


def always() -> bool:
    """The answer to whether a run is still wanted, where nothing ends it early."""
    return True


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
    with Log(learner, folder, command) as log:
        if not log.rows:
            log.keep(learner.evaluated())
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
