"""Looking up to play with: badges that are exchanged, and activations that are carried from problem to problem."""

from collections.abc import Mapping, Sequence

import torch
from IPython.display import HTML

from ...analysis.interventions import Recovery, attend_in_layer_2, output_of, patched, variables_read
from ...model import Weights
from ...model import run as forward_pass
from ...task import Problem
from ...training import Run
from .. import figures
from .element import explorable


def name_badges(
    run: Run,
    problem: Problem | str = "c=1, b=17, a=42, b+19=?",
    caption: str = "Drag a badge onto another number: the two exchange their badges. Which number will be added?",
) -> HTML:
    """The assigned numbers of a problem with the names that layer 1 notes at them, which the reader exchanges or blends."""
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    w, task, tokens = run.weights(), run.task, problem.tokens()[None]
    seen = forward_pass(w, tokens, whole=True)
    places = [place for place in range(task.length) if tokens[0, place] < task.n_numbers]
    read = variables_read(seen.attention(1), tokens, task)[0]  # (pos, V)
    badges = [task.variable_names[read[place].argmax()] if place < task.room else "" for place in places]
    numbers, shares = tokens[0, places].tolist(), seen.attention(2)[0, -1, places].tolist()
    wears = ", ".join(f"{number} wears {badge}" for number, badge in zip(numbers, badges) if badge)
    pays = ", ".join(f"{number} gets {share:.0%}" for number, share in zip(numbers, shares))
    alt = f"The numbers of {problem} as cards: {wears}. Of the attention of =, {pays}. The answer is {seen.answers.item()}."
    asked = [each for each in (problem.left, problem.right) if isinstance(each, str)]
    return explorable("name-badges", figures.badges(numbers, badges, asked, shares), alt, caption, run, problem=problem)


def transplant_bench(
    run: Run,
    problem: str = "c=1, b=17, a=42, b+19=?",
    others: Mapping[str, str] = {
        "another value": "c=1, b=30, a=42, b+19=?",
        "other names": "b=1, c=17, a=42, b+19=?",
        "another letter asked": "c=1, b=17, a=42, c+19=?",
        "another typed number": "c=1, b=17, a=42, b+30=?",
    },
    caption: str = "Choose a socket: A gets what the network holds there on B. What will A answer? Where does the difference go?",
) -> HTML:
    """Activation patching by hand: what a network holds on one of `others`, by name, is put into its pass on `problem`."""
    base, pairs = Problem.parse(problem), {name: Problem.parse(other) for name, other in others.items()}
    name, other = next(iter(pairs.items()))
    places, recovered = carried(run.weights(), base, other)
    names = [[run.task.names(each.tokens())[place] for place in places] for each in (base, other)]
    found = "; ".join(f"{row}, {_most(shares, names[0][-len(shares) :])}" for row, shares in recovered.items())
    alt = f"What {other} leaves in the network is put into {base}, socket by socket. Of the logit difference there come: {found}."
    listed = "; ".join(f"{name}: {other}" for name, other in pairs.items())
    return explorable("transplant-bench", figures.bench(names, recovered), alt, caption, run, problem=base, others=listed)


def _most(shares: Sequence[float], names: Sequence[str]) -> str:
    """The shares that are not nearly zero, in words, each with the name of its place."""
    return ", ".join(f"{share:.0%} at {name}" for share, name in zip(shares, names) if abs(share) > 0.03) or "nothing"


@torch.no_grad()
def carried(weights: Weights, base: Problem, other: Problem) -> tuple[list[int], dict[str, list[float]]]:
    """The positions of `base` without PAD, and by site the recovered logit differences of activation patching from `other`."""
    task, (there, here) = weights.task, (each.tokens()[None] for each in (other, base))
    places = [place for place in range(task.length) if here[0, place] != task.pad]
    sites = {"tokens": "hook_embed", "layer 1's output": output_of(1)}
    last = {"what = holds": "blocks.1.hook_resid_mid", "neurons": "blocks.1.mlp.hook_post"}
    shares = dict(zip([*sites, *last], patched(weights, there, here, [*sites.values(), *last.values()])[0]))
    attention = attend_in_layer_2(forward_pass(weights, there).attention(2)[:, -1])
    rows = {row: shares[row][places].tolist() for row in sites}
    rows["where = attends"] = Recovery(weights, there, here)(attention).tolist()
    return places, rows | {row: [shares[row][task.last].item()] for row in last}
