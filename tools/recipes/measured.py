"""What is measured on runs: those that are shipped, or, where it says so, those that were trained below runs/."""

import bz2

import pandas as pd
import torch

from assign_add_lib.analysis.causal import causes
from assign_add_lib.analysis.controls import controls
from assign_add_lib.analysis.history import history, history_text
from assign_add_lib.companions.hypernetwork import claims as hypernetwork_claims
from assign_add_lib.companions.hypernetwork import tables as hypernetwork
from assign_add_lib.companions.reasoning import seeds as reasoning_seeds
from assign_add_lib.companions.reasoning import tables as reasoning
from assign_add_lib.companions.rules import seeds as rules_seeds
from assign_add_lib.companions.rules import tables as rules
from assign_add_lib.companions.rules.data import draw_questions
from assign_add_lib.companions.rules.training import SHOTS, RuleConfig, RuleRun
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.laboratory.page import keep
from assign_add_lib.laboratory.predictions import SEEDS, Plan, measured, read_plan, shipped_plans
from assign_add_lib.laboratory.training import Untrained
from assign_add_lib.training import Run, load_run, shipped_runs

from .recipe import ROOT, Files, text_of

COMPANIONS = {
    "hypernetwork": (hypernetwork, hypernetwork_claims.seeds),
    "reasoning": (reasoning, reasoning_seeds.seeds),
    "rules": (rules, rules_seeds.seeds),
}
WORLDS = ROOT / "runs/laboratory"
ROWS = 3000  # of each kind in `parts`


def causal() -> Files:
    """The interventions of chapter 9 on every shipped run."""
    columns = {}
    for name in shipped_runs():
        found = pd.concat([causes(run := load_run(name)), controls(run)])
        columns[name] = found.set_index(["experiment", "row", "column"]).value
    return {"data/causes.csv": text_of(pd.DataFrame(columns).sort_index(), "%.4f", index=True)}


def history_of(run: Run, name: str) -> Files:
    """What chapter 11 measures at every checkpoint of a trained run.

    ValueError where it is not finished, or `name` is that of a shipped run whose last weights are others.
    """
    if not run.finished:
        raise ValueError(f"{run.folder} is not finished: it stands at step {run.steps[-1]} of {run.config.steps}")
    if name in shipped_runs():
        shipped = load_run(name)
        ours, theirs = run.weights(shipped.steps[-1]).tensors(), shipped.weights().tensors()
        if not all(torch.equal(ours[each].half().float(), theirs[each]) for each in ours):
            raise ValueError(f"{run.folder} is another run than the shipped {name}: its weights differ")
    return {f"data/history/{name}.csv.bz2": bz2.compress(history_text(history(run)).encode())}


def histories() -> Files:
    """The histories of all shipped runs, from the folders in which they were trained."""
    made = {}
    for name in shipped_runs():
        made |= history_of(load_run(ROOT / "runs/study" / name), name)
    return made


def history_again() -> Files:
    """The history of seed 42 as another kind of processor trains it."""
    return history_of(load_run(ROOT / "runs/again/seed-42"), "seed-42-again")


@torch.no_grad()
def companion(name: str, *chosen: str) -> Files:
    """What a chapter of part IV measures on the shipped runs of its system: all measures, or some and the rest as it stands."""
    tables, seeds = COMPANIONS[name]
    if unknown := [each for each in chosen if each not in tables.MEASURES]:
        raise ValueError(f"there is no measure {unknown[0]} of {name}; there are: {', '.join(tables.MEASURES)}")
    columns = {}
    for seed, runs in seeds().items():
        found = {measure: pd.Series(tables.MEASURES[measure](runs)) for measure in chosen or tables.MEASURES}
        columns[seed] = pd.concat(found, names=["measure", "row", "column"])
    table = pd.DataFrame(columns)
    if chosen:
        known = tables.load_table()
        table = pd.concat([known[~known.index.isin(chosen, level="measure")], table])
        table = pd.concat([table.loc[[measure]] for measure in tables.MEASURES])
    return {f"data/{tables.SHIPPED}": text_of(table, "%.4f", index=True)}


@torch.no_grad()
def parts() -> Files:
    """How often unseen tasks of rules from examples are right, by whether training showed both of their numbers.

    For fewer tasks in training as well, on runs whose weights are not shipped.
    """
    table = []
    for tasks in (*rules_seeds.FEWER, RuleConfig.tasks):
        name = RuleConfig(seed=rules_seeds.SEEDS[0], tasks=tasks).name
        run = RuleRun.open(ROOT / "runs/rules" / name if tasks in rules_seeds.FEWER else name)
        split, network = run.split, run.network()
        known = torch.stack([torch.isin(split.unseen[:, i], split.seen[:, i]) for i in range(2)], 1).all(1)
        for words, which in (("both known", known), ("not both", ~known)):
            row = {"tasks": tasks, "unseen": words, "rules": int(which.sum()), "right": float("nan")}
            if which.any():
                generator = torch.Generator().manual_seed(0)
                rows = draw_questions(ROWS, SHOTS, split.p, split.unseen[which], split.shown, split.shown, generator)
                row["right"] = (network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]).double().mean().item()
            table.append(row)
    return {"data/companions/rules-parts.csv": text_of(pd.DataFrame(table), "%.4f")}


def decided(plan: Plan) -> pd.DataFrame:
    """The rule of each prediction of a world (rows), and what it gives on an untrained network and on the run of each seed."""
    if not keep(plan, WORLDS):
        raise ValueError(f"the predictions of {plan.name} were changed after training began")
    page = WORLDS / f"{plan.name}.csv"
    values = pd.read_csv(page, index_col="prediction")[list(map(str, SEEDS))].add_prefix("seed-")
    if list(values.index) != [each.name for each in plan.predictions]:
        raise ValueError(f"{page} does not hold the predictions of {plan.name}")
    values.insert(0, "untrained", measured(plan, {0: Untrained(plan.world())})[0])
    values.insert(0, "rule", [each.rule for each in plan.predictions])
    return values


def laboratory(*chosen: str) -> Files:
    """What decided the predictions of the shipped worlds, or of some and the rest as it stands, from the pages of their runs."""
    table = pd.concat({name: decided(read_plan(name)) for name in chosen or shipped_plans()}, names=["world"])
    if chosen:
        known = pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"])
        table = pd.concat([known[~known.index.isin(chosen, level="world")], table])
        table = pd.concat([table.loc[[name]] for name in shipped_plans() if name in table.index])
    return {"data/laboratory.csv": text_of(table, "%.5g", index=True)}
