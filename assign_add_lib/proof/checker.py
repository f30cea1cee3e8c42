"""The checker: does a certificate prove what it says?  It recomputes every bound, and knows nothing of how one was found.

A certificate is a JSON object: `form`; `weights`, the SHA-256 of `fingerprint`; `task`, its sizes; `layouts`, where assignments
start, fewest assignments first; `order`, all numbers, which are cut into parts in this order; and `questions`, each with its
operands `left` and `right`, numbers or variables, the number of each variable in `asked`, its `answer`, the `most` assignments
beside those asked for up to which it is proved, for each layout of so many the least lead `bounds`, the number that comes
`nearest` and into how many parts the numbers of each other assignment are `cut`, and what `failed`, which proves nothing and is
not read.  `run`, `step` and `sharpen` tell where the weights are from.
"""

import hashlib
import json
import math
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

FORM = "assign-add certificate 3"
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


def said(question: Mapping) -> str:
    """A question in words; no two different ones are said alike."""
    names = dict.fromkeys(each for each in (question["left"], question["right"]) if isinstance(each, str))
    given = ", ".join(f"{name}={question['asked'][name]}" for name in names)
    return f"{question['left']}+{question['right']}" + (f" with {given}" if given else "")


def parted(questions: Iterable[dict]) -> Iterable[list[dict]]:
    """Questions parted by what they assign: those of a part have the same boxes."""
    parts = {}
    for question in questions:
        parts.setdefault(tuple(sorted(question["asked"].items())), []).append(question)
    return parts.values()


def claimed(layouts: Iterable[Sequence[int]], question: Mapping) -> list[Sequence[int]]:
    """The layouts in which a question is proved: those with room for what it assigns, and at most `most` assignments more."""
    own = len(question["asked"])
    return [starts for starts in layouts if own <= len(starts) <= own + question["most"]]


def least_leads(tables: Tables, starts: Iterable[int], order: Sequence[int], cut: int, alike: Sequence[Mapping]) -> np.ndarray:
    """The least lead of the answer of each question over each number, (question, N), in all boxes of a layout.

    All assign the same.  Once a lead is not above 0, its question is not asked in further boxes.
    """
    task = tables.task
    found = np.full((len(alike), task.n_numbers), np.inf)
    asked = {task.variable_names.index(name): number for name, number in alike[0]["asked"].items()}
    for box in boxes(task, starts, order, cut, asked):
        open_ = [place for place in range(len(alike)) if found[place].min() > 0]
        ready = neurons(tables, box) if open_ else None
        for place in open_:
            left, right = (task.token(alike[place][side]) for side in ("left", "right"))
            leads = margins(Question.of(tables, box, left, right), alike[place]["answer"], ready)
            found[place] = np.minimum(found[place], leads)
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
        for question in questions:
            check_question(weights.task, layouts, question)
        if len({said(question) for question in questions}) < len(questions):
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
    largest, V, N = max(map(len, layouts), default=0), task.n_variables, task.n_numbers
    for asked in range(3):  # different layouts have no context in common, so all are covered where there are as many
        sizes = [len(starts) for starts in layouts if len(starts) >= asked]
        found = [math.perm(n, asked) * math.perm(V - asked, n - asked) * N ** (n - asked) for n in sizes]
        for most in range(1 + largest - asked):
            if sum(many for n, many in zip(sizes, found) if n <= asked + most) != contexts(task, most, asked):
                raise ValueError(f"its layouts leave out contexts of {asked + most} assignments")


def check_question(task: Task, layouts: list[tuple[int, ...]], question: Mapping) -> None:
    """ValueError where a question is none, its answer is wrong, or its bounds do not claim all that it claims."""
    left, right, asked, answer, most = (question[name] for name in ("left", "right", "asked", "answer", "most"))
    variables = {each for each in (left, right) if isinstance(each, str)}
    if not (type(asked) is dict and asked.keys() == variables <= {*task.variable_names}):
        raise ValueError(f"{left!r}+{right!r} does not assign just what it asks for, but {asked!r}")
    one, other = (asked[each] if each in variables else each for each in (left, right))
    if not all(type(each) is int and 0 <= each < task.n_numbers for each in (one, other, answer)):
        raise ValueError(f"there is no question {left!r}+{right!r}={answer!r} with {asked!r}")
    text, largest = said(question), max(map(len, layouts), default=0) - len(asked)
    if answer != (one + other) % task.n_numbers:
        raise ValueError(f"{text} is not {answer}")
    if type(most) is not int or not -1 <= most <= max(largest, -1):
        raise ValueError(f"{text} is not proved up to {most!r} assignments")
    needed = claimed(layouts, question)
    if not len(question["bounds"]) == len(question["nearest"]) == len(question["cut"]) == len(needed):
        raise ValueError(f"{text} needs a bound for each of {len(needed)} layouts")
    for bound, nearest, cut, starts in zip(question["bounds"], question["nearest"], question["cut"], needed):
        if type(cut) is not int or not 1 <= cut <= task.n_numbers or cut ** (len(starts) - len(asked)) > BOXES:
            raise ValueError(f"{text} has numbers cut into {cut} parts")
        if type(bound) is not float or not 0 < bound < math.inf:
            raise ValueError(f"{text} has the bound {bound!r}, which is not above 0")
        if type(nearest) is not int or not 0 <= nearest < task.n_numbers or nearest == answer:
            raise ValueError(f"{text} has {nearest!r} for its nearest wrong answer")


def check_bounds(weights: Weights, layouts: list[tuple[int, ...]], order: Sequence[int], questions: list[dict], *_) -> None:
    """ValueError where a bound is above the one that the weights give, or another one."""
    tables = Tables(weights)
    for these in parted(questions):
        room = [starts for starts in layouts if len(starts) >= len(these[0]["asked"])]
        for index, starts in enumerate(room):
            claims = [question for question in these if index < len(question["bounds"])]
            for cut in sorted({question["cut"][index] for question in claims}):
                some = [question for question in claims if question["cut"][index] == cut]
                for question, leads in zip(some, least_leads(tables, starts, order, cut, some)):
                    bound, nearest, text = question["bounds"][index], question["nearest"][index], said(question)
                    if not leads.min() - 2 * GRAIN < bound <= leads.min():
                        raise ValueError(f"{text} has the bound {bound} in layout {list(starts)}, not {leads.min():.6f}")
                    if not leads[nearest] <= leads.min() + 2 * GRAIN:
                        raise ValueError(f"{text} has not {nearest} for its nearest answer in layout {list(starts)}")


def _proved(weights: Weights, questions: list[dict]) -> str:
    """One sentence."""
    parts, sizes = [], {(len(question["asked"]), question["most"]) for question in questions if question["most"] >= 0}
    for asked, most in sorted(sizes, key=lambda size: (size[0], -size[1])):
        these = [question for question in questions if (len(question["asked"]), question["most"]) == (asked, most)]
        which = ", ".join(said(question) for question in these[:3])
        if len(these) > 3:
            kind = f"questions with {asked} variable{'s' * (asked > 1)} and" if asked else "plain sums with"
            which = f'the {len(these)} {kind} "most": {most}, {which} and so on,'
        lead = min(min(question["bounds"]) for question in these)
        where = f"contexts of at most {most} assignments"
        if asked:
            where = f"contexts of what is asked for and at most {most} other assignments"
        where = f"each of the {contexts(weights.task, most, asked):,} {where}"
        parts.append(f"it answers {which} right by a lead of at least {lead:.3f} in {where}")
    if nothing := sum(question["most"] < 0 for question in questions):
        parts.append(f"of {nothing} questions nothing is known")
    told = "; ".join(parts) or "nothing"
    return f"proved, in exact arithmetic, of the network whose weights have the SHA-256 {fingerprint(weights)[:16]}...: {told}"
