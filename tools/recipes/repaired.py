"""Chapter 18: what repairs leave broken, and what they cost on the nine evaluation sets."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import torch

from assign_add_lib import Weights, load_run
from assign_add_lib.measures import accuracies
from assign_add_lib.proof import attack as at
from assign_add_lib.proof.harden import harden
from assign_add_lib.proof.repair import REPAIRS, sharpened
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.task import KINDS
from assign_add_lib.training import shipped_runs

from .recipe import ROOT, Files, once, text_of

FOLDER = ROOT / "runs/repaired"
FACTORS, COST = (1, 1.25, 1.5, 1.75, 2, 2.5), 0.02
CHOOSE, MEASURE, SIZE = 39, 40, 32  # seeds of questions, and how many of each kind
TRAINED_ON = ("seed-42", "seed-6", "seed-8")
HARDENED = {"trained on found contexts": 0.25, "trained on": 0.0}  # share of found contexts


def found(weights: Weights, seed: int, size: int, kinds: Sequence[str] = KINDS, **how: int) -> dict[str, torch.Tensor]:
    """The least margins found by one start, by kind."""
    questions = {kind: at.draw_questions(weights.task, kind, size, seed) for kind in kinds}
    return {kind: at.attack(weights, each, starts=1, **how).margins for kind, each in questions.items()}


def chosen_factor(name: str, weights: Weights) -> float:
    """The factor by the rule repair-sharper."""
    sets = evaluation_sets(load_run(name).split, seed=9, size=500)
    before, broken = accuracies(weights, sets), {}
    for factor in FACTORS:
        sharp = sharpened(weights, (1, factor))
        if min(after - before[each] for each, after in accuracies(sharp, sets).items()) >= -COST - 1e-9:
            broken[factor] = sum(int((each < 0).sum()) for each in found(sharp, CHOOSE, 16, sweeps=4).values())
    return min(broken, key=broken.get)


def measured(name: str, repair: str, weights: Weights, factor: float = 1, size: int = SIZE) -> dict:
    """A row of the table."""
    margins = found(weights, MEASURE, size)
    row = {"run": name, "repair": repair, "factor": factor}
    row |= {f"broken {kind}": (each < 0).double().mean().item() for kind, each in margins.items()}
    row |= {f"least {kind}": each.min().item() for kind, each in margins.items()}
    row |= {f"mean {kind}": each.mean().item() for kind, each in margins.items()}
    return row | accuracies(weights, evaluation_sets(load_run(name).split))


@torch.inference_mode()
def repaired(name: str, repair: str) -> pd.DataFrame:
    """The row of a run: as it was trained, or by a repair without training."""
    weights, factor = load_run(name).weights(), 1
    if repair == "sharper":
        factor = chosen_factor(name, weights)
        weights = sharpened(weights, (1, factor))
    elif repair != "as trained":
        weights = REPAIRS[repair](weights)
    return pd.DataFrame([measured(name, repair, weights, factor)])


def trained_on(name: str, repair: str) -> Weights:
    """The weights of a run that was trained on."""
    return harden(name, ROOT / f"runs/hardened/{name}-{repair.replace(' ', '-')}", HARDENED[repair]).weights()


def hardened(name: str, repair: str) -> pd.DataFrame:
    """The row of a run that was trained on."""
    weights = trained_on(name, repair)
    with torch.inference_mode():
        return pd.DataFrame([measured(name, repair, weights)])


def table() -> Files:
    """Ten runs and their repairs without training, three that are trained on."""
    without = ["as trained", "sharper", *(each for each in REPAIRS if "and" not in each)]
    rows = [(repaired, name, each) for name in shipped_runs() for each in without]
    rows += [(hardened, name, each) for name in TRAINED_ON for each in HARDENED]
    parts = [once(FOLDER / f"{name}-{each}.csv", partial(make, name, each)) for make, name, each in rows]
    return {"data/proof/repaired.csv": text_of(pd.concat(parts))}
