"""Measure all claims on the shipped runs and sweeps, and write data/scoreboard.csv: `python tools/scoreboard.py`."""

import torch

from assign_add_lib.claims import CLAIMS, sources
from assign_add_lib.files import write_atomic
from assign_add_lib.runs import data_folder, write_manifest
from assign_add_lib.scoreboard import board, board_text


@torch.no_grad()
def main():
    table = board(CLAIMS, sources())
    write_atomic(data_folder() / "scoreboard.csv", board_text(table))
    write_manifest(remade=["scoreboard.csv"])
    for name, row in table.iterrows():
        print(f"{row['held']:>2} of {row['runs']:<2}  {row['verdict']:<12}  {name}")


if __name__ == "__main__":
    main()
