"""Measure the arms of chapter 15 on all three seeds, into data/companions/hypernetwork.csv: `python tools/arms.py`."""

import pandas as pd
import torch

from assign_add_lib.companions.hypernetwork.claims import seeds
from assign_add_lib.companions.hypernetwork.tables import MEASURES, SHIPPED
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest


@torch.no_grad()
def main():
    columns = {}
    for name, seed in seeds().items():
        found = {measure: pd.Series(of(seed)) for measure, of in MEASURES.items()}
        columns[name] = pd.concat(found, names=["measure", "row", "column"])
        print(name, flush=True)
    table = pd.DataFrame(columns)
    write_atomic(data_folder() / SHIPPED, table.to_csv(float_format="%.4f", lineterminator="\n"))
    write_manifest(made=[SHIPPED])


if __name__ == "__main__":
    main()
