"""Measure every checkpoint of runs into data/history/: `python tools/history.py seed-42 runs/seed-0 runs/seed-1 ...`."""

import argparse
import bz2

import torch

from assign_add_lib.analysis.history import history, history_text
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest
from assign_add_lib.training import load_run, shipped_runs


def same_run(run, shipped):
    """Whether a shipped run's last weights are those of this run, in half precision."""
    ours, theirs = run.weights(shipped.steps[-1]).tensors(), shipped.weights().tensors()
    return all(torch.equal(ours[name].half().float(), theirs[name]) for name in ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", help="names of shipped runs, or folders of finished runs")
    parser.add_argument("--name", help="what to call the history (of one run); by default the run's name")
    arguments = parser.parse_args()
    if arguments.name and len(arguments.runs) > 1:
        parser.error("--name is for one run")
    for folder in arguments.runs:
        run = load_run(folder.rstrip("/"))
        name = arguments.name or run.name
        if run.steps[-1] != run.config.steps:
            parser.error(f"{folder} is not finished: it stands at step {run.steps[-1]} of {run.config.steps}")
        if name in shipped_runs() and not same_run(run, load_run(name)):
            parser.error(f"{folder} is another run than the shipped {name}: its weights differ; choose a --name")
        file = f"history/{name}.csv.bz2"
        write_atomic(data_folder() / file, bz2.compress(history_text(history(run)).encode()))
        write_manifest(made=[file])
        print(f"wrote data/{file}: {len(run.steps)} steps")


if __name__ == "__main__":
    main()
