"""What chapters that build the task and the network play with: one head at work, and which problems are new."""

from collections.abc import Sequence

import torch
from IPython.display import HTML

from ...model import Weights
from ...model import run as forward_pass
from ...sampling import evaluation_sets
from ...task import Problem, Split
from ...training import Run
from .. import figures
from .element import explorable

NEW = ("0-var train", "0-var add-restricted", "2-var add-restricted", "1-var var-restricted", "2-var var-restricted (2)")


def one_head(
    values: Sequence[float] = (1, 17, 42),
    scores: Sequence[float] = (0, 2, 1),
    caption: str = "One query of a head that attends to three numbers. Set their scores: can you bring back 17? And 30? "
    "(In the network a value is a vector.)",
) -> HTML:
    """Three keys whose scores the reader sets: softmax makes weights of them, and what comes back is the average of values."""
    weights = torch.tensor(scores, dtype=torch.double).softmax(0)
    mix = float(weights @ torch.tensor(values, dtype=torch.double))
    parts = ", ".join(f"{value:g} with the score {score:g} gets {w:.0%}" for value, score, w in zip(values, scores, weights))
    alt = f"Bars of attention weights, and a line of numbers: {parts}. What comes back is their average, {mix:.1f}."
    still = figures.head(values, scores, weights.tolist(), mix)
    return explorable("one-head", still, alt, caption, values=values, scores=scores)


def is_it_new(
    run: Run,
    problem: Problem | str = "a=40, b=33, a+b=?",
    caption: str = "Type a problem, or click a pair: could training have contained it? It never adds pairs with filled cells. "
    "Can you find a new one that the network gets wrong?",
) -> HTML:
    """What is new about a problem that the reader types, and what the network says of it; with an example of each way."""
    split, task = run.split, run.task
    problem = Problem.parse(problem, task) if isinstance(problem, str) else problem
    weights = run.weights().to(torch.half).to(torch.float)  # as a page has them
    with torch.no_grad():
        said = forward_pass(weights, problem.tokens()[None]).answers.item()
    names, (x, y) = task.variable_names, problem.values
    sides = {side: "".join(names[v] for v in split.variables(side)) for side in ("left", "right")}
    ways = new_ways(problem, split)
    alt = (
        f"All pairs of numbers as cells; the {int(split.held_out_pairs.sum())} that training never adds are filled, and the pair "
        f"of {problem}, {x} and {y}, is marked. New about it: {', '.join(ways) or 'nothing'}. The network says {said}."
    )
    still = figures.pairs(split.held_out_pairs, x, y)
    given = {"pairs": split.to_dict()["train_pairs"], "examples": "; ".join(map(str, examples(weights, split)))}
    return explorable("is-it-new", still, alt, caption, run, problem=problem, **sides, **given)


@torch.no_grad()
def examples(weights: Weights, split: Split, size: int = 500) -> list[Problem]:
    """Of each way to be new the shortest problem; where most of `size` go wrong, the shortest of those that do."""
    found = {}
    for name, batch in evaluation_sets(split, size=size).items():
        if name in NEW:
            problems = sorted((Problem.from_tokens(each, split.task) for each in batch.tokens), key=lambda each: len(str(each)))
            answers = forward_pass(weights, torch.stack([each.tokens() for each in problems])).answers.tolist()
            wrong = [problem for problem, answer in zip(problems, answers) if answer != problem.answer]
            found[name] = problems[0], wrong
    hardest = max(found, key=lambda name: len(found[name][1]))
    return [(found[name][1] or found[name])[0] if name == hardest else found[name][0] for name in NEW]


def new_ways(problem: Problem, split: Split) -> list[str]:
    """In which ways training cannot have contained a problem, in words."""
    (x, y), found = problem.values, []
    if split.held_out_pairs[x, y]:
        found.append(f"the pair {x} + {y}")
    for side, operand in (("left", problem.left), ("right", problem.right)):
        if isinstance(operand, str) and problem.task.variable_names.index(operand) not in split.variables(side):
            found.append(f"{operand} on the {side}")
    if isinstance(problem.left, str) and problem.left == problem.right:
        found.append(f"{problem.left} twice")
    return found
