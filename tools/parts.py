"""Of runs with fewer tasks, how often unseen tasks are right, by whether training showed both of their numbers.

`python tools/parts.py [FOLDER]` writes data/companions/rules-parts.csv.  FOLDER, runs/rules by default, is where the sweep of
CONTRIBUTING left them: their weights are not shipped.
"""

import sys

import pandas as pd
import torch

from assign_add_lib.companions.rules.data import draw_questions
from assign_add_lib.companions.rules.seeds import FEWER, SEEDS
from assign_add_lib.companions.rules.training import SHOTS, RuleConfig, RuleRun
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest

SHIPPED = "companions/rules-parts.csv"
ROWS = 3000


@torch.no_grad()
def main(folder: str = "runs/rules"):
    table = []
    for tasks in (*FEWER, RuleConfig.tasks):
        name = RuleConfig(seed=SEEDS[0], tasks=tasks).name
        run = RuleRun.open(f"{folder}/{name}" if tasks in FEWER else name)
        split, network = run.split, run.network()
        known = torch.stack([torch.isin(split.unseen[:, i], split.seen[:, i]) for i in range(2)], 1).all(1)
        for words, which in (("both known", known), ("not both", ~known)):
            row = {"tasks": tasks, "unseen": words, "rules": int(which.sum()), "right": float("nan")}
            if which.any():
                generator = torch.Generator().manual_seed(0)
                rows = draw_questions(ROWS, SHOTS, split.p, split.unseen[which], split.shown, split.shown, generator)
                row["right"] = (network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]).double().mean().item()
            table.append(row)
    text = pd.DataFrame(table).to_csv(index=False, float_format="%.4f", lineterminator="\n")
    write_atomic(data_folder() / SHIPPED, text)
    write_manifest(made=[SHIPPED])


if __name__ == "__main__":
    main(*sys.argv[1:])
