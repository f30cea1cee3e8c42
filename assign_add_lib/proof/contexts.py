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


def count(task: Task, n: int, asked: int = 0) -> int:
    """How many contexts have just n assignments: a layout, different names, and any numbers; `asked` of them are given."""
    ways = math.perm(n, asked) * math.perm(task.n_variables - asked, n - asked) if asked <= n <= task.slots else 0
    return math.comb(task.room - n, n) * ways * task.n_numbers ** (n - asked) if ways else 0


def contexts(task: Task, most: int | None = None, asked: int = 0) -> int:
    """How many problems ask one and the same question: contexts of its `asked` assignments and at most so many others.

    >>> task = Task(n_numbers=3, n_variables=2, length=8)
    >>> contexts(task), contexts(task, asked=1), contexts(task, asked=2)
    (37, 9, 2)
    """
    return sum(count(task, n, asked) for n in range(1 + (task.slots if most is None else asked + most)))


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
