"""Measure the interventions of chapter 9 on every shipped run, into data/causes.csv: `python tools/causes.py`."""

import pandas as pd

from assign_add_lib.analysis.causal import causes
from assign_add_lib.analysis.controls import controls
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest
from assign_add_lib.training import load_run, shipped_runs


def main():
    columns = {}
    for name in shipped_runs():
        run = load_run(name)
        found = pd.concat([causes(run), controls(run)])
        columns[name] = found.set_index(["experiment", "row", "column"]).value
        print(name, flush=True)
    table = pd.DataFrame(columns).sort_index()
    write_atomic(data_folder() / "causes.csv", table.to_csv(float_format="%.4f", lineterminator="\n"))
    write_manifest(made=["causes.csv"])


if __name__ == "__main__":
    main()
