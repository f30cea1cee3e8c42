"""Certificates: for which questions a network is proved right whatever stands beside them, in a file that can be checked."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import joblib
import torch

from ..engine.files import check_writable, read_json, remove_unfinished, write_atomic
from ..engine.lock import lock_file
from ..engine.progress import progress_bar
from ..engine.sweep import here
from ..model import Weights
from ..task import Problem, Task
from .bounds import Tables
from .checker import BOXES, FORM, GRAIN, PART, check, check_question, claimed, fingerprint, least_leads, parted, said
from .contexts import Layout, layouts
from .harden import opened
from .repair import sharpened

Pair = tuple[int, int]


def sample(task: Task, size: int, seed: int = 0) -> list[Pair]:
    """So many different pairs of numbers; a larger sample of a seed begins with a smaller one.  ValueError for too many."""
    if not 1 <= size <= task.n_numbers**2:
        raise ValueError(f"pairs must be at least 1 and at most {task.n_numbers**2}, not {size}")
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed must be from 0 to {2**63 - 1}, not {seed}")
    order = torch.randperm(task.n_numbers**2, generator=torch.Generator().manual_seed(seed))
    return [divmod(each, task.n_numbers) for each in order[:size].tolist()]


def question_of(text: str, task: Task) -> dict:
    """A question as a certificate holds it, of a text such as `10+23=?` or `k=0, k+42=?`; ValueError where it is none."""
    problem = Problem.parse(text, task)
    asked = {name: number for name, number in problem.assignments if name in (problem.left, problem.right)}
    if beside := ", ".join(name for name, _ in problem.assignments if name not in asked):
        raise ValueError(f"a question assigns only what it asks for, as anything may stand beside it; leave out {beside}")
    return {"left": problem.left, "right": problem.right, "asked": asked, "answer": problem.answer}


def prove(weights: Weights, where: Sequence[Layout], most: int, questions: Sequence[dict], *_) -> list[dict]:
    """What a certificate says of questions, each searched up to the first layout in which it is not proved.

    Layouts with more than `most` assignments beside those asked for are left out.  Where a box is too large, the numbers of each
    of these are cut into twice as many parts, as long as there are at most `checker.BOXES` boxes.
    """
    task, tables = weights.task, Tables(weights)
    order = order_of(tables)
    found = [question | {"bounds": [], "nearest": [], "cut": [], "failed": None} for question in questions]
    for these in parted(found):
        for starts in where:
            others = len(starts) - len(these[0]["asked"])
            open_, cut = [question for question in these if not question["failed"]] if 0 <= others <= most else [], 1
            while open_:
                too_large = []
                for question, leads in zip(open_, least_leads(tables, starts, order, cut, open_)):
                    bound, nearest = written(leads.min()), int(leads.argmin())
                    if bound is not None and bound > 0:
                        for name, value in (("bounds", bound), ("nearest", nearest), ("cut", cut)):
                            question[name].append(value)
                    else:
                        too_large.append((question, {"layout": list(starts), "cut": cut, "bound": bound, "nearest": nearest}))
                cut *= 2
                if not others or cut**others > BOXES or cut > task.n_numbers:
                    for question, failed in too_large:
                        question["failed"] = failed
                    break
                open_ = [question for question, _ in too_large]
    for question in found:
        failed = question["failed"]
        question["most"] = most if failed is None else len(failed["layout"]) - len(question["asked"]) - 1
        kept = len(claimed(where, question))
        question |= {name: question[name][:kept] for name in ("bounds", "nearest", "cut")}
    return found


def order_of(tables: Tables) -> list[int]:
    """All numbers by how much operands read them in layer 1: numbers that are read alike are bounded closer together."""
    task = tables.task
    numbers = slice(task.n_numbers)
    return tables.weight.mid[task.left, numbers, 1 : task.room, numbers].mean((0, 1)).argsort(kind="stable").tolist()


def written(bound: float) -> float | None:
    """A bound as a certificate has it: in whole grains, a little below; None where there is next to none."""
    return round(math.floor(bound / GRAIN - 1e-3) * GRAIN, 3) if bound > -1e9 else None


def certify_run(
    name: str | Path,
    file: str | Path,
    questions: Sequence[str] | int | None = None,
    most: int = 2,
    sharpen: Sequence[float] = (1.0, 1.0),
    seed: int = 0,
    step: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> list[dict]:
    """Prove that a run is right on questions in all contexts of at most `most` assignments beside those asked for.

    Questions are texts such as `10+23=?` and `k=0, k+42=?`, or so many plain sums drawn at random (16).  What is found is
    written into a file after every part: a certificate, which `checker.check` reads.  What it holds of the same weights is not
    searched again.  Returns what it says of these questions.  ValueError for bad settings, and where the file holds anything
    else; OSError where it cannot be written.
    """
    run, file = opened(name), Path(file)
    weights = sharpened(run.weights(step), sharpen)
    task = weights.task
    questions = min(16, task.n_numbers**2) if questions is None else questions
    if isinstance(questions, int):
        questions = [f"{left}+{right}" for left, right in sample(task, questions, seed)]
    wanted = {said(question): question for question in (question_of(text, task) for text in questions)}
    asked = max(len(question["asked"]) for question in wanted.values()) if wanted else 0
    if not 0 <= most <= task.slots - asked:
        raise ValueError(f"most must be at least 0 and at most {task.slots - asked}, not {most}")
    if file.is_dir():
        raise ValueError(f"{file} is a folder; a certificate goes into a file")
    order = order_of(Tables(weights))
    where = list(layouts(task, most + asked))
    head = {"form": FORM, "run": run.name, "step": run.steps[-1] if step is None else step, "sharpen": [*map(float, sharpen)]}
    head |= {"weights": fingerprint(weights), "task": asdict(task), "layouts": [list(starts) for starts in where], "order": order}
    with lock_file(file):
        check_writable(file.parent)
        remove_unfinished(file.parent, file.name)
        found = {said(question): question for question in _earlier(file, head, task, where)}
        missing = [question for text, question in wanted.items() if not _searched(found.get(text), most)]
        with progress_bar("certify", len(wanted), len(wanted) - len(missing), progress) as bar:
            for part in _spread(partial(prove, weights, where, most), missing, jobs):
                found |= {said(question): question for question in part}
                write_atomic(file, _text(head, sorted(found.values(), key=partial(_place, task))))
                bar.update(len(part))
                bar.set_postfix(proved=sum(question["most"] >= most for question in found.values()))
    return [found[text] for text in wanted]


def _searched(question: dict | None, most: int) -> bool:
    """Whether an earlier search went as far."""
    return question is not None and (question.get("failed") is not None or question["most"] >= most)


def _place(task: Task, question: dict) -> tuple[int, ...]:
    """What questions are sorted by in a file."""
    return len(question["asked"]), *(task.token(question[side]) for side in ("left", "right")), *question["asked"].values()


def check_run(name: str | Path, file: str | Path, jobs: int | None = None, progress: bool = True) -> str:
    """Check a certificate of a run by `checker.check`, with several processes; returns and raises what that does."""
    run, given = opened(name), read_json(file)
    step, sharpen = given.get("step"), given.get("sharpen")
    if type(step) is not int or not isinstance(sharpen, list) or not all(type(each) is float for each in sharpen):
        raise ValueError(f"{file} is no certificate: it does not tell the step of a run, and how scores were sharpened")
    weights = sharpened(run.weights(step), sharpen)

    def over(do: Callable, parts: list[list[dict]]) -> Iterator:
        everyone = [question for part in parts for question in part]
        with progress_bar("check", len(everyone), 0, progress) as bar:
            for part in _spread(partial(_checked, do), everyone, jobs):
                bar.update(part)
                yield part

    return check(file, weights, over)


def _checked(do: Callable, part: list[dict], *_) -> int:
    do(part)
    return len(part)


def _spread(do: Callable, items: Sequence, jobs: int | None) -> Iterable:
    """Do something with parts of items by processes here, in whatever order they end."""
    if jobs is not None and not 1 <= jobs <= 1024:
        raise ValueError(f"jobs must be at least 1 and at most 1024, not {jobs}")
    size = max(1, min(PART, math.ceil(len(items) / (jobs or joblib.cpu_count()))))
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    work = {str(index): partial(do, part) for index, part in enumerate(parts)}
    return (result for _, result in here(work, jobs)) if work else ()


def _text(head: dict, questions: list[dict]) -> str:
    """A certificate, a line for each question."""
    lines = ",\n".join(json.dumps(question) for question in questions)
    return f'{json.dumps(head)[:-1]}, "questions": [\n{lines}\n]}}\n'


def _earlier(file: Path, head: dict, task: Task, where: list[Layout]) -> list[dict]:
    """What an earlier search in the same network left in a file; ValueError where it holds anything else."""
    if not file.exists():
        return []
    try:
        earlier = read_json(file)
        if other := [name for name in head if earlier[name] != head[name]]:
            raise ValueError(f"{file} holds what was found with other {', '.join(other)}; choose another file")
        for question in (questions := earlier["questions"]):
            check_question(task, where, question)
    except (KeyError, TypeError, IndexError):
        raise ValueError(f"{file} holds something else than a certificate; choose another file") from None
    return questions
