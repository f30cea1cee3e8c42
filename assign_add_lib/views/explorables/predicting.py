"""Predictions to make: worlds of the laboratory, and where their trained networks fell."""

import pandas as pd
from IPython.display import HTML

from ...engine.manifest import shipped_file
from ...laboratory import SEEDS, read_plan, shipped_plans
from .. import figures
from .element import explorable

MEASURE = "right"  # of the predictions that are played: a share of problems


def worlds_fell(
    caption: str = "Say what share of new problems three trained networks will get right in each world; then reveal. "
    "How near do you come?",
) -> HTML:
    """The laboratory's worlds one after the other: the reader says a share, then sees three networks and what was predicted."""
    worlds = shares_by_world()
    first = worlds[0]
    seeds = ", ".join(f"{share:.0%}" for share in first["seeds"])
    alt = (
        f"A line of shares for the world {first['world']}, problems {first['kind']}: three trained networks at {seeds}, an "
        f"untrained one at {first['untrained']:.0%}. The prediction, {first['rule']}: {first['verdict']}."
    )
    still = figures.fallen(first["seeds"], first["untrained"], first["level"], first["least"])
    return explorable("worlds-fell", still, alt, caption, data=worlds)


def shares_by_world() -> list[dict]:
    """Each prediction about a share of right answers, of worlds that differ from the study's, and what decided it."""
    decided, found = pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"]), []
    for plan in map(read_plan, shipped_plans()):
        values = decided.loc[plan.name, [f"seed-{seed}" for seed in SEEDS]].set_axis(SEEDS, axis=1)
        verdicts = plan.verdicts(values)
        for each in plan.predictions if plan.settings else ():
            if each.measure == MEASURE:
                found.append({
                    "world": plan.title,
                    "differs": ", ".join(f"{setting} {value}" for setting, value in plan.settings.items()),
                    "kind": each.of,
                    "statement": each.statement,
                    "rule": each.rule.partition(", only if")[0].removeprefix(f"{MEASURE} of "),
                    "level": each.at_least if each.at_most is None else each.at_most,
                    "least": each.at_most is None,
                    "untrained": float(decided.loc[(plan.name, each.name), "untrained"]),
                    "seeds": values.loc[each.name].tolist(),
                    "verdict": verdicts[each.name],
                })  # fmt: skip
    return found
