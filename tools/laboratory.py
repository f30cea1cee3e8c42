"""Gather what decided the predictions of the shipped worlds into data/laboratory.csv: `python tools/laboratory.py [FOLDER]`.

FOLDER, runs/laboratory by default, is where `python -m assign_add_lib world` left runs and pages.
"""

import sys
from pathlib import Path

import pandas as pd

from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest
from assign_add_lib.laboratory.page import keep
from assign_add_lib.laboratory.predictions import SEEDS, read_plan, shipped_plans

SHIPPED = "laboratory.csv"


def main(folder: str = "runs/laboratory"):
    tables = {}
    for name in shipped_plans():
        plan, path = read_plan(name), Path(folder) / f"{name}.csv"
        if not path.is_file():
            sys.exit(f"there is no file {path}; first: python -m assign_add_lib world {name}")
        if not keep(plan, Path(folder)):
            sys.exit(f"the predictions of {name} were changed after training began")
        tables[name] = pd.read_csv(path, index_col="prediction")[list(map(str, SEEDS))].add_prefix("seed-")
        if list(tables[name].index) != [each.name for each in plan.predictions]:
            sys.exit(f"{path} does not hold the predictions of {name}")
    table = pd.concat(tables, names=["world"])
    write_atomic(data_folder() / SHIPPED, table.to_csv(float_format="%.5g", lineterminator="\n"))
    write_manifest(made=[SHIPPED])


if __name__ == "__main__":
    main(*sys.argv[1:])
