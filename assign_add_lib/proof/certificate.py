"""Certificates: for which plain sums a network is proved right whatever stands beside them, in a file that can be checked."""

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
from ..task import Task
from ..training import load_run
from .bounds import Tables
from .checker import BOXES, FORM, GRAIN, PART, check, check_question, fingerprint, least_leads
from .contexts import Layout, layouts
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


def prove(weights: Weights, where: Sequence[Layout], pairs: Sequence[Pair], *_) -> list[dict]:
    """What a certificate says of plain sums, each searched up to the first layout in which it is not proved.

    Where a box is too large, the numbers of each assignment are cut into twice as many parts, as long as there are at most
    `checker.BOXES` boxes.
    """
    task, tables = weights.task, Tables(weights)
    order = order_of(tables)
    found = [
        {"left": left, "right": right, "answer": (left + right) % task.n_numbers}
        | {"bounds": [], "nearest": [], "cut": [], "failed": None}
        for left, right in pairs
    ]
    for starts in where:
        open_, cut = [asked for asked in found if not asked["failed"]], 1
        while open_:
            too_large = []
            for asked, leads in zip(open_, least_leads(tables, starts, order, cut, open_)):
                bound, nearest = written(leads.min()), int(leads.argmin())
                if bound is not None and bound > 0:
                    for name, value in (("bounds", bound), ("nearest", nearest), ("cut", cut)):
                        asked[name].append(value)
                else:
                    too_large.append((asked, {"layout": list(starts), "cut": cut, "bound": bound, "nearest": nearest}))
            cut *= 2
            if not starts or cut ** len(starts) > BOXES or cut > task.n_numbers:
                for asked, failed in too_large:
                    asked["failed"] = failed
                break
            open_ = [asked for asked, _ in too_large]
    for asked in found:
        failed = asked["failed"]
        asked["most"] = max(map(len, where)) if failed is None else len(failed["layout"]) - 1
        kept = sum(len(starts) <= asked["most"] for starts in where)
        asked |= {name: asked[name][:kept] for name in ("bounds", "nearest", "cut")}
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
    pairs: Sequence[Pair] | int | None = None,
    most: int = 2,
    sharpen: Sequence[float] = (1.0, 1.0),
    seed: int = 0,
    step: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> list[dict]:
    """Prove that a run is right on plain sums, or a sample of so many (16), in all contexts of at most `most` assignments.

    What is found is written into a file after every part: a certificate, which `checker.check` reads.  What it holds of the
    same weights is not searched again.  Returns what it says of these sums.  ValueError for bad settings, and where the file
    holds anything else; OSError where it cannot be written.
    """
    run, file = load_run(name), Path(file)
    weights = sharpened(run.weights(step), sharpen)
    task = weights.task
    if not 0 <= most <= task.slots:
        raise ValueError(f"most must be at least 0 and at most {task.slots}, not {most}")
    pairs = min(16, task.n_numbers**2) if pairs is None else pairs
    pairs = sample(task, pairs, seed) if isinstance(pairs, int) else list(dict.fromkeys(pairs))
    for pair in pairs:
        if not all(0 <= each < task.n_numbers for each in pair):
            raise ValueError(f"numbers go from 0 to {task.n_numbers - 1}, not {pair[0]} and {pair[1]}")
    if file.is_dir():
        raise ValueError(f"{file} is a folder; a certificate goes into a file")
    order = order_of(Tables(weights))
    where = list(layouts(task, most))
    head = {"form": FORM, "run": run.name, "step": run.steps[-1] if step is None else step, "sharpen": [*map(float, sharpen)]}
    head |= {"weights": fingerprint(weights), "task": asdict(task), "layouts": [list(starts) for starts in where], "order": order}
    with lock_file(file):
        check_writable(file.parent)
        remove_unfinished(file.parent, file.name)
        found = {(asked["left"], asked["right"]): asked for asked in _earlier(file, head, task, where)}
        missing = [pair for pair in pairs if pair not in found]
        with progress_bar("certify", len(pairs), len(pairs) - len(missing), progress) as bar:
            for part in _spread(partial(prove, weights, where), missing, jobs):
                found |= {(asked["left"], asked["right"]): asked for asked in part}
                write_atomic(file, _text(head, [found[pair] for pair in sorted(found)]))
                bar.update(len(part))
                bar.set_postfix(proved=sum(asked["most"] == most for asked in found.values()))
    return [found[pair] for pair in pairs]


def check_run(name: str | Path, file: str | Path, jobs: int | None = None, progress: bool = True) -> str:
    """Check a certificate of a run by `checker.check`, with several processes; returns and raises what that does."""
    run, given = load_run(name), read_json(file)
    step, sharpen = given.get("step"), given.get("sharpen")
    if type(step) is not int or not isinstance(sharpen, list) or not all(type(each) is float for each in sharpen):
        raise ValueError(f"{file} is no certificate: it does not tell the step of a run, and how scores were sharpened")
    weights = sharpened(run.weights(step), sharpen)

    def over(do: Callable, parts: list[list[dict]]) -> Iterator:
        everyone = [asked for part in parts for asked in part]
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
    lines = ",\n".join(json.dumps(asked) for asked in questions)
    return f'{json.dumps(head)[:-1]}, "questions": [\n{lines}\n]}}\n'


def _earlier(file: Path, head: dict, task: Task, where: list[Layout]) -> list[dict]:
    """What an earlier search in the same network left in a file; ValueError where it holds anything else."""
    if not file.exists():
        return []
    try:
        earlier = read_json(file)
        if other := [name for name in head if earlier[name] != head[name]]:
            raise ValueError(f"{file} holds what was found with other {', '.join(other)}; choose another file")
        for asked in (questions := earlier["questions"]):
            check_question(task, where, asked)
    except (KeyError, TypeError, IndexError):
        raise ValueError(f"{file} holds something else than a certificate; choose another file") from None
    return questions
