"""Train on from runs of the laboratory that look nothing up, into data/laboratory-branches.csv: `python tools/branches.py`.

Needs the runs of these worlds, with their states, in runs/laboratory (see CONTRIBUTING.md).  About 70 minutes of one core; each
branch is kept as soon as it is trained.
"""

from pathlib import Path

import joblib
import pandas as pd
import torch

from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.folder import STATE
from assign_add_lib.engine.manifest import data_folder, write_manifest
from assign_add_lib.laboratory.branches import RUNS, SHIPPED, branched
from assign_add_lib.laboratory.training import load_world_run

FOLDER = Path("runs/laboratory")
SHOWN = ["name read", "loss", "0-var train", "0-var add-restricted", "1-var train", "1-var add-restricted", "1-var chain train"]
SHOWN += ["2-var train", "2-var add-restricted"]


def kept(name, branch):
    """The rows of a branch, trained unless they are there."""
    file = FOLDER / "branches" / f"{name}-{branch}.csv"
    if not file.exists():
        torch.set_num_threads(1)
        rows = branched(load_world_run(str(FOLDER / name)), FOLDER / name / STATE, branch)
        write_atomic(file, rows.to_csv(index=False, lineterminator="\n"))
    print(name, branch, flush=True)
    return pd.read_csv(file).assign(run=name, branch=branch)


def main():
    (FOLDER / "branches").mkdir(parents=True, exist_ok=True)
    work = (joblib.delayed(kept)(name, branch) for name, branches in RUNS.items() for branch in branches)
    table = pd.concat(joblib.Parallel(n_jobs=-1)(work)).reindex(columns=["run", "branch", "step", *SHOWN])
    write_atomic(data_folder() / SHIPPED, table.to_csv(index=False, float_format="%.4g", lineterminator="\n"))
    write_manifest(made=[SHIPPED])


if __name__ == "__main__":
    main()
