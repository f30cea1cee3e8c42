"""Chapter 18: what is proved of plain sums in networks that were trained on, with found contexts and without."""

import math
from pathlib import Path

import pandas as pd

from assign_add_lib import Weights
from assign_add_lib.proof.bounds import Tables
from assign_add_lib.proof.certificate import order_of, prove, question_of, sample
from assign_add_lib.proof.contexts import layouts

from .certified import FOLDER, MOST, PAIRS, SHARP_PAIRS, below, in_layout
from .recipe import Files, once, text_of
from .repaired import HARDENED, TRAINED_ON, trained_on


def proved(weights: Weights, size: int, most: int) -> list[dict]:
    """What is proved of so many plain sums, beside at most so many assignments."""
    questions = [question_of(f"{left}+{right}", weights.task) for left, right in sample(weights.task, size)]
    return prove(weights, list(layouts(weights.task, most)), most, questions)


def counted(name: str, repair: str, size: int = PAIRS, most: int = MOST) -> pd.DataFrame:
    """The row of a network that was trained on: how many of the sums are proved beside at most none, one, ..."""
    found = proved(trained_on(name, repair), size, most)
    row = {"run": name, "repair": repair, "sums": len(found)}
    return pd.DataFrame([row | {f"at most {n}": sum(each["most"] >= n for each in found) for n in range(most + 1)}])


def beside_anything(name: str, size: int = SHARP_PAIRS) -> pd.DataFrame:
    """A row for each sum: beside how many assignments it is proved, at most, and by what lead, after found contexts.

    Beside it, what is proved after ordinary steps in the layout of most assignments, whose numbers are not cut.
    """
    found, ordinary = (trained_on(name, each) for each in HARDENED)
    asked, tables = proved(found, size, found.task.slots), Tables(ordinary)
    full = tuple(range(0, 2 * found.task.slots, 2))
    leads = in_layout(tables, full, order_of(tables), 1, [(each["left"], each["right"]) for each in asked])
    rows = [
        {name: each[name] for name in ("left", "right", "most")}
        | {"lead": min(each["bounds"], default=math.nan), "full, ordinary steps": below(lead)}
        for each, lead in zip(asked, leads)
    ]
    return pd.DataFrame(rows)


def hardened(folder: Path = FOLDER) -> Files:
    """Three runs trained on in two ways, beside at most two; and one of them beside anything."""
    parts = [
        once(folder / f"hardened-{name}-{repair.replace(' ', '-')}.csv", lambda name=name, repair=repair: counted(name, repair))
        for repair in HARDENED
        for name in TRAINED_ON
    ]
    far = once(folder / "hardened-42-anything.csv", lambda: beside_anything("seed-42"))
    return {
        "data/proof/hardened.csv": text_of(pd.concat(parts), digits=None),
        "data/proof/hardened-42.csv": text_of(far, digits=None),
    }
