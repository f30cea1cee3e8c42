"""The checker: does a certificate prove what it says?  It recomputes every bound, and knows nothing of how one was found.

A certificate is a JSON object: `form`; `weights`, the SHA-256 of `fingerprint`; `task`, its sizes; `layouts`, where assignments
start, fewest assignments first; `order`, all numbers, which are cut into parts in this order; and `questions`, each with its
operands `left` and `right`, its `answer`, the `most` assignments up to which it is proved, for each layout of so many the least
lead `bounds`, the number that comes `nearest` and into how many parts the numbers of each assignment are `cut`, and what
`failed`, which proves nothing and is not read.  `run`, `step` and `sharpen` tell where the weights are from.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import permutations, product
from pathlib import Path

import numpy as np
import torch

from ..model import Weights
from ..task import Task
from .bounds import Box, Question, Tables, margins, neurons
from .contexts import contexts

FORM = "assign-add certificate 2"
GRAIN = 1e-3  # bounds are written down to this, so another order of summation on another machine makes no difference
BOXES = 16  # of a layout, at most
PART = 32  # questions that share what does not depend on them


def fingerprint(weights: Weights) -> str:
    """SHA-256 of every weight's name, dtype, shape and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.tensors().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def boxes(task: Task, starts: Iterable[int], order: Sequence[int], cut: int = 1, asked: Mapping[int, int] = {}) -> Iterator[Box]:
    """Boxes that hold all contexts whose assignments start there: all names, and for each one of the parts of the numbers.

    Of a look-up, `asked` gives the number of each variable asked for: it stands anywhere, and the others have other names.
    """
    starts, V, N = tuple(starts), task.n_variables, task.n_numbers
    others = ~np.isin(np.arange(V), list(asked))
    parts = [np.isin(np.arange(N), part) for part in np.array_split(order, cut)]
    for places in permutations(range(len(starts)), len(asked)):
        for numbers in product(parts, repeat=len(starts) - len(asked)):
            choices = [(others, part) for part in numbers]
            for place, (name, number) in sorted(zip(places, asked.items())):
                choices.insert(place, (np.arange(V) == name, np.arange(N) == number))
            names, numbers = zip(*choices) if choices else ((), ())
            yield Box(task, starts, np.array(names).reshape(-1, V), np.array(numbers).reshape(-1, N))


def least_leads(tables: Tables, starts: Iterable[int], order: Sequence[int], cut: int, asked: Sequence[dict]) -> np.ndarray:
    """The least lead of the answer of each plain sum over each number, (question, N), in all boxes of a layout.

    Once a lead is not above 0, its question is not asked in further boxes.
    """
    N = tables.task.n_numbers
    found = np.full((len(asked), N), np.inf)
    for box in boxes(tables.task, starts, order, cut):
        open_ = [place for place in range(len(asked)) if found[place].min() > 0]
        ready = neurons(tables, box) if open_ else None
        for place in open_:
            left, right = asked[place]["left"], asked[place]["right"]
            found[place] = np.minimum(found[place], margins(Question.of(tables, box, left, right), (left + right) % N, ready))
    return found


def check(path: str | Path, weights: Weights, over: Callable[[Callable, list], Iterable] = map) -> str:
    """Recompute all that a certificate says of these weights; returns, as one sentence, what is proved.

    `over` is a `map` that may use several processes.  ValueError says in one line why nothing is proved, OSError where the
    file cannot be read.
    """
    try:
        given = json.loads(Path(path).read_bytes())
        layouts, questions = [tuple(starts) for starts in given["layouts"]], given["questions"]
        _check_form(given, weights)
        _check_layouts(weights.task, layouts)
        if sorted(given["order"]) != list(range(weights.task.n_numbers)) or any(type(n) is not int for n in given["order"]):
            raise ValueError("its order is not one of all numbers")
        for asked in questions:
            check_question(weights.task, layouts, asked)
        if len({(asked["left"], asked["right"]) for asked in questions}) < len(questions):
            raise ValueError("a question stands there twice")
        parts = [questions[start : start + PART] for start in range(0, len(questions), PART)]
        for _ in over(partial(check_bounds, weights, layouts, given["order"]), parts):
            pass
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise ValueError(f"{path} is no certificate: {type(error).__name__} {error}") from None
    except ValueError as error:
        raise ValueError(f"{path} proves nothing: {error}") from None
    return _proved(weights, questions)


def _check_form(given: dict, weights: Weights) -> None:
    """ValueError where a certificate is for other weights, or of another form."""
    if given["form"] != FORM:
        raise ValueError(f"its form is {given['form']!r}, not {FORM!r}")
    if given["task"] != asdict(weights.task):
        raise ValueError(f"it is for a task of other sizes, {given['task']}")
    if given["weights"] != fingerprint(weights):
        raise ValueError("it is for other weights")


def _check_layouts(task: Task, layouts: list[tuple[int, ...]]) -> None:
    """ValueError where layouts do not fit, do not stand in order, or leave out a context of up to as many assignments."""
    for starts in layouts:
        ends = [*starts[1:], task.room]
        if not all(type(start) is int and 0 <= start <= end - 2 for start, end in zip(starts, ends)):
            raise ValueError(f"there is no layout {list(starts)}")
    if len(set(layouts)) < len(layouts) or sorted(layouts, key=len) != layouts:
        raise ValueError("its layouts repeat, or do not stand in order")
    found = Counter()  # different layouts have no context in common, so all are covered where there are as many
    for starts in layouts:
        found[len(starts)] += math.perm(task.n_variables, len(starts)) * task.n_numbers ** len(starts)
    for most in range(1 + max(map(len, layouts), default=0)):
        if sum(found[n] for n in range(most + 1)) != contexts(task, most):
            raise ValueError(f"its layouts leave out contexts of {most} assignments")


def check_question(task: Task, layouts: list[tuple[int, ...]], asked: dict) -> None:
    """ValueError where a question is none, its answer is wrong, or its bounds do not claim all that it claims."""
    left, right, most = asked["left"], asked["right"], asked["most"]
    if not all(type(each) is int and 0 <= each < task.n_numbers for each in (left, right, asked["answer"])):
        raise ValueError(f"there is no plain sum {left!r}+{right!r}={asked['answer']!r}")
    if asked["answer"] != (left + right) % task.n_numbers:
        raise ValueError(f"{left}+{right} is not {asked['answer']}")
    if type(most) is not int or not -1 <= most <= max(map(len, layouts), default=0):
        raise ValueError(f"{left}+{right} is not proved up to {most!r} assignments")
    needed = sum(len(starts) <= most for starts in layouts)
    if not len(asked["bounds"]) == len(asked["nearest"]) == len(asked["cut"]) == needed:
        raise ValueError(f"{left}+{right} needs a bound for each of {needed} layouts")
    for bound, nearest, cut, starts in zip(asked["bounds"], asked["nearest"], asked["cut"], layouts):
        if type(cut) is not int or not 1 <= cut <= task.n_numbers or cut ** len(starts) > BOXES:
            raise ValueError(f"{left}+{right} has numbers cut into {cut} parts")
        if type(bound) is not float or not 0 < bound < math.inf:
            raise ValueError(f"{left}+{right} has the bound {bound!r}, which is not above 0")
        if type(nearest) is not int or not 0 <= nearest < task.n_numbers or nearest == asked["answer"]:
            raise ValueError(f"{left}+{right} has {nearest!r} for its nearest wrong answer")


def check_bounds(weights: Weights, layouts: list[tuple[int, ...]], order: Sequence[int], questions: list[dict], *_) -> None:
    """ValueError where a bound is above the one that the weights give, or another one."""
    tables = Tables(weights)
    for index, starts in enumerate(layouts):
        claimed = [asked for asked in questions if len(starts) <= asked["most"]]
        for cut in sorted({asked["cut"][index] for asked in claimed}):
            these = [asked for asked in claimed if asked["cut"][index] == cut]
            for asked, leads in zip(these, least_leads(tables, starts, order, cut, these)):
                bound, nearest, sum_ = asked["bounds"][index], asked["nearest"][index], f"{asked['left']}+{asked['right']}"
                if not leads.min() - 2 * GRAIN < bound <= leads.min():
                    raise ValueError(f"{sum_} has the bound {bound} in layout {list(starts)}, not {leads.min():.6f}")
                if not leads[nearest] <= leads.min() + 2 * GRAIN:
                    raise ValueError(f"{sum_} has not {nearest} for its nearest answer in layout {list(starts)}")


def _proved(weights: Weights, questions: list[dict]) -> str:
    """One sentence."""
    parts = []
    for most in sorted({asked["most"] for asked in questions} - {-1}, reverse=True):
        these = [asked for asked in questions if asked["most"] == most]
        named = ", ".join(f"{asked['left']}+{asked['right']}" for asked in these[:3])
        which = named if len(these) <= 3 else f'the {len(these)} plain sums with "most": {most}, {named} and so on,'
        lead = min(min(asked["bounds"]) for asked in these)
        where = f"each of the {contexts(weights.task, most):,} contexts of at most {most} assignments"
        parts.append(f"it answers {which} right by a lead of at least {lead:.3f} in {where}")
    if nothing := sum(asked["most"] < 0 for asked in questions):
        parts.append(f"of {nothing} plain sums nothing is known")
    said = "; ".join(parts) or "nothing"
    return f"proved, in exact arithmetic, of the network whose weights have the SHA-256 {fingerprint(weights)[:16]}...: {said}"
