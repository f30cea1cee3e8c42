"""Predictions to make: worlds of the laboratory, and where their trained networks fell."""

from collections.abc import Iterable

import pandas as pd
from IPython.display import HTML

from ...engine.manifest import shipped_file
from ...laboratory import SEEDS, read_plan, shipped_plans
from .. import figures
from .element import explorable

MEASURE = "right"  # of the predictions that are played: a share of problems
# sets of problems in words
ASKED = {"0-var": "without a variable", "1-var": "with one variable", "2-var": "with two variables"}
SHOWN = {"train": "drawn as in training", "add-restricted": "on numbers that training never combines"}


def worlds_fell(
    names: Iterable[str] = (),
    caption: str = "Say what share of new problems three trained networks will get right in each world; then reveal. "
    "How near do you come?",
) -> HTML:
    """The named worlds or all, one after the other: the reader says a share, then sees three networks and what was predicted."""
    worlds = shares_by_world(names)
    first = worlds[0]
    seeds = ", ".join(f"{share:.0%}" for share in first["seeds"])
    alt = (
        f"A line of shares for the world {first['world']}, of {first['kind']} that are right: three trained networks at {seeds}, "
        f"an untrained one at {first['untrained']:.0%}. The prediction, {first['rule']}: {first['verdict']}."
    )
    still = figures.fallen(first["seeds"], first["untrained"], first["level"], first["least"])
    return explorable("worlds-fell", still, alt, caption, data=worlds)


def shares_by_world(names: Iterable[str] = ()) -> list[dict]:
    """Each prediction about a share of right answers, of the named worlds or all but the study's, and what decided it."""
    decided, found = pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"]), []
    for plan in map(read_plan, tuple(names) or shipped_plans()):
        values = decided.loc[plan.name, [f"seed-{seed}" for seed in SEEDS]].set_axis(SEEDS, axis=1)
        verdicts = plan.verdicts(values)
        for each in plan.predictions if plan.settings else ():
            if each.measure == MEASURE:
                asked, shown = each.of.split()
                least = each.at_most is None
                level = each.at_least if least else each.at_most
                found.append({
                    "world": plan.title,
                    "question": plan.question,
                    "kind": f"problems {ASKED[asked]}, {SHOWN[shown]},",
                    "statement": each.statement,
                    "rule": f"{'at least' if least else 'at most'} {level:.0%} in {each.seeds} of {len(SEEDS)} seeds",
                    "level": level,
                    "least": least,
                    "untrained": float(decided.loc[(plan.name, each.name), "untrained"]),
                    "seeds": values.loc[each.name].tolist(),
                    "verdict": verdicts[each.name],
                })  # fmt: skip
    return found
