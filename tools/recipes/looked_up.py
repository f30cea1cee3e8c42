"""Chapter 18: beside how many other assignments questions with variables are proved."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
import torch

from assign_add_lib import load_run
from assign_add_lib.proof import attack as at
from assign_add_lib.proof.bounds import Question, Tables, margins, neurons
from assign_add_lib.proof.certificate import Pair, order_of
from assign_add_lib.proof.checker import BOXES, boxes
from assign_add_lib.proof.contexts import Layout
from assign_add_lib.training import shipped_runs

from .certified import FOLDER, below, sized, tried, written_out
from .recipe import Files, once, text_of

SEED, DRAWN = 41, 8  # of the questions, and how many are drawn
LOOK_UPS = {"1-var left": (1, 1), "1-var right": (1, 1), "2-var": (1, 0)}  # how many of them are bounded, beside how many others


def proved(tables: Tables, operands: Pair, answer: int, asked: Mapping[int, int], where: Iterable[Layout]) -> float:
    """The least lead in layouts over all boxes of a look-up, up to the first layout in which it is not above 0.

    Where a layout is not proved, its numbers are cut as those of a certificate are.
    """
    task, order, least = tables.task, order_of(tables), math.inf
    for starts in where:
        cut, lead, others = 1, -math.inf, len(starts) - len(asked)
        while not lead > 0 and cut**others <= BOXES and (others or cut == 1):
            lead = math.inf
            for box in boxes(task, starts, order, cut, asked):
                lead = min(lead, margins(Question.of(tables, box, *operands), answer, neurons(tables, box)).min())
                if not lead > 0:
                    break
            cut *= 2
        if not (least := min(least, lead)) > 0:
            break
    return least


def looked_up(name: str, few: Mapping[str, tuple[int, int]] = LOOK_UPS) -> pd.DataFrame:
    """The rows of a run: the first questions of each kind with a variable, of those that are drawn."""
    run, rows = load_run(name), []
    weights = run.weights()
    task, tables, double = weights.task, Tables(weights), weights.to(torch.float64)
    for kind, (size, most) in few.items():
        questions = at.draw_questions(task, kind, DRAWN, SEED)
        for variables, numbers in zip(questions.asked[:size].tolist(), questions.numbers[:size].tolist()):
            asked = {variable: number for variable, number in zip(variables, numbers) if variable < task.n_variables}
            operands = at.spelled(task, torch.tensor(variables), torch.tensor(numbers)).tolist()
            answer = sum(numbers) % task.n_numbers
            given = [f"{task.variable_names[variable]}={number}" for variable, number in asked.items()]
            row = {"run": name, "kind": kind, "question": ", ".join([*given, "+".join(map(task.token_name, operands)) + "=?"])}
            row |= {"trained": bool(run.split.train_pairs[*numbers]), "tried": most, "most": -1}
            row |= {"lead 0": math.nan, "lead 1": math.nan}
            exact = [
                {starts: tried(double, written_out(task, asked, [starts]), operands, answer).min().item() for starts in where}
                for where in (sized(task, len(asked)), sized(task, len(asked) + 1))
            ]
            row |= {"exact one": round(min(min(each.values()) for each in exact), 3)}
            for others, found in enumerate(exact[: most + 1]):
                worst_first = sorted(found, key=found.get)
                lead = below(proved(tables, operands, answer, asked, worst_first)) if min(found.values()) > 0 else -math.inf
                row |= {"most": others, f"lead {others}": lead} if lead > 0 else {}
                if not lead > 0:
                    break
            rows.append(row)
    return pd.DataFrame(rows)


def look_ups(folder: Path = FOLDER) -> Files:
    """Ten runs: beside how many others look-ups are proved, and the least lead beside at most one other, by trying all."""
    parts = [once(folder / f"look-ups-{name}.csv", lambda name=name: looked_up(name)) for name in shipped_runs()]
    return {"data/proof/lookups.csv": text_of(pd.concat(parts), digits=None)}
