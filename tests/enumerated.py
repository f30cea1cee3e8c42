"""Contexts of tiny tasks one by one, and what a network makes of them: what bounds and certificates are held against."""

import json
import math
from dataclasses import asdict
from functools import cache
from itertools import product

import numpy as np
import torch

from assign_add_lib import Task, Weights, handmade, last_logits
from assign_add_lib.handmade import residual_blocks
from assign_add_lib.proof.bounds import Box, Tables
from assign_add_lib.proof.certificate import order_of, prove, question_of
from assign_add_lib.proof.checker import FORM, fingerprint
from assign_add_lib.proof.contexts import layouts

TASK, SMALL = Task(n_numbers=5, n_variables=3, length=10), Task(n_numbers=3, n_variables=2, length=8)
SUMS = ["0+1", "1+0", "2+2"]


def by_hand(task: Task = TASK) -> Weights:
    """The network written by hand for a tiny task, right on all problems."""
    return handmade.weights((1, 2), task, 32, 16)


def planted(task: Task = TASK, token: int = 4, position: int | None = 1):
    """The network by hand, whose `=` also looks out for a token, by default a number, at a position or anywhere.

    For it `=` forgets the operands.
    """
    weights, at, spare, strength = by_hand(task), residual_blocks((1, 2), task), 30, 14 * math.sqrt(32)
    W_E, W_Q = weights.W_E.clone(), weights.W_Q.clone()
    W_E[token, spare] = 1
    there = spare if position is None else at["position"].start + position
    for each in (spare, there):
        W_Q[1, at["position"].start + task.last, each] += strength
    return weights.replace(W_E=W_E, W_Q=W_Q)


@cache
def every_context(task: Task, starts: frozenset | None = None) -> torch.Tensor:
    """Every way (context, room) to fill the room by the rules of the task, in order; of those that start there alone."""

    def after(start: int, used: frozenset) -> list[list[int]]:
        if start == task.room:
            return [[]]
        rows = [[task.pad, *row] for row in after(start + 1, used)] if starts is None or start not in starts else []
        if start + 2 <= task.room and (starts is None or start in starts):
            for variable in {*range(task.n_variables)} - used:
                behind = after(start + 2, used | {variable})
                rows += [[task.first_variable + variable, n, *row] for n in range(task.n_numbers) for row in behind]
        return rows

    return torch.tensor(after(0, frozenset()))


def box_of(task: Task, starts=(), names=None, numbers=None) -> Box:
    """A box; assignments may have all names and numbers but where lists of theirs are given, by place."""
    allowed = []
    for given, size in ((names, task.n_variables), (numbers, task.n_numbers)):
        mask = np.ones((len(starts), size), dtype=bool)
        for place in range(len(starts)):
            if given and place in given:
                mask[place] = np.isin(np.arange(size), given[place])
        allowed.append(mask)
    return Box(task, tuple(starts), *allowed)


def inside(box: Box) -> torch.Tensor:
    """The valid contexts of a box, (context, room)."""
    found = every_context(box.task, frozenset(box.starts))
    for place, start in enumerate(box.starts):
        name, number = found[:, start].numpy() - box.task.first_variable, found[:, start + 1].numpy()
        found = found[torch.from_numpy(box.names[place][name] & box.numbers[place][number])]
    return found


def asked(context: torch.Tensor, task: Task, left: int, right: int) -> torch.Tensor:
    """Problems (context, length) that ask for two tokens beside every context."""
    return torch.cat([context, torch.tensor([[task.plus, left, right, task.equal]]).expand(len(context), -1)], 1)


def least_leads(weights: Weights, tokens: torch.Tensor, answer: int) -> np.ndarray:
    """The least lead of an answer over each number (N) among problems."""
    logits = last_logits(weights.to(torch.float64), tokens)
    return (logits[:, [answer]] - logits).min(0).values.numpy()


def boxes(task: Task, rng: np.random.Generator):
    """A box of all names and numbers for every way to place assignments, and one of some of them."""
    for k in range(task.slots + 1):
        for starts in product(range(task.room - 1), repeat=k):
            if all(one + 2 <= other for one, other in zip(starts, starts[1:])):
                yield box_of(task, starts)
                if k:
                    sizes = ((k, task.n_variables), (k, task.n_numbers))
                    names, numbers = (rng.random(size) < 0.5 for size in sizes)
                    names[range(k), rng.permutation(task.n_variables)[:k]] = numbers[:, rng.integers(task.n_numbers)] = True
                    yield Box(task, starts, names, numbers)


GOOD = by_hand(SMALL)


def as_certificate(weights: Weights, where: list, questions: list[dict]) -> str:
    """A certificate that says this of questions."""
    head = {"form": FORM, "run": "good", "step": 7, "sharpen": [1.0, 1.0], "weights": fingerprint(weights)}
    head |= {"task": asdict(weights.task), "layouts": where, "order": order_of(Tables(weights))}
    return json.dumps(head | {"questions": questions})


@cache
def certificate() -> str:
    """What is proved of three sums of that network, as a checker reads it."""
    where = list(layouts(SMALL))
    return as_certificate(GOOD, where, prove(GOOD, where, 2, [question_of(text, SMALL) for text in SUMS]))
