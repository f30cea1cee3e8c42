"""For all problems, by hand: the reader looks for a context in which a trained network is wrong."""

from collections.abc import Sequence

import pandas as pd
import torch
from IPython.display import HTML
from torch import Tensor

from ...engine.manifest import shipped_file
from ...model import Weights
from ...proof.attack import Questions, draw_contexts, margin_of, tokens_of
from ...task import Problem
from ...training import Run
from .. import figures
from ..explorer import refuse_others
from .element import explorable


def break_it(
    runs: Sequence[Run],
    problem: Problem | str = "c=1, b=17, a=42, b+19=?",
    caption: str = "Keep the sum, and put what you like beside it: can you bring the margin below zero? The margin is the right "
    "answer's logit less the best other; below zero, the network is wrong.",
) -> HTML:
    """A problem that the reader changes until one of some runs of the study's task is wrong; what was found is kept.

    The still picture is of the first run, and of a question of the same kind.
    """
    refuse_others(*runs)
    run, *others = runs
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    question, drawn, found = broken_question(run, problem)
    alt = (
        f"Margins of {question} on {run.name.replace('-', ' ')}: in {len(drawn)} random contexts they go from "
        f"{drawn.min():.1f} to {drawn.max():.1f}, all above zero, so all are right. "
        f"A search found a context where the margin is {found:.1f}."
    )
    still = figures.context_margins(drawn, found, question)
    return explorable("break-it", still, alt, caption, run, also=others, runs=[each.name for each in runs], problem=problem)


def broken_question(run: Run, problem: Problem) -> tuple[str, Tensor, float]:
    """A question that is right in all random contexts and that the shipped search broke: this one, or of its kind the worst.

    In words, with the margins (contexts,) of random contexts, and that of the one found.  ValueError where there is none.
    """
    table, weights = pd.read_csv(shipped_file("proof/found.csv.bz2")), run.weights().to(torch.double)
    broken = table[(table["run"] == run.name) & (table["kind"] == problem.kind) & (table["margin"] < 0)]
    tokens = [torch.tensor([*map(int, row.split())]) for row in broken["tokens"]]
    rows = [(Problem.from_tokens(each, run.task), margin) for each, margin in zip(tokens, broken["margin"])]

    def asks(each: Problem) -> tuple:
        return each.left, each.right, each.values

    for found, margin in sorted(rows, key=lambda row: (asks(row[0]) != asks(problem), row[1])):
        drawn = random_margins(weights, found)
        if drawn.min() > 0:
            asked = (each for each in found.assignments if each[0] in (found.left, found.right))
            where = " and ".join(f"{letter} = {number}" for letter, number in asked)
            return f"{found.left} + {found.right}{' with ' * bool(where)}{where}", drawn, margin
    raise ValueError(
        f"on {run.name}, the search broke no question of the kind {problem.kind} that is right in all random contexts"
    )


@torch.no_grad()
def random_margins(weights: Weights, problem: Problem, many: int = 1000) -> Tensor:
    """The margins (many,) of the question of a problem in random contexts, from a seed."""
    task, operands = weights.task, (problem.left, problem.right)
    asked = [task.variable_names.index(each) if isinstance(each, str) else task.n_variables for each in operands]
    questions = Questions(*(torch.tensor([each]).expand(many, -1) for each in (asked, problem.values)))
    contexts = draw_contexts(task, questions, torch.Generator().manual_seed(0))
    return margin_of(weights, tokens_of(task, contexts, questions), torch.full((many,), problem.answer))
