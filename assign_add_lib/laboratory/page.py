"""The page of a world: what it predicts, what came out, and the verdict, as Markdown."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ..engine.files import write_atomic
from .analysis import base, problems
from .predictions import Plan, plan_of
from .training import WorldRun
from .world import World


def keep(plan: Plan, folder: Path) -> bool:
    """Keep the plan beside its runs before they begin; whether what is kept there already predicts the same."""
    path = folder / f"{plan.name}.toml"
    if not path.is_file():
        write_atomic(path, plan.text)
    return plan_of(plan.name, path.read_text("utf-8")).predictions == plan.predictions


def words(value: object) -> str:
    """A text of a world's file in one line, in which no tag stands."""
    text = "".join(each if each.isprintable() else " " for each in str(value))
    return " ".join(text.replace("<", "&lt;").split())


def prose(text: str) -> str:
    """A text of a world's file as a paragraph, in which no heading begins."""
    return re.sub(r"^([#>+=~`-])", r"\\\1", words(text))


def cell(value: object) -> str:
    """A value as it stands in a table."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return words(value).replace("|", "\\|")


def table(head: list[str], rows: list[list]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines) + "\n"


def differences(world: World) -> list[list]:
    """The settings in which a world differs from the study's: name, here, there."""
    study = World(name=world.name, seed=world.seed).flat()
    return [[name, value, study[name]] for name, value in world.flat().items() if value != study[name]]


def verdicts(plan: Plan, values: pd.DataFrame, kept: bool) -> dict[str, str]:
    """The verdict on each prediction, from its values (rows) for the seeds (columns); none where it was not kept as it is."""
    if not kept:
        return dict.fromkeys(values.index, "no verdict, for the predictions were changed after training began")
    return plan.verdicts(values)


def page(plan: Plan, runs: Mapping[int, WorldRun], values: pd.DataFrame, untrained: pd.DataFrame, said: Mapping[str, str]) -> str:
    """The page, from what decided each prediction (rows) in the run of each seed and in an untrained network, and verdicts."""
    world, seeds = plan.world(), list(runs)
    rows = [
        [each.name, each.rule, *untrained.loc[each.name], *values.loc[each.name, seeds], said[each.name]]
        for each in plan.predictions
    ]
    parts = [f"# {prose(plan.title)}\n", prose(plan.question) + "\n"]
    if changed := differences(world):
        parts += ["## The world\n", table(["setting", "here", "in the study's world"], changed)]
    first = runs[seeds[0]]
    examples = [problems(first, name) for name in first.metrics if name.endswith("train")]
    parts += [*(f"- `{world.text(tokens[0])}` {answers[0]}" for tokens, answers in examples), ""]
    parts += ["## Predictions and verdicts\n"]
    parts += [table(["prediction", "rule", "untrained", *(f"seed {seed}" for seed in seeds), "verdict"], rows)]
    for each in plan.predictions:
        parts += [f"### {prose(each.name)}\n", prose(each.statement) + "\n", f"**{said[each.name]}.** {prose(each.rule)}.\n"]
        for word in ("because", "rival", "control", "chance"):
            parts += [f"*{word.capitalize()}:* {prose(getattr(each, word))}\n"]
    last = pd.DataFrame({seed: run.metrics.iloc[-1] for seed, run in runs.items()}).drop(index="loss")
    parts += ["## Accuracy\n", f"![Accuracy over training, a panel for each number of variables]({plan.name}.png)\n"]
    heads = ["set", "shortcut", *(f"seed {seed}" for seed in seeds)]
    parts += [table(heads, [[name, base(first, name), *row] for name, row in last.iterrows()])]
    parts += ["## How it was made\n"]
    parts += [f"- seed {seed}: {run.record['seconds'] / 60:.1f} minutes, `{run.record['command']}`" for seed, run in runs.items()]
    return "\n".join(parts) + "\n"
