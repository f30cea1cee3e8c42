"""Chapter 18: beside how many other assignments, and beside which letters, questions with variables are proved."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import torch

from assign_add_lib import Weights, load_run
from assign_add_lib.proof import attack as at
from assign_add_lib.proof.certificate import certify_run, prove, question_of
from assign_add_lib.task import Problem
from assign_add_lib.training import shipped_runs

from .certified import FOLDER, sized, tried, written_out
from .recipe import Files, once, text_of

SEED, DRAWN = 41, 8  # of the questions, and how many are drawn
LOOK_UPS = {"1-var left": (1, 1), "1-var right": (1, 1), "2-var": (1, 0)}  # how many of them are bounded, beside how many others
PARTS = {"upper": "all", "lower": "all", "lowest": "lower"}  # of the other letters, by score, and of what each is a part


def by_letter(weights: Weights, question: Mapping, others: int) -> pd.DataFrame:
    """The least lead beside just so many others, none or one, by trying all: a row for each layout, a column for each letter."""
    task = weights.task
    asked = {task.variable_names.index(name): number for name, number in question["asked"].items()}
    letters = [name for name in task.variable_names if name not in question["asked"]] if others else [""]
    operands, rows = [task.token(question[side]) for side in ("left", "right")], {}
    for starts in sized(task, len(asked) + others):
        leads = tried(weights.to(torch.float64), written_out(task, asked, [starts]), operands, question["answer"])
        rows[starts] = leads.view(-1, len(letters), task.n_numbers**others).amin((0, 2)).tolist()
    return pd.DataFrame([*rows.values()], pd.Index([*rows], tupleize_cols=False), letters)


def sets_of(weights: Weights, questions: at.Questions) -> dict[str, list[str]]:
    """The letters that a question does not ask for, the first scored highest in layer 2: the halves, the last quarter."""
    asked = questions.asked.tolist()[0]
    order = [name for name in at.names_by_score(weights, questions)[0].tolist() if name not in asked]
    half, quarter = len(order) // 2, math.ceil(len(order) / 4)
    parts = {"all": order, "upper": order[:half], "lower": order[-half:], "lowest": order[-quarter:]}
    return {name: [weights.task.variable_names[each] for each in part] for name, part in parts.items()}


def among(weights: Weights, question: Mapping, letters: Sequence[str]) -> tuple[Weights, dict]:
    """The network in a world of these letters alone, which are `a`, `b` and so on there, and a question as it is said there."""
    task = weights.task
    kept = [*range(task.first_variable), *map(task.token, letters)]
    names = dict(zip(letters, task.variable_names))
    sides = {side: names.get(question[side], question[side]) for side in ("left", "right")}
    asked = {names[name]: number for name, number in question["asked"].items()}
    return weights.replace(W_E=weights.W_E[kept]), {**question, **sides, "asked": asked}


def proved(weights: Weights, question: dict, exact: pd.DataFrame, letters: Sequence[str] | None = None) -> float:
    """The least lead that is proved beside others with these letters, all by default, and nan where none is.

    `exact` has all layouts; the one with the least lead is bounded first.
    """
    least = (exact if letters is None else exact[[*letters]]).min(axis=1)
    if not least.min() > 0:
        return math.nan
    if letters is not None:
        weights, question = among(weights, question, [*question["asked"], *letters])
    where = [*least.sort_values(kind="stable").index]
    (found,) = prove(weights, where, len(where[0]) - len(question["asked"]), [question])
    return math.nan if found["failed"] else min(found["bounds"])


def looked_up(name: str, few: Mapping[str, tuple[int, int]] = LOOK_UPS) -> pd.DataFrame:
    """The rows of a run: the first questions of each kind with a variable, of those that are drawn."""
    run, rows = load_run(name), []
    weights = run.weights()
    task = weights.task
    for kind, (size, most) in few.items():
        drawn = at.draw_questions(task, kind, DRAWN, SEED)
        for questions in (drawn.at(torch.tensor([place])) for place in range(size)):
            (variables,), (numbers,) = (each.tolist() for each in questions)
            asked = {task.variable_names[v]: n for v, n in zip(variables, numbers) if v < task.n_variables}
            operands = [task.variable_names[v] if v < task.n_variables else n for v, n in zip(variables, numbers)]
            text = str(Problem(tuple(asked.items()), *operands, task))
            question, row = question_of(text, task), {"run": name, "kind": kind, "question": text}
            row |= {"trained": bool(run.split.train_pairs[*numbers]), "tried": most, "most": -1}
            exact = [by_letter(weights, question, others) for others in (0, 1)]
            leads = [proved(weights, question, exact[others]) if others <= most else math.nan for others in (0, 1)]
            row |= {"most": sum(lead > 0 for lead in leads) - 1, "lead 0": leads[0], "lead 1": leads[1]}
            row |= {"exact one": round(min(each.min(axis=None) for each in exact), 3)}
            letters, known = sets_of(weights, questions), {"all": leads[1]}
            row |= {"letters": " ".join(letters["all"])}
            for part, whole in PARTS.items():  # what is proved of a set is so of its parts
                again = most and not known[whole] > 0
                known[part] = proved(weights, question, exact[1], letters[part]) if again else known[whole]
                row |= {f"lead {part}": known[part], f"exact {part}": round(exact[1][letters[part]].min(axis=None), 3)}
            rows.append(row)
    return pd.DataFrame(rows)


def look_ups(folder: Path = FOLDER) -> Files:
    """Ten runs: beside how many others look-ups are proved, and the least lead beside at most one other, by trying all.

    And the certificate of one run.
    """
    parts = [once(folder / f"look-ups-{name}.csv", lambda name=name: looked_up(name)) for name in shipped_runs()]
    table, file = pd.concat(parts), folder / "look-ups-42.json"
    certify_run("seed-42", file, [*table[table["run"] == "seed-42"]["question"]], 1, progress=False)
    return {"data/proof/lookups.csv": text_of(table, digits=None), "data/proof/look-ups-42.json": file.read_bytes()}
