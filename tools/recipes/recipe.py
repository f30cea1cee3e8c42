"""Recipes: what each makes, from what, how long it takes; and how one is followed."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd
import torch

from assign_add_lib.engine.files import write_atomic
from assign_add_lib.engine.manifest import data_folder, write_manifest

ROOT = Path(__file__).resolve().parents[2]
Files = Mapping[str, str | bytes]  # contents by path in the checkout
Step = str | Callable[..., Files]  # a command line of the package, or of another script; or what makes contents


@dataclass(frozen=True)
class Recipe:
    """How some files are remade: patterns of their paths in the checkout, the recipes it needs, minutes of one core, steps.

    What it needs below runs/ is trained first, or trained on; what is shipped it takes as it is.  Where `parts` is true its
    function can be asked for some measures or worlds alone.  A recipe that makes no file prints.
    """

    name: str
    makes: Sequence[str]
    needs: Sequence[str]
    minutes: float
    steps: Sequence[Step]
    note: str = ""
    parts: bool = False

    @property
    def training(self) -> bool:
        """Whether it leaves runs, which are not shipped."""
        return bool(self.makes) and all(each.startswith("runs/") for each in self.makes)

    def covers(self, file: str) -> bool:
        """Whether it makes this file, a path in the checkout."""
        return any(fnmatchcase(file, pattern) for pattern in self.makes)


def text_of(table: pd.DataFrame, digits: str | None = "%.4g", index: bool = False) -> str:
    """A table as the text of a CSV file."""
    return table.to_csv(index=index, float_format=digits, lineterminator="\n")


def once(file: Path, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """The table in a file, made unless it is there, so that long work goes on where it stopped."""
    if not file.exists():
        write_atomic(file, text_of(make(), digits=None))
        print(f"kept {file}", flush=True)
    return pd.read_csv(file)


def keep(made: Files) -> None:
    """Write files, each whole or not at all, and sign those below data/."""
    shipped = []
    for file, content in made.items():
        below = file.removeprefix("data/")
        write_atomic(ROOT / file if below == file else data_folder() / below, content)
        shipped += [below] * (below != file)
    if shipped:
        write_manifest(made=shipped)


def run_command(line: str) -> None:
    """Run a command line of the package, or a script of the checkout; `SystemExit` where it fails, which it has told."""
    words = shlex.split(line)
    what = words if words[0].endswith(".py") else ["-m", "assign_add_lib", *words]
    if code := subprocess.run([sys.executable, *what], cwd=ROOT).returncode:
        raise SystemExit(code)


def order(recipe: Recipe, recipes: Mapping[str, Recipe]) -> list[Recipe]:
    """The trainings that a recipe needs, and the recipe."""
    return [recipes[name] for name in recipe.needs if recipes[name].training] + [recipe]


def follow(recipe: Recipe, recipes: Mapping[str, Recipe], parts: Sequence[str] = ()) -> None:
    """Follow a recipe, after the trainings that it needs; with `parts` for these alone, from what is there.

    ValueError where it is made whole.
    """
    if parts and not recipe.parts:
        raise ValueError(f"{recipe.name} is made whole; it takes no parts")
    torch.set_num_threads(1)
    for each in [recipe] if parts else order(recipe, recipes):
        for step in each.steps:
            if isinstance(step, str):
                print(f"{each.name}: {step}", flush=True)
                run_command(step)
            else:
                made = step(*parts)
                keep(made)
                print(*(f"{each.name}: wrote {file}" for file in made), sep="\n", flush=True)
