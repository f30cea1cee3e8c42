"""Rows and tables: what a sweep says of each finished run, checked by a sum of its own."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from .files import text_sha256, write_atomic
from .folder import ROW, remove_leftovers
from .learner import Config
from .lock import lock_folder
from .system import System

SUM = "sha256"  # the last column of row.csv: the checksum of the others


def _text(rows: Sequence[dict[str, str]], columns: Sequence[str]) -> str:
    return pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n")


def _number(value: float, form: str) -> str:
    return "" if math.isnan(value) else f"{value:{form}}"


def _settings(config: Config) -> dict[str, str]:
    return {name: str(value) for name, value in config.flat().items()}


def write_row(system: System, folder: Path) -> None:
    """The row of a finished run: its settings, its last metrics, and what its kind of run adds to them."""
    with lock_folder(folder):
        remove_leftovers(folder)
        run = system.run.open(folder)
        row = _settings(run.config)
        row |= {name: _number(value, ".6g") for name, value in run.metrics.loc[run.config.steps].items()}
        row |= {name: _number(value, ".6f") for name, value in run.final().items()}
        row[SUM] = text_sha256(json.dumps(row))
        write_atomic(folder / ROW, _text([row], list(row)))


def read_row(folder: Path, config: Config) -> dict[str, str] | None:
    """The row of a finished run of this config; None where there is none, or what stands there is damaged or another's."""
    row = _intact_row(folder)
    return row if row and _settings(config).items() <= row.items() else None


def rows_beside(system: System, folder: Path, configs: Mapping[str, Config]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """What has finished in a folder under other names: of these configs, their name -> the other; and the rows of all else."""
    wanted, names, others = {tuple(_settings(each).items()): name for name, each in configs.items()}, {}, []
    for path in sorted(folder.glob(f"*/{ROW}")):
        if path.parent.name not in configs and (row := _intact_row(path.parent)):
            settings = tuple((each, row.get(each)) for each in system.config.settings())
            if settings in wanted:
                names[wanted[settings]] = path.parent.name
            elif None not in dict(settings).values():
                others.append(row)
    return names, others


def _intact_row(folder: Path) -> dict[str, str] | None:
    try:
        text = (folder / ROW).read_bytes().decode()
        (row,) = csv.DictReader(io.StringIO(text))
        intact = _text([row], list(row)) == text and row.pop(SUM) == text_sha256(json.dumps(row))
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        return None
    return row if intact else None


def write_table(system: System, path: Path, rows: Iterable[dict[str, str] | None], settings: Sequence[str]) -> None:
    """Write the rows of the finished runs, if any: these settings and those in which they differ, last metrics, and more."""
    if found := [row for row in rows if row]:
        known = system.config.settings()
        shown = [*settings, *(name for name in known if name not in settings and len({row[name] for row in found}) > 1)]
        write_atomic(path, _text(found, [*shown, *(name for name in found[0] if name not in known)]))
