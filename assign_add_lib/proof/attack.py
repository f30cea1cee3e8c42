"""Attack: the worst context that a search finds for a question, of all that may stand beside it.

A *question* fixes the operands and the numbers to add.  Its *context* is the rest: how many assignments there are, which names
are assigned beside the asked ones and all their numbers, the order, the gaps.  The *margin* of a problem is the logit of the
right answer less the largest other one; where it is below 0, the network is wrong.

What is found is a valid problem, and its margin is the network's.  So it is an upper bound of the least margin of its
question, and nothing else: a search that finds nothing wrong shows nothing.
"""

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..circuits import OV, QK, last_logits
from ..model import Weights
from ..sampling import Population, forms, place, spelled
from ..task import KINDS, Task
from .contexts import layouts as all_layouts

ROWS = 1024  # problems in one pass
MOST_LAYOUTS = 5000


class Questions(NamedTuple):
    """Questions as `sampling.lay_out` takes them."""

    asked: Tensor  # (batch, 2) left and right operand, variables by index, V for a constant
    numbers: Tensor  # (batch, 2) to add

    def at(self, rows: Tensor) -> "Questions":
        """Some of them."""
        return Questions(self.asked[rows], self.numbers[rows])


class Contexts(NamedTuple):
    """What stands beside questions, of as many as there are; `layout` says how many of the assignments count, and where."""

    variables: Tensor  # (..., V) all by index, the assigned ones first and in their order
    values: Tensor  # (..., slots) numbers of the assigned ones
    layout: Tensor  # (...) row of `layouts`

    def at(self, *rows: Tensor) -> "Contexts":
        """Some of them."""
        return Contexts(*(each[rows] for each in self))


class Found(NamedTuple):
    """The worst problem found for each question."""

    tokens: Tensor  # (batch, length)
    margins: Tensor  # (batch,) in double precision
    by_start: Tensor  # (starts, batch) margins that each start ended with
    tried: Tensor  # (starts, batch) problems tried by each


def margins(logits: Tensor, answers: Tensor) -> Tensor:
    """The right logit less the largest other one, (batch,), of logits (batch, N) and answers (batch,)."""
    right = logits.gather(1, answers[:, None])
    return (right - logits.scatter(1, answers[:, None], -torch.inf).amax(1, keepdim=True))[:, 0]


def draw_questions(task: Task, kind: str, size: int, seed: int = 0) -> Questions:
    """Questions of one of `KINDS`, all pairs of numbers and all variables alike; ValueError for another kind."""
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind}; the kinds are {', '.join(KINDS)}")
    left, right = (range(task.n_variables) if KINDS.index(kind) & side else None for side in (1, 2))
    law = Population(task, forms(task, left, right), torch.ones(task.n_numbers, task.n_numbers))
    return Questions(*law.questions(size, torch.Generator().manual_seed(seed)))


@cache
def layouts(task: Task) -> Tensor:
    """Where each assignment starts, for all ways to place 1 to `slots` of them, (ways, slots); `room` for one that is not there.

    ValueError for a task with more than `MOST_LAYOUTS`.
    """
    room, slots = task.room, task.slots
    if sum(math.comb(room - n, n) for n in range(1, slots + 1)) > MOST_LAYOUTS:
        raise ValueError(f"there are more than {MOST_LAYOUTS} ways to place assignments in {room} tokens; that takes too long")
    return torch.tensor([[*starts, *[room] * (slots - len(starts))] for starts in all_layouts(task) if starts])


def tokens_of(task: Task, contexts: Contexts, questions: Questions) -> Tensor:
    """The problems (batch, length) that contexts and questions make."""
    operands = spelled(task, *questions)
    return place(task, contexts.variables[:, : task.slots], contexts.values, layouts(task)[contexts.layout], operands)


def is_asked(task: Task, contexts: Contexts, questions: Questions) -> Tensor:
    """Which slots (batch, slots) hold an asked variable."""
    return (contexts.variables[:, : task.slots, None] == questions.asked[:, None]).any(2)


def draw_contexts(task: Task, questions: Questions, generator: torch.Generator, order: Tensor | None = None) -> Contexts:
    """Random contexts: all ways to place the assignments alike.  With `order` (batch, V) every slot is in use, and names are
    taken in this order."""
    (asked, numbers), (V, slots), size = questions, (task.n_variables, task.slots), len(questions.asked)
    names = torch.arange(V)
    rank = torch.rand(size, V, generator=generator) if order is None else order.argsort(1) / V
    chosen = (rank - (names == asked[:, :1]).float() - (names == asked[:, 1:]).float()).argsort(1)
    mixed = torch.rand(size, slots, generator=generator).argsort(1)
    variables = torch.cat([chosen[:, :slots].gather(1, mixed), chosen[:, slots:]], 1)
    values = torch.randint(task.n_numbers, (size, slots), generator=generator)
    for side in (0, 1):
        values = torch.where(variables[:, :slots] == asked[:, side, None], numbers[:, side, None], values)
    contexts = Contexts(variables, values, torch.full((size,), len(layouts(task)) - 1))
    fits = _fitting(task, contexts, questions).float()
    return contexts._replace(layout=fits.multinomial(1, generator=generator)[:, 0]) if order is None else contexts


def _fitting(task: Task, contexts: Contexts, questions: Questions) -> Tensor:
    """Which layouts (batch, ways) hold all asked assignments."""
    there = layouts(task) < task.room  # (ways, slots)
    return (there | ~is_asked(task, contexts, questions)[:, None]).all(2)


def names_by_score(weights: Weights, questions: Questions) -> Tensor:
    """All variables (batch, V), first the one that `=` scores highest in layer 2 where it stands before a number.

    By the tables alone: the query is `=` with half of what layer 1 moves of each operand, the key what it moves of the name.
    """
    w, task = weights, weights.task
    moved, places = w.W_E @ OV(w, 1), w.W_pos @ OV(w, 1)
    query = (
        w.W_E[task.equal]
        + w.W_pos[task.last]
        + moved[spelled(task, *questions)].mean(1)
        + places[[task.left, task.right]].mean(0)
    )
    return (query @ QK(w, 2) @ moved[task.first_variable :].T).argsort(1, descending=True)


def _numbers(task: Task, contexts: Contexts, free: Tensor, slots: slice) -> tuple[Contexts, Tensor]:
    """Any number in these slots, the same in all of them that are not asked for."""
    N, chosen = task.n_numbers, torch.zeros_like(free)
    chosen[:, slots] = free[:, slots]
    values = torch.where(chosen[:, None], torch.arange(N)[:, None], contexts.values[:, None])
    there = (chosen & (layouts(task)[contexts.layout] < task.room)).any(1)
    return contexts._replace(values=values), there[:, None].expand(-1, N)


def _exchanges(task: Task, contexts: Contexts, free: Tensor) -> tuple[Contexts, Tensor]:
    """Two assignments change places; two names alone do; a name gives way to an unused one."""
    slots, V = task.slots, task.n_variables
    one, other = torch.triu_indices(slots, V, 1)
    order = torch.arange(V).repeat(len(one), 1).scatter(1, one[:, None], other[:, None]).scatter(1, other[:, None], one[:, None])
    both = other < slots
    there = layouts(task)[contexts.layout] < task.room
    may = pad(free, (0, V - slots), value=True)
    alone = there[:, one] & may[:, one] & may[:, other]
    whole = (there[:, one] & pad(there, (0, V - slots))[:, other])[:, both]
    unmoved = torch.arange(slots).expand(len(one), -1)
    variables, values = torch.cat([order, order[both]]), torch.cat([unmoved, order[both][:, :slots]])
    moved = contexts._replace(variables=contexts.variables[:, variables], values=contexts.values[:, values])
    return moved, torch.cat([alone, whole], 1)


def _layouts(task: Task, contexts: Contexts, fits: Tensor) -> tuple[Contexts, Tensor]:
    """Any number of assignments, anywhere."""
    return contexts._replace(layout=torch.arange(len(layouts(task))).expand_as(fits)), fits


def neighbours(task: Task, contexts: Contexts, questions: Questions, respect: int) -> tuple[Contexts, Tensor]:
    """Contexts (batch, k) that differ in one of `slots` + 3 respects, and which of them exist, (batch, k)."""
    free = ~is_asked(task, contexts, questions)
    if respect <= task.slots:  # all numbers, one number
        found, exist = _numbers(task, contexts, free, slice(respect - 1, respect) if respect else slice(None))
    elif respect == task.slots + 1:
        found, exist = _exchanges(task, contexts, free)
    else:
        found, exist = _layouts(task, contexts, _fitting(task, contexts, questions))
    spread = (each if each.dim() == there.dim() + 1 else there[:, None] for each, there in zip(found, contexts))
    return Contexts(*(each.expand(*exist.shape, *each.shape[2:]) for each in spread)), exist


def differ(task: Task, contexts: Contexts, questions: Questions) -> Tensor:
    """Whether no two assignments that are not asked for hold the same number, (batch,)."""
    free = (layouts(task)[contexts.layout] < task.room) & ~is_asked(task, contexts, questions)
    beside = contexts.values + (task.n_numbers + torch.arange(task.slots)) * ~free  # what does not count is like nothing else
    return (beside.sort(1).values.diff(dim=1) > 0).all(1)


def attack(
    weights: Weights,
    questions: Questions,
    seed: int = 0,
    starts: int = 4,
    sweeps: int = 12,
    together: bool = True,
    different: bool = False,
) -> Found:
    """The worst problem found for each question: exact coordinate descent, in one respect after the other, from some starts.

    The first start takes names in the order of `names_by_score`, the others are random; every one first tries each number
    repeated under all names that are not asked for, unless `together` is false.  With `different`, no number may stand twice
    beside a question.  A descent ends where no neighbour is worse, or after so many sweeps.  The same call gives the same
    problems on one machine.  ValueError for other than two layers of one head.
    """
    weights = weights.of_one_head(2)
    task, generator = weights.task, torch.Generator().manual_seed(seed)
    answers, size = questions.numbers.sum(1) % task.n_numbers, len(questions.asked)
    tried, ends, problems = torch.ones(starts, size, dtype=torch.long), [], []
    for start in range(starts):
        contexts = draw_contexts(task, questions, generator, None if start else names_by_score(weights, questions))
        if different:
            values = torch.rand(size, task.n_numbers, generator=generator).argsort(1)[:, : task.slots]
            contexts = contexts._replace(values=torch.where(is_asked(task, contexts, questions), contexts.values, values))
        here = margin_of(weights, tokens_of(task, contexts, questions), answers)
        rows = torch.arange(size)  # of questions whose descent goes on
        for _ in range(sweeps):
            before = here[rows]
            for respect in range(0 if together else 1, task.slots + 3):
                mine = questions.at(rows)
                found, exist = neighbours(task, contexts.at(rows), mine, respect)
                of, which = exist.nonzero(as_tuple=True)
                if different:
                    exist = exist.index_put((of, which), differ(task, found.at(of, which), mine.at(of)))
                    of, which = exist.nonzero(as_tuple=True)
                values = torch.full(exist.shape, torch.inf, dtype=here.dtype)
                tokens = tokens_of(task, found.at(of, which), mine.at(of))
                values[of, which] = margin_of(weights, tokens, answers[rows[of]])
                tried[start, rows] += exist.sum(1)
                least, which = values.min(1)
                worse = (least < here[rows]).nonzero()[:, 0]
                for kept, new in zip(contexts, found):
                    kept[rows[worse]] = new[worse, which[worse]]
                here[rows[worse]] = least[worse]
            rows = rows[here[rows] < before]
            if not len(rows):
                break
        ends.append(here)
        problems.append(tokens_of(task, contexts, questions))
    ends = torch.stack(ends)
    worst = torch.stack(problems)[ends.argmin(0), torch.arange(size)]
    return Found(worst, margin_of(weights.to(torch.float64), worst, answers), ends, tried)


def margin_of(weights: Weights, tokens: Tensor, answers: Tensor) -> Tensor:
    """The margins (batch,) of problems."""
    parts = zip(tokens.split(ROWS), answers.split(ROWS))
    return torch.cat([weights.W_E.new_zeros(0), *(margins(last_logits(weights, each), right) for each, right in parts)])
