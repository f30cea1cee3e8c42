"""Tidy tables: numbers measured in seeds, one a row, under typed columns that say what each is a number of."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from torch import Tensor

Numbers = dict[tuple, float]  # by their entries in the columns of a table


class Table(NamedTuple):
    """A table: its columns, besides `seed` and `value`, and what measures its numbers in one seed."""

    columns: tuple[str, ...]
    measure: Callable[[Any], Numbers]


def labelled(values: Tensor, *labels: Iterable) -> Numbers:
    """The numbers of a tensor by the labels of its dimensions, one list for each; ValueError where they do not fit."""
    return dict(zip(product(*labels), values.flatten().tolist(), strict=True))


def for_each(names: Iterable, measure: Callable[[Any, Any], Numbers]) -> Callable[[Any], Numbers]:
    """What measures `measure(seed, name)` for all names, which are the entries of the first column."""
    return lambda seed: {(name, *rest): value for name in names for rest, value in measure(seed, name).items()}


def measured(table: Table, seeds: Mapping[int, Any]) -> pd.DataFrame:
    """The rows of a table, measured in these seeds."""
    rows = [
        (*entries, seed, float(value)) for seed, subject in seeds.items() for entries, value in table.measure(subject).items()
    ]
    return pd.DataFrame(rows, columns=[*table.columns, "seed", "value"])


def read_table(file: Path) -> pd.DataFrame:
    """The numbers of a table: sorted rows by their entries in its columns, and a column for each seed, `seed-0`."""
    rows = pd.read_csv(file)
    values = rows.set_index([column for column in rows if column != "value"])["value"]
    return values.unstack("seed").add_prefix("seed-").rename_axis(columns=None)
