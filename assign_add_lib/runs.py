"""Runs: what a training left behind, shipped in data/ or in any folder, checked as it is read."""

import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, Self

import pandas as pd
import torch
from torch import Tensor

from .files import file_sha256, load_tensors, read_json, save_tensors, write_atomic, write_json
from .log import checkpoint_path
from .model import Weights
from .task import Split, Task
from .training import TrainConfig

MANIFEST = "MANIFEST.sha256"


def data_folder() -> Path:
    """The shipped data: beside the package in a checkout, inside it once installed."""
    inside = Path(__file__).parent / "data"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class RunFolder(ABC):
    """What a log left in a folder: its record, metrics, and tensors at its checkpoints; a system adds what they mean.

    `sums` holds the expected SHA-256 of each file, by its path in the folder; None for a run that is not shipped.
    """

    folder: Path
    sums: dict[str, str] | None = None
    shelf: ClassVar[str]  # the folder of the shipped ones, in data/

    @classmethod
    def shipped(cls) -> list[str]:
        """Names of the runs of this kind that come with the package."""
        return sorted(each.parent.name for each in data_folder().glob(f"{cls.shelf}/*/config.json"))

    @classmethod
    def open(cls, name: str | Path) -> Self:
        """Open a shipped run by name, or any run by its folder; FileNotFoundError lists the runs there are."""
        folder = data_folder() / cls.shelf / str(name)
        if "/" not in str(name) and (folder / "config.json").is_file():
            prefix, sums = f"{cls.shelf}/{name}/", _read_manifest(data_folder())
            return cls(folder, {file.removeprefix(prefix): each for file, each in sums.items() if file.startswith(prefix)})
        if (Path(name) / "config.json").is_file():
            return cls(Path(name))
        there = ", ".join(cls.shipped()) or "none"
        raise FileNotFoundError(f"there is no run {name}; shipped runs: {there}; or give a run's folder")

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    def _checked(self, path: Path) -> Path:
        if self.sums is not None and path.is_file():
            if file_sha256(path) != self.sums.get(path.relative_to(self.folder).as_posix()):
                raise ValueError(f"{path} is damaged: its checksum is not the one in {MANIFEST}")
        return path

    def _described(self, part: str, read=dict):
        path = self._checked(self.folder / "config.json")
        try:
            return read(read_json(path)[part])
        except (KeyError, TypeError):
            raise ValueError(f"{path} is damaged: it does not hold the {part} of a run") from None

    @property
    def record(self) -> dict:
        """How it was made: command, seconds, machine, version of torch."""
        return self._described("record")

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """What was measured, indexed by step."""
        path = self._checked(self.folder / "metrics.csv")
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        try:
            return pd.read_csv(path, index_col="step")
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    @cached_property
    def steps(self) -> list[int]:
        """The steps whose weights are kept."""
        return sorted(int(path.stem.removeprefix("step-")) for path in self.folder.glob("checkpoints/step-*.safetensors"))

    def _checkpoint(self, step: int | None) -> Path:
        """The file of a checkpoint, the last by default; ValueError lists the steps there are."""
        if step is None and self.steps:
            step = self.steps[-1]
        if step not in self.steps:
            there = ", ".join(map(str, self.steps)) or "none"
            raise ValueError(f"{self.name} has no checkpoint at step {step}; there are: {there}")
        return self._checked(checkpoint_path(self.folder, step))

    @abstractmethod
    def tensors(self, step: int | None = None) -> dict[str, Tensor]:
        """The tensors at a checkpoint by name, the last by default, once they are found fit; ValueError where not."""


class Run(RunFolder):
    """One run of the study: config, split, metrics, and weights at its checkpoints."""

    shelf = "runs"

    @cached_property
    def config(self) -> TrainConfig:
        """The config it was trained with."""
        return self._described("config", TrainConfig.from_dict)

    @property
    def task(self) -> Task:
        """The sizes of its task."""
        return self.config.task

    @cached_property
    def split(self) -> Split:
        """The pairs and variables that it was trained on, as stored, not drawn again."""
        return self._described("split", partial(Split.from_dict, self.task))

    def weights(self, step: int | None = None) -> Weights:
        """The weights at a checkpoint, the last by default, in float32; ValueError lists the steps there are."""
        path, task = self._checkpoint(step), self.task
        tensors, _ = load_tensors(path)
        try:
            weights = Weights(**tensors).to(torch.float32)
            if (len(weights.W_E), len(weights.W_pos), weights.W_U.shape[1]) == (task.d_vocab, task.length, task.n_numbers):
                return weights
        except (TypeError, ValueError, IndexError):
            pass
        raise ValueError(f"{path} does not hold the weights of a network for this run's task")

    def tensors(self, step: int | None = None) -> dict[str, Tensor]:
        """The weights at a checkpoint by name."""
        return self.weights(step).tensors()


shipped_runs = Run.shipped
load_run = Run.open


def _read_manifest(data: Path) -> dict[str, str]:
    """The expected SHA-256 of the shipped files, by path in the data folder."""
    path = data / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    lines = (line.partition("  ") for line in path.read_text().splitlines())
    return {file: digest for digest, _, file in lines}


def shipped_file(name: str) -> Path:
    """A shipped file by its path in the data folder, once its checksum is found right.

    Raises FileNotFoundError where it is missing, ValueError where it is damaged.
    """
    path = data_folder() / name
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if file_sha256(path) != _read_manifest(data_folder()).get(name):
        raise ValueError(f"{path} is damaged: its checksum is not the one in {MANIFEST}")
    return path


def write_manifest(data: Path | None = None, remade: Collection[str] = ()) -> Path:
    """Write the checksums of all shipped files; those that are listed already keep theirs, so that damage stays damage.

    Files in `remade`, paths in the data folder, get new ones.
    """
    data = data or data_folder()
    known = _read_manifest(data) if (data / MANIFEST).exists() else {}
    known = {name: digest for name, digest in known.items() if name not in remade}
    files = sorted(path for path in data.rglob("*") if path.is_file() and path.name != MANIFEST)
    sums = {path.relative_to(data).as_posix(): path for path in files}
    lines = (f"{known.get(name) or file_sha256(path)}  {name}\n" for name, path in sums.items())
    write_atomic(data / MANIFEST, "".join(lines))
    return data / MANIFEST


def export(
    folder: str | Path, name: str, steps: list[int] | None = None, data: Path | None = None, kind: type[RunFolder] = Run
) -> Path:
    """Copy a local run of some kind onto its shelf in data/: config, metrics, and the weights of some steps as float16.

    All checkpoints by default.  Raises FileExistsError rather than overwrite a run, ValueError for a step that the
    run does not have.
    """
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        raise ValueError(f"a run needs a plain name of letters, digits, . _ and -, not {name!r}")
    run, target = kind.open(folder), (data or data_folder()) / kind.shelf / name
    if target.exists():
        raise FileExistsError(f"{target} exists; a shipped run is never overwritten")
    making = target.with_name(f".{name}.making")
    try:
        for step in run.steps if steps is None else sorted(set(steps)):
            halves = {each: tensor.half() for each, tensor in run.tensors(step).items()}
            save_tensors(checkpoint_path(making, step), halves, step=step)
        write_json(making / "config.json", read_json(run.folder / "config.json"))
        write_atomic(making / "metrics.csv", (run.folder / "metrics.csv").read_bytes())
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    write_manifest(data)
    return target
