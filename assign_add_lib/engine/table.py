"""Rows and tables: what a sweep says of each finished run, checked by a sum of its own."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
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
    try:
        text = (folder / ROW).read_bytes().decode()
        (row,) = csv.DictReader(io.StringIO(text))
        intact = _text([row], list(row)) == text and row.pop(SUM) == text_sha256(json.dumps(row))
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        return None
    return row if intact and _settings(config).items() <= row.items() else None


def write_table(system: System, path: Path, rows: Iterable[dict[str, str] | None], settings: Sequence[str]) -> None:
    """Write the rows of the finished runs, if any: these settings and the steps, last metrics, and what the system adds."""
    if found := [row for row in rows if row]:
        results = [name for name in found[0] if name not in system.config.settings()]
        write_atomic(path, _text(found, [*settings, *results]))
