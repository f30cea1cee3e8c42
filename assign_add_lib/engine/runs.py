"""Runs: the folder that a training leaves, as it is read and shipped."""

import io
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Self

import pandas as pd
from torch import Tensor, nn

from .files import file_sha256, load_tensors, make_folder, read_json, remove_empty, save_tensors, write_atomic, write_json
from .folder import (
    CONFIG,
    METRICS,
    STATE,
    Description,
    Network,
    Readers,
    check_measured,
    check_ties,
    checkpoint_path,
    kept_steps,
    load_checkpoint,
    metrics_text,
    read_description,
    read_metrics,
    ties,
)
from .learner import Config
from .lock import lock_file
from .manifest import MANIFEST, data_folder, is_installed, read_manifest, sign


@dataclass(frozen=True)
class RunFolder(ABC):
    """What a log left in a folder: its record, metrics, and tensors at its checkpoints; a system adds what they mean.

    `sums` holds the expected SHA-256 of each file, by its path in the folder; None for a run that is not shipped.
    """

    folder: Path
    sums: dict[str, str] | None = field(default=None, repr=False)
    shelf: ClassVar[str]  # the folder of the shipped ones, in data/
    kind: ClassVar[type[Config]]  # the class of its config
    readers: ClassVar[Readers] = MappingProxyType({})  # what config.json notes besides the config, and how it is read

    @classmethod
    def shipped(cls) -> list[str]:
        """Names of the runs of this kind that come with the package."""
        return sorted(each.parent.name for each in data_folder().glob(f"{cls.shelf}/*/config.json"))

    @classmethod
    def open(cls, name: str | Path) -> Self:
        """Open a shipped run by name, or any run by its folder; FileNotFoundError lists the runs there are.

        ValueError where it is of another kind.
        """
        shelf = data_folder() / cls.shelf
        folder = Path(name) if "/" in str(name) or not (shelf / str(name) / CONFIG).is_file() else shelf / str(name)
        if (folder / CONFIG).is_file():
            run = cls(folder, cls._sums(folder.resolve()))
            _ = run.described  # refuses what is no run of this kind
            return run
        there = ", ".join(cls.shipped()) or "none"
        raise FileNotFoundError(f"there is no run {name}; shipped runs: {there}; or give a run's folder")

    @classmethod
    def _sums(cls, folder: Path) -> dict[str, str] | None:
        """What the manifest lists of a run, by file; None for one that does not stand on a shelf beside a manifest."""
        data = (folder / ("../" * (1 + len(Path(cls.shelf).parts)))).resolve()
        if folder.parent != data / cls.shelf or not (data / MANIFEST).exists() and data != data_folder().resolve():
            return None
        prefix = f"{cls.shelf}/{folder.name}/"
        return {file.removeprefix(prefix): each for file, each in read_manifest(data).items() if file.startswith(prefix)}

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    def _checked(self, path: Path) -> Path:
        """The same file, once it is found to be as shipped, if it is."""
        if self.sums is not None and path.is_file():
            if file_sha256(path) != self.sums.get(path.relative_to(self.folder).as_posix()):
                raise ValueError(f"{path} is damaged: its checksum is not the one in {MANIFEST}")
        return path

    @cached_property
    def described(self) -> Description:
        """What config.json says, once it is found whole."""
        return read_description(self._checked(self.folder / CONFIG), self.kind, self.readers)

    @property
    def record(self) -> dict:
        """How it was made: command, seconds, machine, version of torch."""
        return self.described.record

    @property
    def config(self) -> Config:
        """The config it was trained with."""
        return self.described.config

    @property
    def finished(self) -> bool:
        """Whether it has come to its last step."""
        return self.steps[-1:] == [self.config.steps]

    def final(self) -> dict[str, float]:
        """What a sweep's table says of a finished run besides its last metrics, by column."""
        return {}

    def _witnesses(self) -> list[dict[str, str]]:
        """What the last weights and the state of a run that is not shipped have noted, once they are found to be of it."""
        paths = [checkpoint_path(self.folder, step) for step in self.steps[-1:]] + [self.folder / STATE]
        found = {path: load_tensors(path)[1] for path in paths if path.is_file()} if self.sums is None else {}
        for path, notes in found.items():
            check_ties(path, notes, self.described.run)
        return list(found.values())

    @cached_property
    def rows(self) -> list[dict]:
        """What was measured, row by row, at least up to the last weights and the state, and as these have noted it."""
        path, witnesses = self._checked(self.folder / METRICS), self._witnesses()  # a run in progress writes these last
        rows = read_metrics(path, self.config)
        for notes in witnesses:
            check_measured(path, notes, rows)
        return rows

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """What was measured, indexed by step."""
        return pd.read_csv(io.StringIO(metrics_text(self.rows)), index_col="step")

    @cached_property
    def steps(self) -> list[int]:
        """The steps whose weights are kept; of a shipped run, those that the manifest lists and no others."""
        steps = kept_steps(self.folder)
        if self.sums is not None:
            for path in (checkpoint_path(self.folder, step) for step in steps):
                if path.relative_to(self.folder).as_posix() not in self.sums:
                    self._checked(path)
            for path in (self.folder / file for file in self.sums):
                if not path.is_file():
                    raise FileNotFoundError(f"there is no file {path}, which {MANIFEST} lists")
        return steps

    def _step(self, step: int | None) -> int:
        """The step of a checkpoint, the last by default; ValueError lists the steps there are."""
        if step is None and self.steps:
            step = self.steps[-1]
        if step not in self.steps:
            there = ", ".join(map(str, self.steps)) or "none"
            raise ValueError(f"{self.name} has no checkpoint at step {step}; there are: {there}")
        return step

    def read(self, step: int | None, fit: Callable[[dict[str, Tensor]], Network]) -> Network:
        """What `fit` makes of the tensors of a checkpoint, the last by default, once they are found to be of this run."""
        step = self._step(step)
        return load_checkpoint(self._checked(checkpoint_path(self.folder, step)), self.described.run, step, fit)

    @abstractmethod
    def tensors(self, step: int | None = None) -> dict[str, Tensor]:
        """The tensors at a checkpoint by name, the last by default, once they are found fit; ValueError where not."""


class ModuleRun(RunFolder):
    """A run whose config makes its network, a module of PyTorch."""

    def network(self, step: int | None = None) -> nn.Module:
        """The network at a checkpoint, the last by default, frozen; ValueError where the file holds something else."""
        return self.read(step, self._fit)

    def _fit(self, tensors: dict[str, Tensor]) -> nn.Module:
        network = self.config.network().requires_grad_(False)
        network.load_state_dict(tensors)
        return network

    def tensors(self, step: int | None = None) -> dict[str, Tensor]:
        """The weights at a checkpoint by name."""
        return self.network(step).state_dict()


def export(
    folder: str | Path, name: str, kind: type[RunFolder], steps: Sequence[int] | None = None, data: Path | None = None
) -> Path:
    """Copy a local run of some kind onto its shelf in a data folder: config, metrics, the weights of some steps as float16.

    All checkpoints by default, and the folder of the book's own runs.  The run is there once the manifest lists it; what an
    export wrote that was killed before is taken up by the next.  Raises FileExistsError rather than overwrite a run,
    ValueError for a step that the run does not have, and for a run whose parts are not all whole and its own.
    """
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        raise ValueError(f"a run needs a plain name of letters, digits, . _ and -, not {name!r}")
    if data is None and is_installed():
        raise ValueError("what lies in an installed package goes with it; say with --data where your own runs shall lie")
    data = data or data_folder()
    run, target = kind.open(folder), data / kind.shelf / name
    making, rows, refused = target.with_name(f".{name}.making"), run.rows, f"{target} exists; no exported run is overwritten"
    with lock_file(data / MANIFEST):
        if target.exists() and (data / MANIFEST).exists() and kind._sums(target.resolve()):
            raise FileExistsError(refused)
        shutil.rmtree(making, ignore_errors=True)  # what a killed export left
        made = make_folder(target.parent)
        try:
            for step in run.steps if steps is None else sorted(set(steps)):
                halves = {each: tensor.half() for each, tensor in run.tensors(step).items()}
                if not all(half.isfinite().all() for half in halves.values()):
                    raise ValueError(f"the weights of {folder} at step {step} are too large for float16")
                save_tensors(checkpoint_path(making, step), halves, **ties(run.described.run, step, rows))
            write_json(making / CONFIG, read_json(run.folder / CONFIG))
            write_atomic(making / METRICS, metrics_text(rows))
            if not target.exists():
                making.rename(target)
            elif _contents(target) != _contents(making):
                raise FileExistsError(refused)
        finally:
            shutil.rmtree(making, ignore_errors=True)
            remove_empty(made)
        sign(data, [path.relative_to(data).as_posix() for path in target.rglob("*") if path.is_file()])
    return target


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
