"""Logs: the folder of a training in progress, kept so that a killed run goes on to the same bits.

Nothing here knows what is learned.  A system brings a `Config`, all that decides a run, and a `Learner`, which takes one
step and measures its network; both the study's transformer and the companions of part IV are trained so.
"""

import csv
import io
import math
import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

import torch
from torch import Tensor
from tqdm.auto import tqdm

from .files import load_tensors, read_json, save_tensors, write_atomic, write_json


class Config:
    """What decides a run, down to its bits on one machine: a frozen dataclass with at least these fields."""

    seed: int
    steps: int
    log_every: int  # steps between rows of metrics, and between saved states
    checkpoint_every: int  # steps between kept weights; a multiple of log_every

    def __post_init__(self):
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is int and (not isinstance(value, int) or isinstance(value, bool)):
                raise ValueError(f"{each.name} must be a whole number, not {value!r}")
            if each.type is bool and not isinstance(value, bool):
                raise ValueError(f"{each.name} must be true or false, not {value!r}")
            if each.type is str and not isinstance(value, str):
                raise ValueError(f"{each.name} must be text, not {value!r}")
            if each.type is float and (not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value)):
                raise ValueError(f"{each.name} must be a finite number, not {value!r}")
        self.at_least(1, "steps", "log_every", "checkpoint_every")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed must be from 0 to {2**31 - 1}, not {self.seed}")
        if self.checkpoint_every % self.log_every:
            raise ValueError(f"checkpoint_every ({self.checkpoint_every}) must be a multiple of log_every ({self.log_every})")

    def at_least(self, least: int, *names: str) -> None:
        """ValueError where one of these fields is below the least."""
        for name in names:
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")

    def within(self, low: float, high: float, *names: str) -> None:
        """ValueError where one of these fields is below `low`, or not below `high`."""
        for name in names:
            if not low <= getattr(self, name) < high:
                raise ValueError(f"{name} must be from {low} to below {high}, not {getattr(self, name)}")

    @classmethod
    def from_dict(cls, values: dict) -> "Config":
        """Read a config back from plain values; ValueError names what is unknown or missing."""
        wrong = set(values) ^ {each.name for each in fields(cls)}
        if wrong:
            raise ValueError(f"the config has the wrong entries: {', '.join(sorted(wrong))}")
        return cls(**values)

    def to_dict(self) -> dict:
        """The config as plain values."""
        return asdict(self)


class Diverged(ValueError):
    """The loss of a trainer is not finite."""

    def __init__(self, trainer: "Learner", loss: float):
        super().__init__(f"the loss is {loss} at step {trainer.step}; training stops here, try a smaller lr")
        self.trainer = trainer


class Learner(ABC):
    """A run in progress: the weights by name, their optimiser, the generator of its batches, and the steps done."""

    metrics: Sequence[str]  # what `measure` gives, in the order of the columns
    step = 0

    def __init__(
        self,
        config: Config,
        tensors: dict[str, Tensor],
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator,
        device: torch.device | str = "cpu",
    ):
        self.config, self.tensors, self.optimizer, self.generator = config, tensors, optimizer, generator
        self.device = torch.device(device)

    @abstractmethod
    def loss(self) -> Tensor:
        """The loss on a fresh batch."""

    @abstractmethod
    def measure(self) -> dict[str, float]:
        """The metrics of the network as it stands; `loss` among them."""

    def notes(self) -> dict:
        """What config.json says besides the config, as plain values."""
        return {}

    def update(self) -> None:
        """Move the weights by their gradients."""
        self.optimizer.step()

    def advance(self) -> float:
        """One step on one fresh batch; returns its loss, and raises `Diverged` where that is not finite."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        value = loss.item()
        if not math.isfinite(value):
            raise Diverged(self, value)
        loss.backward()
        self.update()
        self.step += 1
        return value

    def save(self, path: Path) -> None:
        """Write the whole state, from which training goes on to the same bits."""
        tensors = {f"weights.{name}": tensor for name, tensor in self.tensors.items()}
        for name, tensor in self.tensors.items():
            tensors |= {f"{key}.{name}": value for key, value in self.optimizer.state[tensor].items()}
        save_tensors(path, tensors | {"generator": self.generator.get_state()}, step=self.step)

    def load(self, path: Path) -> None:
        """Take up a state that `save` wrote; ValueError where it is damaged or of another shape."""
        tensors, notes = load_tensors(path)
        try:
            with torch.no_grad():
                for name, tensor in self.tensors.items():
                    tensor.copy_(tensors[f"weights.{name}"])
                    keys = ("step", "exp_avg", "exp_avg_sq")
                    if f"step.{name}" in tensors:
                        self.optimizer.state[tensor] = {key: tensors[f"{key}.{name}"].to(self.device) for key in keys}
            self.generator.set_state(tensors["generator"])
            self.step = int(notes["step"])
        except (KeyError, RuntimeError, ValueError):
            raise ValueError(f"{path} is not the state of a run with this config") from None


def checkpoint_path(folder: Path, step: int) -> Path:
    """Where a run folder keeps the weights of one step."""
    return Path(folder) / "checkpoints" / f"step-{step:06d}.safetensors"


def machine_shape(device: torch.device) -> str:
    """The kind of machine in a few words: processor family, cores in use, device."""
    accelerator = f", {torch.cuda.get_device_name(device)}" if device.type == "cuda" else ""
    return f"{platform.machine()}, {torch.get_num_threads()} threads of {os.cpu_count()} cores{accelerator}"


def choose_device(device: str | None = None) -> torch.device:
    """The device asked for, or CUDA where present, or the cpu; ValueError where there is no such device."""
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here; train on the cpu")
    return chosen


def _metrics_text(rows: list[dict], columns: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: value if name == "step" else f"{value:.6g}" for name, value in row.items()} for row in rows)
    return text.getvalue()


def _read_metrics(path: Path, columns: Sequence[str]) -> list[dict]:
    """Read back what `_metrics_text` wrote; ValueError where the file is anything else."""
    try:
        text = path.read_text()
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        rows = [row | {"step": int(row["step"])} for row in rows]
        intact = _metrics_text(rows, columns) == text
    except (ValueError, KeyError, TypeError, csv.Error):
        intact = False
    if not intact:
        raise ValueError(f"{path} is damaged: it is not a table of metrics as this program writes it")
    return rows


class Log:
    """The folder of a run in progress: config, metrics, checkpoints, and the state from which a killed run goes on.

    It takes up the run that stands in the folder, or begins it.  Raises ValueError where the folder holds a finished,
    damaged or different run, OSError where it cannot be written; what was last saved stays intact.
    """

    def __init__(self, trainer: Learner, folder: str | Path, command: str = ""):
        self.trainer, self.folder, self.command = trainer, Path(folder), command
        self.columns = ("step", *trainer.metrics)
        self.started, self.seconds, self.rows = time.monotonic(), 0.0, []
        self._take_up()
        if not self.rows:
            self.keep()

    def _take_up(self) -> None:
        """Go on with the run in the folder, or begin it."""
        trainer, folder = self.trainer, self.folder
        config_file, state_file = folder / "config.json", folder / "state.safetensors"
        if not config_file.exists():
            if folder.exists() and any(folder.iterdir()):
                raise ValueError(f"{folder} is not empty and holds no run; choose another folder")
            return
        kept = read_json(config_file)
        theirs, ours = kept.get("config"), trainer.config.to_dict()
        if not isinstance(theirs, dict):
            raise ValueError(f"{config_file} is damaged: it does not hold the config of a run")
        if theirs != ours:
            names = [name for name in ours | theirs if theirs.get(name) != ours.get(name)]
            changed = [f"{name} {theirs.get(name)!r} -> {ours.get(name)!r}" for name in names]
            raise ValueError(f"{folder} holds a run with another config ({', '.join(changed)}); choose another folder")
        if not state_file.exists():
            if len(list((folder / "checkpoints").glob("*.safetensors"))) > 1:
                raise ValueError(f"{folder} holds a run without its state.safetensors, so it cannot go on; choose another folder")
            return
        trainer.load(state_file)
        if trainer.step >= trainer.config.steps:
            raise ValueError(f"{folder} holds a finished run, which is never overwritten; choose another folder")
        file = folder / "metrics.csv"
        rows = _read_metrics(file, self.columns) if file.exists() else []
        self.rows = [row for row in rows if row["step"] <= trainer.step]
        if [row["step"] for row in self.rows] != list(range(0, trainer.step + 1, trainer.config.log_every)):
            raise ValueError(f"{file} is damaged: it lacks rows up to step {trainer.step}, where the state stands")
        try:
            self.seconds = float(kept["record"]["seconds"])
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{config_file} is damaged: it does not hold the record of a run") from None

    @property
    def due(self) -> bool:
        """Whether the step just done is one whose metrics are kept."""
        config = self.trainer.config
        return self.trainer.step % config.log_every == 0 or self.trainer.step == config.steps

    @torch.no_grad()
    def keep(self) -> None:
        """Measure the network and write everything down; `Diverged` where its loss is not finite."""
        trainer, config, folder = self.trainer, self.trainer.config, self.folder
        measured = trainer.measure()
        if not math.isfinite(measured["loss"]):
            raise Diverged(trainer, measured["loss"])
        record = {
            "command": self.command,
            "seconds": round(self.seconds + time.monotonic() - self.started, 1),
            "machine": machine_shape(trainer.device),
            "torch": torch.__version__,
        }
        write_json(folder / "config.json", {"config": config.to_dict()} | trainer.notes() | {"record": record})
        self.rows.append({"step": trainer.step} | measured)
        write_atomic(folder / "metrics.csv", _metrics_text(self.rows, self.columns))
        if trainer.step % config.checkpoint_every == 0 or trainer.step == config.steps:
            save_tensors(checkpoint_path(folder, trainer.step), trainer.tensors, step=trainer.step)
        trainer.save(folder / "state.safetensors")


def follow(log: Log, shown: dict[str, str], progress: bool = True, stop: int | None = None) -> Path:
    """Train the run of a log to its end, or to the step `stop`; returns its folder.

    The bar shows the loss, and the metrics `shown`, by name and format: {"0-var train": ".2f"}.
    """
    trainer, config = log.trainer, log.trainer.config
    last = config.steps if stop is None else min(stop, config.steps)
    with tqdm(total=config.steps, initial=trainer.step, desc=log.folder.name, unit="step", disable=not progress) as bar:
        while trainer.step < last:
            loss = trainer.advance()
            bar.update()
            if log.due:
                log.keep()
                bar.set_postfix(loss=f"{loss:.3f}", **{name: f"{log.rows[-1][name]:{form}}" for name, form in shown.items()})
    return log.folder
