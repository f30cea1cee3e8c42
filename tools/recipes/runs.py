"""Finished runs onto their shelves in data/, as float16; and the tables of the sweeps over runs."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from assign_add_lib.engine.manifest import data_folder, write_manifest
from assign_add_lib.engine.runs import export
from assign_add_lib.systems import SYSTEMS

from .recipe import ROOT, Files


def ship(system: str, patterns: Sequence[str], steps: Sequence[int] | None = None) -> Files:
    """Put finished runs of a system, folders below runs/, in the place of the shipped ones of their names; writes nothing else.

    With the weights at `steps`, by default the last.  All are copied aside first: where one is not finished, ValueError, and
    nothing is changed.
    """
    kind = SYSTEMS[system].run
    folders = [each for pattern in patterns for each in sorted(ROOT.glob(f"runs/{pattern}")) if (each / "config.json").is_file()]
    if not folders:
        raise FileNotFoundError(f"there is no run like runs/{patterns[0]}")
    shelf, made = data_folder() / kind.shelf, []
    shelf.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=data_folder(), prefix=".shipping-") as aside:
        copies = []
        for folder in folders:
            run = kind.open(folder)
            if not run.finished:
                raise ValueError(f"{folder} is not finished")
            copies.append(export(folder, run.name, kind, [run.config.steps] if steps is None else steps, Path(aside)))
        for copy in copies:
            shutil.rmtree(shelf / copy.name, ignore_errors=True)
        write_manifest()  # the old files leave the list with their folders
        for copy in copies:
            made += [path for path in copy.rename(shelf / copy.name).rglob("*") if path.is_file()]
    write_manifest(made=[path.relative_to(data_folder()).as_posix() for path in made])
    return {}


def joined(folders: Sequence[str], setting: str) -> str:
    """The rows of the tables of some sweeps, each run once, in the order of a setting and the seed, as they are written there."""
    tables = [pd.read_csv(ROOT / "runs" / folder / "table.csv", dtype=str, keep_default_na=False) for folder in folders]
    rows = pd.concat(tables).drop_duplicates(["seed", "train_fraction", "r"])
    rows = rows.assign(by=rows[setting].astype(float), then=rows["seed"].astype(int)).sort_values(["by", "then"])
    return rows.drop(columns=["by", "then"]).to_csv(index=False, lineterminator="\n")


def seeds() -> Files:
    """The table of the ten shipped runs, as their sweep left it."""
    return {"data/sweeps/seed.csv": (ROOT / "runs/study/table.csv").read_bytes()}


def sweeps() -> Files:
    """The tables of chapter 4, from those that the sweeps left."""
    beside = [pd.read_csv(ROOT / f"runs/near-{value}/table.csv", dtype=str, keep_default_na=False) for value in ("one", "tenth")]
    return {
        "data/sweeps/train_fraction.csv": joined(["train_fraction", "more-shares", "share-ten"], "train_fraction"),
        "data/sweeps/r.csv": joined(["r", "r-ten"], "r"),
        "data/sweeps/beside.csv": pd.concat(beside).to_csv(index=False, lineterminator="\n"),
    }


def metrics(name: str) -> Files:
    """The metrics of the one run of a sweep, as they are, for a run of which no weights are shipped."""
    (found,) = ROOT.glob(f"runs/{name}/*/metrics.csv")
    return {f"data/companions/{name}-0.csv": found.read_bytes()}
