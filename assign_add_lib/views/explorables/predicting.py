"""Predictions to make: worlds of the laboratory, and where their trained networks fell."""

import pandas as pd
from IPython.display import HTML

from ...engine.manifest import shipped_file
from ...laboratory import SEEDS, read_plan
from .. import figures
from .element import explorable

# what a reader would ask at the answer
WHY = {
    ("more-variables", "what is never asked for is not found"): "Nearly all of the 18% are problems with a single number: there, "
    "no other can be read more.",
}
FIRST = "In what share of such problems does `=` read its number more than all other assigned numbers?"
# (world, prediction): the world in words, what a reader needs to find a reason, and the question; `code` between backticks
PLAYED = {
    ("no-decay", "new pairs without decay"): (
        "No weight decay",
        "In chapter 3 the small adder did not learn new pairs without this pull, as long as we looked. "
        "Here the pull was a thousand times weaker, and we switch it off.",
        "What share of plain sums is right, of pairs that training never adds?",
    ),
    ("modulus-29", "a smaller prime needs fewer pairs"): (
        "Modulo 29",
        "Training shows 588 pairs, 20 for each number. Modulo 59, training on 661 pairs, 11 for each number, did no better than "
        "a table. Here a table that also knows both orders, `3+5` and `5+3`, would get 70%.",
        "What share of plain sums is right, of pairs that training never adds?",
    ),
    ("three-operands", "three numbers can be added"): (
        "Three operands",
        "Training shows 70% of all triples, as in `5+8+30=?`. Neurons add two numbers by doubling an angle (chapter 7); for "
        "three, tripling it would do.",
        "What share of plain sums is right, of triples that training never adds?",
    ),
    ("subtraction", "plain differences are learned"): (
        "Subtraction",
        "Now order matters. But plain numbers stand at fixed places, so each of the two layers could bring one.",
        "What share of plain differences, as `17-19`, is right, of pairs that training never subtracts?",
    ),
    ("subtraction", "two looked-up numbers lose their order"): (
        "Subtraction, two letters",
        "The same networks get `a-b`. To look up both numbers and guess their order gives about 50%.",
        "What share of these is right, of pairs that training never subtracts?",
    ),
    ("more-variables", "a stranger is not found"): (
        "Sixteen letters",
        "Two of them, `o` and `p`, training never shows at all. Then we ask for one: `c=1, o=17, a=42, o+19=?`. A blind pick "
        "would go to the 17 in about 41% of the problems, some of which have only one number.",
        FIRST,
    ),
    ("more-variables", "what is never asked for is not found"): (
        "Sixteen letters, two others",
        "Training assigns `m` and `n` as distractors: it never asks for them. Then we ask for one: `c=1, m=17, a=42, m+19=?`. "
        "A blind pick would again have about 41%.",
        FIRST,
    ),
}


def worlds_fell(
    caption: str = "Say what three trained networks will do in each world; then reveal. How near do you come?",
) -> HTML:
    """Worlds, one after the other: the reader says a share, then sees three networks and what was predicted."""
    worlds = shares_by_world()
    first = worlds[0]
    seeds = ", ".join(f"{share:.0%}" for share in first["seeds"])
    alt = (
        f"A line of shares for the world {first['world']}. {first['asked']} Three trained networks: {seeds}; "
        f"an untrained one: {first['untrained']:.0%}. The prediction, {first['rule']}: {first['verdict']}."
    )
    still = figures.fallen(first["seeds"], first["untrained"], first["level"], first["least"])
    return explorable("worlds-fell", still, alt, caption, data=worlds)


def shares_by_world() -> list[dict]:
    """Each prediction that is played, and what decided it."""
    decided, found = pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"]), []
    for (world, prediction), (title, given, asked) in PLAYED.items():
        plan = read_plan(world)
        values = decided.loc[world, [f"seed-{seed}" for seed in SEEDS]].set_axis(SEEDS, axis=1)
        each = next(each for each in plan.predictions if each.name == prediction)
        least = each.at_most is None
        level = each.at_least if least else each.at_most
        said, many = plan.verdicts(values)[prediction].split(", ")
        found.append({
            "world": title,
            "given": given,
            "asked": asked,
            "statement": each.statement,
            "rule": f"{'at least' if least else 'at most'} {level:.0%} in {each.seeds} of {len(SEEDS)} networks",
            "level": level,
            "least": least,
            "untrained": float(decided.loc[(world, prediction), "untrained"]),
            "seeds": values.loc[prediction].tolist(),
            "verdict": f"{said.replace('not held', 'fell')} (true in {many.replace('seeds', 'networks')})",
            "why": WHY.get((world, prediction), ""),
        })  # fmt: skip
    return found
