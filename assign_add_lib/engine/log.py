"""Logs: the folder of a training in progress, written so that a killed run goes on to the same bits."""

import contextlib
import os
import platform
import time
from pathlib import Path
from typing import Self

import torch

from .files import UNFINISHED, load_tensors, read_json, save_tensors, write_atomic, write_json
from .folder import (
    CONFIG,
    METRICS,
    STATE,
    check_measured,
    check_ties,
    checkpoint_path,
    decided_by,
    due,
    kept_steps,
    metrics_text,
    other_config,
    read_description,
    read_metrics,
    remove_leftovers,
    ties,
)
from .learner import Learner
from .lock import lock_folder


def machine_shape(device: torch.device) -> str:
    """The kind of machine in a few words: processor's family, maker and instruction set, cores in use, device."""
    accelerator = f", {torch.cuda.get_device_name(device)}" if device.type == "cuda" else ""
    processor = ", ".join([platform.machine(), *_maker(), torch.backends.cpu.get_cpu_capability()])
    return f"{processor}, {torch.get_num_threads()} threads of {os.cpu_count()} cores{accelerator}"


def _maker() -> list[str]:
    """Who made the processor, by which PyTorch's products choose their code: the first such line of Linux, or Python's word."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("vendor_id", "CPU implementer")):
                return [line.partition(":")[2].strip()]
    return [platform.processor()] if platform.processor() else []


class Log:
    """The folder of a run in progress: config, metrics, checkpoints, and the state from which a killed run goes on.

    A log brings its learner to where the run in the folder stands, or begins one, and holds the folder's lock as long as
    its `with` lasts.  What was last kept stays intact, whatever happens.  ValueError where the folder holds a finished,
    damaged or different run, or one that is being trained.
    """

    def __init__(self, learner: Learner, folder: str | Path, command: str = ""):
        self.learner, self.folder, self.command = learner, Path(folder), command
        self.run = decided_by(learner.config.to_dict(), learner.notes())
        self.rows: list[dict] = []
        self.started, self.seconds = time.monotonic(), 0.0  # seconds of training, before this process
        self.lock = lock_folder(self.folder)
        try:
            self._take_up()
        except BaseException:
            self.lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.lock.release()

    def _take_up(self) -> None:
        """Go on with the run in the folder from where it was last kept; or begin it."""
        folder, learner = self.folder, self.learner
        if not (folder / CONFIG).exists():
            if any(path != self.lock.path and path.suffix != UNFINISHED for path in folder.iterdir()):
                raise ValueError(f"{folder} is not empty and holds no run; choose another folder")
            remove_leftovers(folder)
            return
        self._check_same()
        remove_leftovers(folder)
        if not (folder / STATE).exists():
            measured = read_metrics(folder / METRICS, learner.config) if (folder / METRICS).exists() else []
            if len(measured) > 1 or kept_steps(folder) not in ([], [0]):
                raise ValueError(f"{folder} holds a run without its {STATE}, so it cannot go on; choose another folder")
            return
        self.seconds = self._check_described()
        notes = learner.load(folder / STATE)
        check_ties(folder / STATE, notes, self.run, learner.step)
        if learner.step >= learner.config.steps:
            raise ValueError(f"{folder} holds a finished run, which is never overwritten; choose another folder")
        self.rows = self._check_written(notes)

    def _check_same(self) -> None:
        """ValueError where the folder holds a run with another config."""
        file = self.folder / CONFIG
        theirs, ours = read_json(file).get("config"), self.learner.config.to_dict()
        if not isinstance(theirs, dict):
            raise ValueError(f"{file} is damaged: it does not hold the config of a run")
        if theirs != ours:
            raise other_config(self.folder, theirs, ours)

    def _check_described(self) -> float:
        """The seconds that the run has taken, once config.json is found whole and its notes those of the learner."""
        file, notes = self.folder / CONFIG, self.learner.notes()
        kept = read_description(file, type(self.learner.config), {name: lambda _, value: value for name in notes})
        if kept.run is None:
            raise ValueError(f"{self.folder} holds a run of an earlier version, which does not go on; choose another folder")
        if kept.run != self.run:
            raise ValueError(f"{file} does not hold the {', '.join(notes)} that this version draws for its config")
        return kept.record["seconds"]

    def _check_written(self, notes: dict[str, str]) -> list[dict]:
        """The rows up to where the state stands, once they and the checkpoints are found to be of this run."""
        learner, config, file = self.learner, self.learner.config, self.folder / METRICS
        rows = read_metrics(file, config) if file.exists() else [{"step": -1}]
        check_measured(file, notes, rows)
        for step in due(config, config.checkpoint_every, learner.step):
            path = checkpoint_path(self.folder, step)
            check_ties(path, load_tensors(path)[1], self.run, step)
        return [row for row in rows if row["step"] <= learner.step]

    @property
    def due(self) -> bool:
        """Whether the run is to be written down where it stands."""
        config = self.learner.config
        return self.learner.step % config.log_every == 0 or self.learner.step == config.steps

    def _check_there(self) -> None:
        """OSError where the folder, or what was kept in it, was taken away since."""
        config, kept = self.learner.config, set(kept_steps(self.folder))
        if not self.lock.stands:
            raise OSError(f"{self.folder} was moved or removed while its run was trained; training stops here")
        until = self.rows[-1]["step"] if self.rows else -1
        for step in due(config, config.checkpoint_every, until):
            if step not in kept:
                raise OSError(f"{checkpoint_path(self.folder, step)} was removed while its run was trained; training stops here")

    def keep(self, metrics: dict[str, float]) -> None:
        """Write down where the run stands: its metrics, its record, its weights where due, and its whole state."""
        learner, config, folder = self.learner, self.learner.config, self.folder
        self._check_there()
        record = {
            "command": self.command,
            "seconds": round(self.seconds + time.monotonic() - self.started, 1),
            "machine": machine_shape(learner.device),
            "torch": torch.__version__,
        }
        write_json(folder / CONFIG, {"config": config.to_dict()} | learner.notes() | {"run": self.run, "record": record})
        self.rows.append({"step": learner.step} | {name: metrics[name] for name in learner.metrics})
        write_atomic(folder / METRICS, metrics_text(self.rows))
        notes = ties(self.run, learner.step, self.rows)
        if learner.step % config.checkpoint_every == 0 or learner.step == config.steps:
            save_tensors(checkpoint_path(folder, learner.step), learner.tensors, **notes)
        learner.save(folder / STATE, **notes)
