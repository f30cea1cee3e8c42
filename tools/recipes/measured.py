"""What is measured on runs: those that are shipped, or, where it says so, those that were trained below runs/."""

import bz2
import math
from dataclasses import dataclass

import pandas as pd
import torch
from torch import nn

from assign_add_lib.analysis.causal import causes
from assign_add_lib.analysis.history import history, history_text
from assign_add_lib.analysis.rivals import controls
from assign_add_lib.companions.hypernetwork import tables as hypernetwork
from assign_add_lib.companions.hypernetwork.data import INPUTS, MODULES, OUTPUTS, SUPPORTS, Support, execute, mix
from assign_add_lib.companions.hypernetwork.model import Bottleneck, Decoder, Hypernetwork
from assign_add_lib.companions.hypernetwork.training import SETS, ArmConfig, ArmLearner, answers, load_arm, r_squared
from assign_add_lib.companions.reasoning import tables as reasoning
from assign_add_lib.companions.rules import tables as rules
from assign_add_lib.companions.rules.analysis import answering, right
from assign_add_lib.companions.rules.data import draw_set
from assign_add_lib.companions.rules.seeds import ROWS
from assign_add_lib.companions.rules.training import SHOTS, RuleConfig, RuleRun, load_rules
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.laboratory.page import keep
from assign_add_lib.laboratory.predictions import SEEDS, Plan, measured, read_plan, shipped_plans
from assign_add_lib.laboratory.training import Untrained
from assign_add_lib.training import Run, load_run, shipped_runs

from .recipe import ROOT, Files, text_of

UNSHIPPED = "numbers_known"  # the table of rules from examples that asks for runs whose weights are not shipped
COMPANIONS = {  # names of the tables, where they lie, and what measures one
    "hypernetwork": (hypernetwork.TABLES, hypernetwork.SHIPPED, hypernetwork.measured),
    "reasoning": (reasoning.TABLES, reasoning.SHIPPED, reasoning.measured),
    "rules": ([name for name in rules.MEASURES if name != UNSHIPPED], rules.SHIPPED, rules.make_table),
}
WORLDS = ROOT / "runs/laboratory"
TUNED = ("arm", "given_code", "support", "seed", "weight_decay", "steps")  # what tells the runs of chapter 15's grid apart
GRID = "companions/hypernetwork-grid.csv"


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
def companion(system: str, *chosen: str) -> Files:
    """What a chapter of part IV measures on the shipped runs of its system: all tables, or some."""
    names, shipped, measure = COMPANIONS[system]
    if unknown := [name for name in chosen if name not in names]:
        raise ValueError(f"there is no table {unknown[0]} of {system}; there are: {', '.join(names)}")
    return {f"data/{shipped.format(name)}": text_of(measure(name), "%.4f") for name in chosen or names}


@torch.no_grad()
def numbers_known() -> Files:
    """How often unseen tasks of rules from examples are right, by whether training showed both of their numbers."""

    def load(name: str) -> RuleRun:
        shipped = RuleRun.open(name)
        return shipped if shipped.steps else RuleRun.open(ROOT / "runs/rules" / name)

    return {f"data/{rules.SHIPPED.format(UNSHIPPED)}": text_of(rules.make_table(UNSHIPPED, load), "%.4f")}


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


def plain_rows() -> Files:
    """How the runs of evidence 16 on rows of any inputs end, and on what they were trained."""
    rows = []
    for file in ROOT.glob("runs/plain-rows*/*/config.json"):
        run = RuleRun.open(file.parent)
        if not run.finished:
            raise ValueError(f"{run.folder} is not finished")
        told = {name: getattr(run.config, name) for name in ("plan", "tasks", "weight_decay", "steps", "seed")}
        rows.append(told | {"machine": run.record["machine"]} | run.metrics.iloc[-1].to_dict())
    table = pd.DataFrame(rows).sort_values(["plan", "tasks", "weight_decay", "steps", "seed"])
    return {"data/companions/plain-rows.csv": text_of(table, "%.6g")}


@torch.no_grad()
def few_examples() -> Files:
    """How often seed 0 with 24, 32 and 40 tasks is right on unseen tasks, by the number of examples; the last is shipped."""
    rows = []
    for tasks in (24, 32, 40):
        config = RuleConfig(tasks=tasks)
        run = load_rules(config.name) if tasks == RuleConfig.tasks else RuleRun.open(ROOT / "runs/rules" / config.name)
        if not run.finished:
            raise ValueError(f"{run.folder} is not finished")
        answer, generator = answering(run.network()), torch.Generator().manual_seed(4_000_000)
        for examples in range(SHOTS):
            asked = draw_set("unseen tasks", run.split, ROWS, examples + 1, generator)
            rows.append({"tasks": tasks, "examples": examples, "right": right(answer, asked).mean().item()})
    return {"data/companions/few-examples.csv": text_of(pd.DataFrame(rows), "%.4f")}


@dataclass(frozen=True)
class WidthConfig(ArmConfig):
    """An executor with the form of the teacher, told the code, and with another number of units."""

    given_code: bool = True
    support: str = "disconnected"
    hidden: int = 32

    def network(self) -> nn.Module:
        """The untrained executor; with 32 units, that of the shipped runs."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return Hypernetwork(self.hidden)


def ended(config: ArmConfig, bridges: Support = ()) -> dict[str, float]:
    """What a run measures at its last step, with pairs beside its support in training; it is trained here."""
    learner = ArmLearner(config)
    learner.support = [*learner.support, *bridges]
    while learner.step < config.steps:
        learner.advance()
    return learner.evaluated()


def widths() -> Files:
    """How executors end that are told the code, trained on two islands, of several widths or with bridges; trained here."""
    rows = []
    for hidden, bridges in ((8, 0), (16, 0), (32, 0), (128, 0), (32, 1), (32, 2)):
        for seed in (0, 1, 2):
            found = ended(WidthConfig(hidden=hidden, seed=seed), [(3, 4), (0, 7)][:bridges])
            rows.append({"hidden": hidden, "bridges": bridges, "seed": seed} | found)
    return {"data/companions/island-widths.csv": text_of(pd.DataFrame(rows), "%.6g")}


class ProductReader(Decoder):
    """The MLP, reading the products of each number of the code with each of the question, and neither of them alone."""

    def __init__(self, hidden: int = 128):
        super().__init__(hidden)
        self.mlp[0] = nn.Linear(MODULES * INPUTS, hidden)

    def forward(self, code: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """Answers (task, questions, OUTPUTS) to a code (task, MODULES)."""
        return self.mlp(torch.einsum("tm,tni->tnmi", code, asked).flatten(2))


class TwoLayers(Hypernetwork):
    """A hypernetwork whose code mixes the matrices of two layers, one after the other."""

    def __init__(self, hidden: int = 32):
        super().__init__(hidden)
        self.second = nn.Parameter(torch.randn(MODULES, hidden, hidden) * (2 / hidden) ** 0.5)
        self.readout = nn.Parameter(torch.randn(OUTPUTS, hidden) * (1 / hidden) ** 0.5)

    def forward(self, code: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """Answers (task, questions, OUTPUTS) to a code (task, MODULES)."""
        return execute(mix(code, self.second), self.readout, (asked @ mix(code, self.modules_).mT).relu())


class FirstOfTwo(Hypernetwork):
    """The same two layers, of which the code mixes only the first."""

    def __init__(self, hidden: int = 32):
        super().__init__(hidden)
        self.second = nn.Parameter(torch.randn(hidden, hidden) * (2 / hidden) ** 0.5)
        self.readout = nn.Parameter(torch.randn(OUTPUTS, hidden) * (1 / hidden) ** 0.5)

    def forward(self, code: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """Answers (task, questions, OUTPUTS) to a code (task, MODULES)."""
        return execute(self.second, self.readout, (asked @ mix(code, self.modules_).mT).relu())


class ByDirection(TwoLayers):
    """The same with both mixed, the second by the code at length one: with the code doubled, the answer doubles."""

    def forward(self, code: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """Answers (task, questions, OUTPUTS) to a code (task, MODULES)."""
        second = mix(code / code.norm(dim=1, keepdim=True), self.second)
        return execute(second, self.readout, (asked @ mix(code, self.modules_).mT).relu())


TOLD = {
    "MLP of products": ProductReader,
    "two mixed layers": TwoLayers,
    "two layers, first mixed": FirstOfTwo,
    "two mixed layers, second by direction": ByDirection,
}


@dataclass(frozen=True)
class ToldConfig(ArmConfig):
    """Another executor that is told the code, trained as those of chapter 15 are."""

    given_code: bool = True
    executor: str = "MLP of products"

    def network(self) -> nn.Module:
        """The untrained executor."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return TOLD[self.executor]()


def told() -> Files:
    """How other executors end that are told the code; they are trained here."""
    rows = []
    for executor in TOLD:
        for seed in (0, 1, 2):
            rows.append({"executor": executor, "seed": seed} | ended(ToldConfig(executor=executor, seed=seed)))
    return {"data/companions/told-executors.csv": text_of(pd.DataFrame(rows), "%.6g")}


class ManyModules(Hypernetwork):
    """The hypernetwork's executor with other than eight modules, to start with mixtures of the same size."""

    def __init__(self, modules: int):
        super().__init__()
        hidden = len(self.modules_[0])
        self.modules_ = nn.Parameter(
            torch.randn(modules, hidden, INPUTS) * (3 / INPUTS * MODULES / hidden * MODULES / modules) ** 0.5
        )


@dataclass(frozen=True)
class ManyConfig(ArmConfig):
    """The hypernetwork with forty modules and a code of forty numbers, where no module is shared."""

    structured: bool = False
    modules: int = 40

    def network(self) -> nn.Module:
        """The untrained network."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = Bottleneck(ManyModules(self.modules), self.d_model, self.layers, self.heads)
            network.to_code = nn.Linear(self.d_model, self.modules)
            return network


def forty(until: int = 4000) -> Files:
    """How the first half of the training of a hypernetwork with forty modules goes, seed 0; it is trained here."""
    learner, rows = ArmLearner(ManyConfig()), []
    while learner.step <= until:
        if learner.step % learner.config.log_every == 0:
            rows.append({"step": learner.step} | learner.evaluated())
        learner.advance()
    return {"data/companions/forty-modules-0.csv": text_of(pd.DataFrame(rows), "%.6g")}


def tuned() -> Files:
    """How the runs of chapter 15's grid end, and those with the settings that it chose; those not below runs/ as they stand.

    `choosing` is the mean R^2 on 2000 tasks of the pairs of the connected support that its smaller one lacks.
    """
    pairs = [pair for pair in SUPPORTS["connected"] if pair not in SUPPORTS["connected-12"]]
    rows = []
    for file in sorted(ROOT.glob("runs/hypernetwork-grid-*/*/config.json")):
        run = load_arm(file.parent)
        if not run.finished:
            raise ValueError(f"{run.folder} is not finished")
        config, left_out = run.config, set(pairs).isdisjoint(SUPPORTS[run.config.support])
        tasks = run.teacher.sample(pairs, 2000, torch.Generator().manual_seed(4_000_000 + config.seed), queries=32)
        with torch.no_grad():
            choosing = r_squared(answers(run.network(), tasks, config.given_code), tasks.queries[1]).mean().item()
        ends = run.metrics.iloc[-1][list(SETS)].to_dict() | {"choosing": choosing if left_out else math.nan}
        rows.append({name: getattr(config, name) for name in TUNED} | ends)
    known = pd.read_csv(shipped_file(GRID))
    table = pd.concat([pd.DataFrame(rows, columns=known.columns), known]).drop_duplicates(list(TUNED))
    return {f"data/{GRID}": text_of(table.sort_values(list(TUNED)), "%.6g")}
