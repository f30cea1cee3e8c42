"""Make the tables of chapter 11 in data/history (see `FILES`): `python tools/waits.py`, about 80 minutes of one core."""

import argparse
from pathlib import Path

import pandas as pd
import torch

from assign_add_lib.analysis.history import HistoryProblems, variable_problems
from assign_add_lib.analysis.waits import (
    ASIDE,
    BRANCHES,
    OTHER_STARTS,
    PLACES,
    READ_AT,
    START,
    branched,
    release_row,
    self_reading,
)
from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest
from assign_add_lib.model import Weights
from assign_add_lib.training import StudyLearner, TrainConfig, load_run

FILES = ("history/waits.csv", "history/release.csv", "history/waits-seeds.csv", "history/reading.csv", "history/waits-aside.csv")
STEPS = {*range(600, 8800, 200), *range(8800, 9101, 10), *range(9200, 9700, 100)}  # of release.csv

# how many draws of problems a branch gets, where it is not two
DRAWS = {"unchanged": 3, "read, a quarter": 1, "read, half": 1, "read, three quarters": 1}
DRAWS |= {"own, threefold": 1, "aside, twice as far": 1, "itself, a third": 1, "itself, half": 1, "itself, three quarters": 1}
BRIEF = ("itself, a third", "itself, half", "itself, read kept", "read, itself kept")  # followed for 500 steps only
SEEDS = (42, *range(9))  # of reading.csv


def followed_run(state):
    """Seed 42 up to the last of `STEPS`: its state saved at `START`, its rows of release.csv, a note where it is another run."""
    learner, rows, shipped = StudyLearner(TrainConfig(seed=42)), {}, load_run("seed-42")
    problems = HistoryProblems.draw(learner.split)
    task = learner.config.task
    places = problems.variables.tokens.view(task.n_variables, 2, -1, task.length)
    while learner.step < max(STEPS):
        learner.advance()
        half = {name: tensor.detach().half().float() for name, tensor in learner.tensors.items()}
        if learner.step == START:
            learner.save(state)
        if learner.step in STEPS:
            rows[learner.step] = release_row(Weights(**half), problems.mixture, places)
        if learner.step in shipped.steps and not all(map(torch.equal, half.values(), shipped.tensors(learner.step).values())):
            print(f"note: at step {learner.step} this processor's seed 42 is not the shipped run")
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("step")


def other_seed(folder, seed, start, further=1500):
    """Three branches of another seed, each followed for so many steps more."""
    state, tables = folder / f"state-{seed}.safetensors", []
    if not state.exists():
        learner = StudyLearner(TrainConfig(seed=seed))
        while learner.step < start:
            learner.advance()
        learner.save(state)
    for name in ("itself", "read", "aside"):
        file = folder / f"seed-{seed}-{name}.csv"
        if not file.exists():
            rows = branched(state, BRANCHES[name], end=start + further, seed=seed).assign(branch=name, seed=seed)
            write_atomic(file, rows.to_csv(index=False, lineterminator="\n"))
        tables.append(pd.read_csv(file))
    return pd.concat(tables)


def aside(state, folder, further=500):
    """Changes in four pairs of random directions, each followed for so many steps."""
    tables = []
    for (draw, share), branch in ASIDE.items():
        file = folder / f"aside-{draw}-{share:.0f}.csv"
        if not file.exists():
            rows = branched(state, branch, end=START + further).assign(draw=draw, share=share)
            write_atomic(file, rows.to_csv(index=False, lineterminator="\n"))
        tables.append(pd.read_csv(file))
    return pd.concat(tables)[["draw", "share", "step", *PLACES]]


def read_itself(seed):
    """A row of reading.csv: which variables read themselves in a run, trained anew to its step in `READ_AT`."""
    learner = StudyLearner(TrainConfig(seed=seed))
    while learner.step < READ_AT[seed]:
        learner.advance()
    weights = Weights(**{name: tensor.detach() for name, tensor in learner.tensors.items()})
    task = weights.task
    problems = variable_problems(learner.split).tokens.view(task.n_variables, 2, -1, task.length)
    return {"seed": seed} | self_reading(weights, problems)


def keep(table, file, index):
    """Write a table as a shipped file, and sign it."""
    text = table.to_csv(index=index, float_format="%.4g", lineterminator="\n")
    write_atomic(data_folder() / file, text)
    write_manifest(made=[file])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="runs/waits", help="where each branch is kept as soon as it is trained")
    arguments = parser.parse_args()
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    state, release, tables = folder / "state.safetensors", folder / "release.csv", []
    if not (state.exists() and release.exists()):
        write_atomic(release, followed_run(state).to_csv(lineterminator="\n"))
    for name in BRANCHES:
        for batches in range(DRAWS.get(name, 2)):
            file = folder / f"{name}-{batches}.csv"
            if not file.exists():
                end = START + 500 if name in BRIEF else 10_000
                rows = branched(state, BRANCHES[name], batches, end).assign(branch=name, batches=batches)
                write_atomic(file, rows.to_csv(index=False, lineterminator="\n"))
            tables.append(pd.read_csv(file))
            print(name, batches, len(tables[-1]), flush=True)
    keep(aside(state, folder), FILES[4], index=False)
    others = pd.concat([other_seed(folder, *each) for each in OTHER_STARTS.items()])
    keep(pd.concat(tables)[["branch", "batches", "step", *PLACES]], FILES[0], index=False)
    keep(others[["seed", "branch", "step", *PLACES]], FILES[2], index=False)
    rows = []
    for seed in SEEDS:
        file = folder / f"reading-{seed}.csv"
        if not file.exists():
            write_atomic(file, pd.DataFrame([read_itself(seed)]).to_csv(index=False, lineterminator="\n"))
        rows.append(pd.read_csv(file))
    keep(pd.concat(rows), FILES[3], index=False)
    keep(pd.read_csv(release, index_col="step"), FILES[1], index=True)


if __name__ == "__main__":
    main()
