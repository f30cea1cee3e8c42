"""Training that goes on from a step with one change, for chapters 11 and 17; each branch is kept below runs/."""

from pathlib import Path

import joblib
import pandas as pd
import torch
from torch import Tensor

from assign_add_lib.analysis import delays
from assign_add_lib.analysis.history import HistoryProblems, variable_problems
from assign_add_lib.engine.folder import STATE
from assign_add_lib.laboratory import branches as laboratory
from assign_add_lib.laboratory.paths import last_logits
from assign_add_lib.laboratory.training import load_world_run
from assign_add_lib.measures import accuracies, ov2_mlp2_accuracy, qk2_ov1_var_identity
from assign_add_lib.model import Weights
from assign_add_lib.sampling import Population, evaluation_sets, forms
from assign_add_lib.task import STUDY as task
from assign_add_lib.theory import delivery
from assign_add_lib.training import StudyLearner, TrainConfig, load_run

from . import starts
from .recipe import ROOT, Files, once, text_of

FOLDER = ROOT / "runs/waits"
RELEASE_STEPS = {*range(600, 8800, 200), *range(8800, 9101, 10), *range(9200, 9700, 100)}
DRAWS = {"unchanged": 3} | dict.fromkeys(  # how many draws of problems a branch gets, where it is not two
    ("read, a quarter", "read, half", "read, three quarters", "own, threefold", "aside, twice as far")
    + ("itself, a third", "itself, half", "itself, three quarters"),
    1,
)
BRIEF = ("itself, a third", "itself, half", "itself, read kept", "read, itself kept")  # followed for 500 steps only
SEEDS = (42, *range(9))  # of reading.csv
WORLD_COLUMNS = ["name read", "loss", "0-var train", "0-var add-restricted", "1-var train", "1-var add-restricted"]
WORLD_COLUMNS += ["1-var chain train", "2-var train", "2-var add-restricted"]


def trained_to(seed: int, step: int) -> StudyLearner:
    """A learner of the study's network after so many steps."""
    learner = StudyLearner(TrainConfig(seed=seed))
    while learner.step < step:
        learner.advance()
    return learner


def adding_alone(seed: int) -> pd.DataFrame:
    """A run's first 3000 steps if it sees 0-var problems alone, as many a step as there are on average in the mixture."""
    config = TrainConfig(seed=seed, batch_size=146)
    learner, rows = StudyLearner(config), []
    law, sets = learner.population, evaluation_sets(learner.split)
    learner.population = Population(law.task, forms(law.task, None, None), law.pairs)
    while True:
        right = {name: sets[name] for name in ("0-var train", "0-var add-restricted")}
        found = {"ov2_mlp2_accuracy": ov2_mlp2_accuracy(learner.weights)} | accuracies(learner.weights, right)
        rows.append({"seed": seed, "step": learner.step} | found)
        if learner.step >= 3000:
            return pd.DataFrame(rows)
        for _ in range(100):
            learner.advance()


def alone() -> Files:
    """Ten runs that see 0-var problems alone."""
    rows = [once(ROOT / f"runs/alone/seed-{seed}.csv", lambda seed=seed: adding_alone(seed)) for seed in SEEDS]
    return {"data/history/alone.csv": text_of(pd.concat(rows))}


def notes(tokens: Tensor, which: str) -> dict:
    """What `alter` takes to hand over the notes in layer 1: `both`, those of `=` or of numbers alone; else nothing."""
    at = torch.arange(task.length)
    whose = {"=": at == task.last, "numbers": at < task.room, "both": at >= 0}.get(which)
    whole = starts.imposed(tokens)[starts.READ]
    return {} if whose is None else {starts.READ: lambda pattern: torch.where(whose[:, None], whole(pattern), pattern)}


def handed_over(seed: int, start: int = 1000, steps: int = 600) -> pd.DataFrame:
    """A run that goes on from a step on the same batches four times, with other notes handed over."""
    learner, rows = trained_to(seed, start), []
    learner.save(state := ROOT / f"runs/handed-over/state-{seed}.safetensors")
    problems = evaluation_sets(learner.split)["1-var train"]
    tokens, answers = (each[:1000] for each in problems)
    for which in ("both", "=", "numbers", "unchanged"):
        learner.load(state)
        learner.logits = lambda w, tokens, which=which: last_logits(w, tokens, notes(tokens, which))
        while True:
            if learner.step % 100 == 0:
                with torch.no_grad():
                    right = (learner.logits(learner.weights, tokens).argmax(1) == answers).double().mean().item()
                    read = delivery(learner.weights, tokens).mean(0).tolist()
                row = {"seed": seed, "notes": which, "step": learner.step, "match": qk2_ov1_var_identity(learner.weights)}
                rows.append(row | {"right": right} | dict(zip(("= reads the letter", "number reads the letter"), read)))
            if learner.step == start + steps:
                break
            learner.advance()
    return pd.DataFrame(rows)


def handed() -> Files:
    """Ten runs with and without the notes, for the rule notes-handed-over."""
    rows = [once(ROOT / f"runs/handed-over/seed-{seed}.csv", lambda seed=seed: handed_over(seed)) for seed in SEEDS]
    return {"data/history/handed.csv": text_of(pd.concat(rows))}


def state_of(seed: int, step: int) -> Path:
    """The file of a run's whole state at a step, trained unless it is there."""
    file = FOLDER / f"state-{seed}.safetensors"
    if not file.exists():
        trained_to(seed, step).save(file)
    return file


def followed_run() -> pd.DataFrame:
    """The rows of release.csv: seed 42 up to the last of `RELEASE_STEPS`; it says where this is another run than the shipped."""
    learner, rows, shipped = trained_to(42, 0), {}, load_run("seed-42")
    problems, task = HistoryProblems.draw(learner.split), learner.config.task
    places = problems.variables.tokens.view(task.n_variables, 2, -1, task.length)
    while learner.step < max(RELEASE_STEPS):
        learner.advance()
        half = {name: tensor.detach().half().float() for name, tensor in learner.tensors.items()}
        if learner.step in RELEASE_STEPS:
            rows[learner.step] = delays.release_row(Weights(**half), problems.mixture, places)
        if learner.step in shipped.steps and not all(map(torch.equal, half.values(), shipped.tensors(learner.step).values())):
            print(f"note: at step {learner.step} this processor's seed 42 is not the shipped run")
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("step").reset_index()


def release() -> Files:
    """What moves before the late jump of seed 42."""
    return {"data/history/release.csv": text_of(once(FOLDER / "release.csv", followed_run))}


def branch(file: str, name: delays.Branch, seed: int, start: int, end: int, batches: int = 0) -> pd.DataFrame:
    """The rows of a branch of a run from one step to another."""
    return once(FOLDER / file, lambda: delays.branched(state_of(seed, start), name, batches, end, seed))


def of_seed_42() -> Files:
    """What releases k and l in seed 42, with as many draws of problems as `DRAWS` says."""
    tables = []
    for name, change in delays.BRANCHES.items():
        end = delays.START + 500 if name in BRIEF else 10_000
        for batches in range(DRAWS.get(name, 2)):
            rows = branch(f"{name}-{batches}.csv", change, 42, delays.START, end, batches)
            tables.append(rows.assign(branch=name, batches=batches))
    table = pd.concat(tables)[["branch", "batches", "step", *delays.PLACES]]
    return {"data/history/waits.csv": text_of(table)}


def aside() -> Files:
    """Changes in four pairs of random directions, each followed for 500 steps."""
    tables = []
    for (draw, share), change in delays.ASIDE.items():
        rows = branch(f"aside-{draw}-{share:.0f}.csv", change, 42, delays.START, delays.START + 500)
        tables.append(rows.assign(draw=draw, share=share))
    return {"data/history/waits-aside.csv": text_of(pd.concat(tables)[["draw", "share", "step", *delays.PLACES]])}


def of_other_seeds() -> Files:
    """Three branches of four other seeds, each followed for 1500 steps."""
    tables = []
    for seed, start in delays.OTHER_STARTS.items():
        for name in ("itself", "read", "aside"):
            rows = branch(f"seed-{seed}-{name}.csv", delays.BRANCHES[name], seed, start, start + 1500)
            tables.append(rows.assign(branch=name, seed=seed))
    return {"data/history/waits-seeds.csv": text_of(pd.concat(tables)[["seed", "branch", "step", *delays.PLACES]])}


def imposed() -> Files:
    """Five branches of the seeds without self-reading, each followed for 1500 steps."""
    tables = []
    for seed, start in delays.IMPOSED_AT.items():
        for name, change in delays.IMPOSED.items():
            rows = branch(f"imposed-{seed}-{name}.csv", change, seed, start, start + 1500)
            tables.append(rows.assign(branch=name, seed=seed))
    columns = ["seed", "branch", "step", *delays.PLACES, *(f"{name} itself" for name in delays.LATE)]
    return {"data/history/imposed.csv": text_of(pd.concat(tables)[columns])}


def self_reading(seed: int) -> pd.DataFrame:
    """Which variables read themselves in a run, trained anew to its step in `READ_AT`; one row."""
    learner = trained_to(seed, delays.READ_AT[seed])
    weights = Weights(**{name: tensor.detach() for name, tensor in learner.tensors.items()})
    task = weights.task
    problems = variable_problems(learner.split).tokens.view(task.n_variables, 2, -1, task.length)
    return pd.DataFrame([{"seed": seed} | delays.self_reading(weights, problems)])


def of_ten_seeds() -> Files:
    """Which variables read themselves in ten runs."""
    rows = [once(FOLDER / f"reading-{seed}.csv", lambda seed=seed: self_reading(seed)) for seed in SEEDS]
    return {"data/history/reading.csv": text_of(pd.concat(rows))}


def of_world(name: str, which: str) -> pd.DataFrame:
    """The rows of a branch of a run of the laboratory."""
    torch.set_num_threads(1)
    folder = ROOT / "runs/laboratory"
    file = folder / "branches" / f"{name}-{which}.csv"
    rows = once(file, lambda: laboratory.branched(load_world_run(str(folder / name)), folder / name / STATE, which))
    return rows.assign(run=name, branch=which)


def of_worlds() -> Files:
    """Branches of nine runs of the laboratory that look nothing up, as many at a time as there are cores."""
    work = (joblib.delayed(of_world)(name, which) for name, branches in laboratory.RUNS.items() for which in branches)
    table = pd.concat(joblib.Parallel(n_jobs=-1)(work)).reindex(columns=["run", "branch", "step", *WORLD_COLUMNS])
    return {f"data/{laboratory.SHIPPED}": text_of(table)}


def let_go_of(name: str, held: bool) -> pd.DataFrame:
    """The rows of a run of the laboratory whose names are held for a while, or of its control."""
    torch.set_num_threads(1)
    file = ROOT / "runs/laboratory-let-go" / f"{name}-{held}.csv"
    rows = once(file, lambda: laboratory.let_go(load_world_run(name), held))
    return rows.assign(run=name, held=held)


def of_let_go() -> Files:
    """Five networks whose names are held and let go, and the same without a hand."""
    work = (joblib.delayed(let_go_of)(name, held) for held in (True, False) for name in laboratory.LET_GO)
    table = pd.concat(joblib.Parallel(n_jobs=-1)(work))
    first = ["run", "held", "step"]
    columns = first + [each for each in table if each not in first]
    return {f"data/{laboratory.LET_GO_SHIPPED}": text_of(table[columns])}
