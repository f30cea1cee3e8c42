"""Chapter 18: what is proved of plain sums in networks that were trained on, with found contexts and without."""

import math
from pathlib import Path

import pandas as pd

from assign_add_lib import Weights
from assign_add_lib.proof.certificate import prove, question_of, sample
from assign_add_lib.proof.contexts import layouts

from .certified import FOLDER, MOST, PAIRS, SHARP_PAIRS
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


def beside_anything(name: str, repair: str, size: int = SHARP_PAIRS) -> pd.DataFrame:
    """A row for each sum: beside how many assignments it is proved, at most, and by what lead."""
    weights = trained_on(name, repair)
    found = proved(weights, size, weights.task.slots)
    leads = [min(each["bounds"], default=math.nan) for each in found]
    rows = [{each: asked[each] for each in ("left", "right", "most")} | {"lead": lead} for asked, lead in zip(found, leads)]
    return pd.DataFrame(rows)


def hardened(folder: Path = FOLDER) -> Files:
    """Three runs trained on in two ways, beside at most two; and one of them beside anything."""
    parts = [
        once(folder / f"hardened-{name}-{repair.replace(' ', '-')}.csv", lambda name=name, repair=repair: counted(name, repair))
        for repair in HARDENED
        for name in TRAINED_ON
    ]
    first = next(iter(HARDENED))
    far = once(folder / "hardened-42-anything.csv", lambda: beside_anything("seed-42", first))
    return {
        "data/proof/hardened.csv": text_of(pd.concat(parts), digits=None),
        "data/proof/hardened-42.csv": text_of(far, digits=None),
    }
