"""Contexts: all that may stand beside a question, layout by layout, and how many there are."""

import math
from collections.abc import Iterator
from itertools import combinations

from ..task import KINDS, Task

Layout = tuple[int, ...]  # where assignments start, in order; all else before + is PAD


def layouts(task: Task, most: int | None = None) -> Iterator[Layout]:
    """All layouts of at most so many assignments, by default as many as there can be; those with few come first.

    >>> list(layouts(Task(n_numbers=3, n_variables=2, length=8)))
    [(), (0,), (1,), (2,), (0, 2)]
    """
    for n in range(1 + (task.slots if most is None else most)):
        for chosen in combinations(range(task.room - n), n):
            yield tuple(place + before for before, place in enumerate(chosen))


def count(task: Task, n: int) -> int:
    """How many contexts have just n assignments: a layout, different names, and any numbers."""
    return math.comb(task.room - n, n) * math.perm(task.n_variables, n) * task.n_numbers**n if 0 <= n <= task.slots else 0


def contexts(task: Task, most: int | None = None) -> int:
    """How many contexts have at most so many assignments, which is how many problems ask for one and the same plain sum.

    >>> contexts(Task(n_numbers=3, n_variables=2, length=8))
    37
    """
    return sum(count(task, n) for n in range(1 + (task.slots if most is None else most)))


def problems(task: Task, kind: str, most: int | None = None) -> int:
    """How many problems of a kind have at most so many assignments; with two variables, these are different ones.

    ValueError for what is no kind.

    >>> [problems(Task(n_numbers=3, n_variables=2, length=8), kind) for kind in KINDS]
    [333, 162, 162, 36]
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind}; the kinds are {', '.join(KINDS)}")
    N, variables = task.n_numbers, KINDS.index(kind).bit_count()
    asked = range(1 + (task.slots if most is None else most))
    return sum(count(task, n) * math.perm(n, variables) * N ** (2 - variables) for n in asked)
