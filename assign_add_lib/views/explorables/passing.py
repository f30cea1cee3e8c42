"""A problem on its way through the network, and the film of how that was learned."""

import json
from collections.abc import Sequence
from string import ascii_lowercase, digits

import torch
from IPython.display import HTML

from ...model import Weights
from ...model import run as forward_pass
from ...task import Problem
from ...training import Run
from .. import figures
from ..explorer import refuse_others
from .element import explorable

FLOW = (
    "An arrow leads from what is read to the token that reads it, or attends to it: the thicker, the more it reads. Blue "
    "brings the left number of the sum, green the right one. Bars are the likeliest answers."
)
LIKELIEST = 5  # answers, of which a pass says how likely they are


def one_pass(weights: Weights, problem: Problem) -> dict:
    """What a network does on a problem, as a page is handed it: attention, the likeliest answers, active neurons.

    `layers` holds for each layer {query: weights (key,)} of each token but PAD, in layer 2 of the last alone; `odds` holds
    (answer, odds); both count in thousandths.  `neurons` has a digit to base 36 for each: its activation, 35 for the largest.
    """
    tokens = problem.tokens()
    with torch.no_grad():
        seen = forward_pass(weights.to(torch.float), tokens[None])
    patterns = [seen[f"blocks.{layer}.attn.hook_pattern"][0, 0].mul(1000).round().int().tolist() for layer in (0, 1)]
    queries = [query for query, token in enumerate(tokens.tolist()) if token != problem.task.pad]
    layers = [{query: patterns[0][query][: query + 1] for query in queries}, {queries[-1]: patterns[1][-1]}]
    odds, answers = seen.logits[0].softmax(0).topk(LIKELIEST)
    active = seen["blocks.1.mlp.hook_post"].flatten()
    levels = (35 * active / active.max().clamp(min=1e-9)).round().int().tolist()
    thousandths = odds.mul(1000).round().int().tolist()
    neurons = "".join((digits + ascii_lowercase)[level] for level in levels)
    return {"layers": layers, "odds": list(zip(answers.tolist(), thousandths)), "neurons": neurons}


def the_flow(
    run: Run,
    problem: Problem | str = "c=1, b=17, a=42, b+19=?",
    caption: str = FLOW,
    steps: bool = False,
) -> HTML:
    """What flows where in a network of the study's task on a problem that the reader may change, with arrows to cut.

    With `steps`, those of the algorithm are numbered.
    """
    refuse_others(run)
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    seen = one_pass(run.weights(), problem)
    names = problem.task.names(problem.tokens())
    still = figures.flow(names, seen["layers"], seen["odds"], steps)
    settings = {"problem": problem, "pass": json.dumps(seen, separators=(",", ":"))} | ({"steps": 1} if steps else {})
    return explorable("the-flow", still, _flow_in_words(names, seen), caption, run, **settings)


def learning_film(
    run: Run,
    problems: Sequence[str] = ("c=1, b=17, a=42, b+19=?", "k=5, c=20, 30+k=?"),
    steps: Sequence[int] = (),
    caption: str = "Move through training: how many answers are right, and who attends to whom on one problem.",
) -> HTML:
    """A film of a run of the study's task: accuracies, and what flows where on problems at kept steps, by default at all."""
    refuse_others(run)
    steps, asked = list(steps or run.steps), [Problem.parse(text) for text in problems]
    curves = {kind: run.metrics[f"{kind} train"] for kind in ("0-var", "1-var", "2-var")}
    data = {
        "steps": steps,
        "measured": run.metrics.index.tolist(),
        "curves": {kind: curve.mul(1000).round().astype(int).tolist() for kind, curve in curves.items()},
        "problems": list(map(str, asked)),
        "frames": [[one_pass(run.weights(step), problem) for step in steps] for problem in asked],
    }
    names = asked[0].task.names(asked[0].tokens())
    frames = {steps[at]: data["frames"][0][at] for at in (len(steps) // 5, len(steps) - 1)}
    still = figures.film(curves, names, {step: (frame["layers"], frame["odds"]) for step, frame in frames.items()})
    says = "; ".join(f"at step {step} the network says {frame['odds'][0][0]}" for step, frame in frames.items())
    alt = f"Accuracies over the steps of training, and arrows of attention on {asked[0]}: {says}."
    return explorable("learning-film", still, alt, caption, data=data)


def _flow_in_words(names: list[str], seen: dict) -> str:
    """Who attends to whom, and what the network says."""
    last, reads = len(names) - 1, []
    numbers = [query for query in seen["layers"][0] if query < names.index("+") and names[query].isdigit()]
    for layer, query in (*((1, number) for number in numbers), (1, last), (2, last)):
        row = seen["layers"][layer - 1][query]
        most = sorted(range(len(row)), key=lambda key: -row[key])[:2]
        read = " and ".join(f"{names[key]} ({row[key] / 1000:.2f})" for key in most)
        reads.append(f"in layer {layer}, {names[query]} to {read}")
    return f"Arrows of attention on {' '.join(names)}: {'; '.join(reads)}. The network says {seen['odds'][0][0]}."
