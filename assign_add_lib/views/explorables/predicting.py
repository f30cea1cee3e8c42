"""Predictions to make: worlds of the laboratory, and where their trained networks fell."""

import pandas as pd
from IPython.display import HTML

from ...engine.manifest import shipped_file
from ...laboratory import SEEDS, read_plan
from .. import figures
from .element import explorable

FIRST = "In what share of such problems does `=` read its number more than all other assigned numbers?"
# (world, prediction): the world in words, what a reader needs to find a reason, and the question; then, once a share is said, our
# reason and the rival in short, and why it came out so; `code` between backticks
PLAYED = {
    ("no-decay", "new pairs without decay"): (
        "No weight decay",
        "In chapter 3 the small adder did not learn new pairs without this pull, as long as we looked. "
        "Here the pull was a thousand times weaker, and we switch it off.",
        "What share of plain sums is right, of pairs that training never adds?",
        "with the pull, new pairs were right by step 1000, when it had shrunk the weights by only 2%.",
        "only the pull makes a network general; without it, a table that knows both orders gets 70%.",
        "All three are far above that table.",
    ),
    ("modulus-29", "a smaller prime needs fewer pairs"): (
        "Modulo 29",
        "Training shows 588 pairs, 20 for each number. Modulo 59, with 661 pairs, 11 for each number, at most 21% of new pairs "
        "were right. Here a table would get 70% of them, if it knows that `3+5` is `5+3`.",
        "What share of plain sums is right, of pairs that training never adds?",
        "a number is put on its clocks by the pairs that it occurs in. Modulo 59, 15 for each number are enough.",
        "the same network needs the same number of pairs, some 870, before it stops remembering them.",
        "All three beat the table. But our level lay half way from there to 100%, and two miss it by less than 2 points.",
    ),
    ("three-operands", "three numbers can be added"): (
        "Three operands",
        "Training shows 70% of all triples, as in `5+8+30=?`. Neurons add two numbers by doubling an angle (chapter 7); for "
        "three, tripling it would do.",
        "What share of plain sums is right, of triples that training never adds?",
        "512 neurons at random phases can triple an angle well enough for 98%.",
        "it takes more layers of neurons, or more than our ten minutes of training.",
        "We had computed that such neurons can do it, and taken for granted that training finds them. More time may help.",
    ),
    ("subtraction", "plain differences are learned"): (
        "Subtraction",
        "Now order matters. But plain numbers stand at fixed places, so each of the two layers could bring one.",
        "What share of plain differences, as `17-19`, is right, of pairs that training never subtracts?",
        "numbers that two layers bring arrive in different directions, so neurons can tell left from right.",
        "the network has one way to combine numbers, and must guess the order: 50%.",
        "All three tell the order, and each layer does bring one number. One misses our round level by half a point.",
    ),
    ("subtraction", "two looked-up numbers lose their order"): (
        "Subtraction, two letters",
        "The same networks get `a-b`. To look up both numbers and guess their order gives about 50%.",
        "What share of these is right, of pairs that training never subtracts?",
        "both numbers come through one layer, so neurons see them mixed, the same for `a-b` and `b-a`.",
        "more of one number than of the other could give the order away.",
        "Only networks with 90% in the question before count. Two do, and three were asked for. But 14% is far from 50%: "
        "were two numbers looked up at all? The next section tells.",
    ),
    ("more-variables", "a stranger is not found"): (
        "Sixteen letters",
        "Two of them, `o` and `p`, training never shows at all. Then we ask for one: `c=1, o=17, a=42, o+19=?`. A blind pick "
        "would go to the 17 in about 41% of the problems, some of which have only one number.",
        FIRST,
        "training writes a match for each letter that it asks for. For `o` it wrote none.",
        "layer 1 moves any letter alike, and `o` matches itself.",
        "We had overlooked that training also lowers the scores of letters that it shows but does not ask for just then. The "
        "number of `o` is, in part, what is left.",
    ),
    ("more-variables", "what is never asked for is not found"): (
        "Sixteen letters, two others",
        "Training assigns `m` and `n` as distractors: it never asks for them. Then we ask for one: `c=1, m=17, a=42, m+19=?`. "
        "A blind pick would again have about 41%.",
        FIRST,
        "there is no match for `m`, and training lowers the score of its number wherever another letter is asked for.",
        "layer 1 moves any letter alike, and `m` matches itself.",
        "Nearly all of the 18% are problems with a single number: there, no other can be read more. But an untrained network "
        "has 43%, so our level asked for little.",
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
    for (world, prediction), (title, given, asked, reason, rival, why) in PLAYED.items():
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
            "reason": reason,
            "rival": rival,
            "why": why,
        })  # fmt: skip
    return found
