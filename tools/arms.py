"""Measure the shipped runs of a companion, into data/companions/NAME.csv: `python tools/arms.py NAME [MEASURE ...]`.

With the names of some measures it measures these anew and keeps what the table has of the others.
"""

import sys

import pandas as pd
import torch

from assign_add_lib.companions.hypernetwork import claims
from assign_add_lib.companions.hypernetwork import tables as hypernetwork
from assign_add_lib.companions.reasoning import seeds
from assign_add_lib.companions.reasoning import tables as reasoning
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest

COMPANIONS = {
    "hypernetwork": (hypernetwork, claims.seeds),
    "reasoning": (reasoning, seeds.seeds),
}


@torch.no_grad()
def main(name: str, *chosen: str):
    tables, seeds = COMPANIONS[name]
    columns = {}
    for seed, runs in seeds().items():
        found = {measure: pd.Series(tables.MEASURES[measure](runs)) for measure in chosen or tables.MEASURES}
        columns[seed] = pd.concat(found, names=["measure", "row", "column"])
        print(seed, flush=True)
    table = pd.DataFrame(columns)
    if chosen:
        known = tables.load_table()
        table = pd.concat([known[~known.index.isin(chosen, level="measure")], table])
        table = pd.concat([table.loc[[measure]] for measure in tables.MEASURES])
    write_atomic(data_folder() / tables.SHIPPED, table.to_csv(float_format="%.4f", lineterminator="\n"))
    write_manifest(made=[tables.SHIPPED])


if __name__ == "__main__":
    main(*sys.argv[1:])
