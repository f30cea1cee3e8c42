"""Measure the shipped runs of chapter 16, into data/companions/rules-tables: `python tools/rules.py [NAME ...]`.

Without a name it makes all tables but `numbers_known`.  This one asks for runs whose weights are not shipped: they are looked
for in runs/rules, where the sweep of CONTRIBUTING leaves them.
"""

import sys

import torch

from assign_add_lib.companions.rules.tables import MEASURES, SHIPPED, make_table
from assign_add_lib.companions.rules.training import RuleRun
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest


def load(name: str) -> RuleRun:
    """The shipped run of this name, or the trained one where no weights are shipped."""
    shipped = RuleRun.open(name)
    return shipped if shipped.steps else RuleRun.open(f"runs/rules/{name}")


@torch.no_grad()
def main(*names: str):
    for name in names or [each for each in MEASURES if each != "numbers_known"]:
        path = SHIPPED.format(name)
        text = make_table(name, load).to_csv(index=False, float_format="%.4f", lineterminator="\n")
        write_atomic(data_folder() / path, text)
        write_manifest(made=[path])
        print(path, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
