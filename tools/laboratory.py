"""Gather what decided the predictions of the shipped worlds into data/laboratory.csv: `python tools/laboratory.py [FOLDER]`.

FOLDER, runs/laboratory by default, is where `python -m assign_add_lib world` left runs and pages.  Worlds without a page there
keep the rows that they have.
"""

import sys
from pathlib import Path

import pandas as pd

from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, shipped_file, write_manifest
from assign_add_lib.laboratory.page import keep
from assign_add_lib.laboratory.predictions import SEEDS, Plan, measured, read_plan, shipped_plans
from assign_add_lib.laboratory.training import Untrained

SHIPPED = "laboratory.csv"


def decided(plan: Plan, folder: Path) -> pd.DataFrame:
    """The rule of each prediction (rows), and what it gives on an untrained network and on the run of each seed."""
    if not keep(plan, folder):
        sys.exit(f"the predictions of {plan.name} were changed after training began")
    values = pd.read_csv(folder / f"{plan.name}.csv", index_col="prediction")[list(map(str, SEEDS))].add_prefix("seed-")
    if list(values.index) != [each.name for each in plan.predictions]:
        sys.exit(f"{folder / plan.name}.csv does not hold the predictions of {plan.name}")
    values.insert(0, "untrained", measured(plan, {0: Untrained(plan.world())})[0])
    values.insert(0, "rule", [each.rule for each in plan.predictions])
    return values


def main(folder: str = "runs/laboratory"):
    known = pd.read_csv(shipped_file(SHIPPED), index_col=["world", "prediction"]) if (data_folder() / SHIPPED).is_file() else None
    tables = {}
    for name in shipped_plans():
        if Path(folder, f"{name}.csv").is_file():
            tables[name] = decided(read_plan(name), Path(folder))
        elif known is not None and name in known.index:
            tables[name] = known.loc[name]
        else:
            print(f"left out: {name}; first: python -m assign_add_lib world {name}")
    if not tables:
        sys.exit(f"there are no pages of worlds in {folder}")
    table = pd.concat(tables, names=["world"])
    write_atomic(data_folder() / SHIPPED, table.to_csv(float_format="%.5g", lineterminator="\n"))
    write_manifest(made=[SHIPPED])


if __name__ == "__main__":
    main(*sys.argv[1:])
