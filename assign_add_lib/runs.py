"""Runs: what a training left behind, shipped in data/ or in any folder, checked as it is read."""

import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import pandas as pd
import torch

from .files import file_sha256, load_tensors, read_json, save_tensors, write_atomic, write_json
from .model import Weights
from .task import Split, Task
from .training import TrainConfig, checkpoint_path

MANIFEST = "MANIFEST.sha256"


def data_folder() -> Path:
    """The shipped data: beside the package in a checkout, inside it once installed."""
    inside = Path(__file__).parent / "data"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "data"


def shipped_runs() -> list[str]:
    """Names of the runs that come with the package."""
    return sorted(folder.parent.name for folder in data_folder().glob("runs/*/config.json"))


@dataclass(frozen=True)
class Run:
    """One run: its config, split, metrics, and weights at its checkpoints.

    `sums` holds the expected SHA-256 of each file, by its path in the folder; None for a run that is not shipped.
    """

    folder: Path
    sums: dict[str, str] | None = None

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

    @property
    def record(self) -> dict:
        """How it was made: command, seconds, machine, version of torch."""
        return self._described("record")

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Loss, nine accuracies and seven progress measures, indexed by step."""
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

    def weights(self, step: int | None = None) -> Weights:
        """The weights at a checkpoint, the last by default, in float32; ValueError lists the steps there are."""
        if step is None and self.steps:
            step = self.steps[-1]
        if step not in self.steps:
            there = ", ".join(map(str, self.steps)) or "none"
            raise ValueError(f"{self.name} has no checkpoint at step {step}; there are: {there}")
        path = self._checked(checkpoint_path(self.folder, step))
        tensors, _ = load_tensors(path)
        task = self.task
        try:
            weights = Weights(**tensors).to(torch.float32)
            if (len(weights.W_E), len(weights.W_pos), weights.W_U.shape[1]) == (task.d_vocab, task.length, task.n_numbers):
                return weights
        except (TypeError, ValueError, IndexError):
            pass
        raise ValueError(f"{path} does not hold the weights of a network for this run's task")


def load_run(name: str | Path) -> Run:
    """Open a shipped run by name, or any run by its folder; FileNotFoundError lists the runs there are."""
    folder = data_folder() / "runs" / str(name)
    if "/" not in str(name) and (folder / "config.json").is_file():
        return Run(folder, _run_sums(str(name)))
    if (Path(name) / "config.json").is_file():
        return Run(Path(name))
    there = ", ".join(shipped_runs()) or "none"
    raise FileNotFoundError(f"there is no run {name}; shipped runs: {there}; or give a run's folder")


def _read_manifest(data: Path) -> dict[str, str]:
    """The expected SHA-256 of the shipped files, by path in the data folder."""
    path = data / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    lines = (line.partition("  ") for line in path.read_text().splitlines())
    return {file: digest for digest, _, file in lines}


def _run_sums(name: str) -> dict[str, str]:
    prefix = f"runs/{name}/"
    sums = _read_manifest(data_folder()).items()
    return {file.removeprefix(prefix): digest for file, digest in sums if file.startswith(prefix)}


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


def export(folder: str | Path, name: str, steps: list[int] | None = None, data: Path | None = None) -> Path:
    """Copy a local run into data/runs/NAME: config, metrics, and the weights of some steps as float16.

    All checkpoints by default.  Raises FileExistsError rather than overwrite a run, ValueError for a step that the
    run does not have.
    """
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        raise ValueError(f"a run needs a plain name of letters, digits, . _ and -, not {name!r}")
    run, target = load_run(folder), (data or data_folder()) / "runs" / name
    if target.exists():
        raise FileExistsError(f"{target} exists; a shipped run is never overwritten")
    making = target.with_name(f".{name}.making")
    try:
        for step in run.steps if steps is None else sorted(set(steps)):
            halves = {tensor_name: tensor.half() for tensor_name, tensor in run.weights(step).tensors().items()}
            save_tensors(checkpoint_path(making, step), halves, step=step)
        write_json(making / "config.json", read_json(run.folder / "config.json"))
        write_atomic(making / "metrics.csv", (run.folder / "metrics.csv").read_bytes())
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    write_manifest(data)
    return target
