"""What every check uses: the report of a quoted number, the verdict on an exercise, random problems."""

import functools
import math
import random
from collections.abc import Callable

import torch
from torch import Tensor

from ..task import STUDY, Problem


def report(name: str, value: float, expected: float, atol: float) -> None:
    """Print a measured value beside the number that the prose quotes; AssertionError where they differ by more than `atol`.

    The value gets as many decimals as the tolerance has places.  ValueError for a tolerance as large as the quoted number,
    which would test nothing.
    """
    value = float(value)
    if expected and atol >= abs(expected):
        raise ValueError(f"{name}: a tolerance of {atol:g} is no test of {expected}")
    if not abs(value - expected) <= atol:
        raise AssertionError(f"{name}: measured {value!r}, quoted as {expected}, which may differ by {atol:g}")
    if not atol:
        print(f"{name}: {expected}")
        return
    decimals = max(0, math.ceil(-math.log10(atol) - 1e-9))
    print(f"{name}: {value:.{decimals}f} (quoted as {expected}, within {atol:g})")


def guess(label: str, measured, answer, atol: float = 0) -> None:
    """Hold the answer of a page's guess against what is measured, and print it; AssertionError where they differ.

    `answer` is written as the page has it: a number, which may differ by `atol`; the words of the right option; or the list of
    the right cells' places, in their order.  A test compares it with the page.
    """
    if isinstance(answer, int | float):
        report(f"guess {label}", measured, answer, atol)
    elif measured != answer:
        raise AssertionError(f"guess {label}: measured {measured!r}, told as {answer!r}")
    else:
        print(f"guess {label}: {answer}")


class Wrong(Exception):
    """What is wrong with a learner's answer, in words."""


def exercise(check: Callable) -> Callable:
    """Make a function that raises `Wrong` into a check that prints its verdict, and what the function returns beside it."""

    @functools.wraps(check)
    def judged(answer: Callable) -> None:
        try:
            said = check(answer)
        except Wrong as wrong:
            print(f"Not yet: {wrong}")
        except Exception as error:
            print(f"Not yet: your function stopped with {type(error).__name__}: {error}")
        else:
            print(f"Right: {said}." if said else "Right.")

    return judged


def expect(condition: bool, words: str) -> None:
    """Raise `Wrong` with these words unless the condition holds."""
    if not condition:
        raise Wrong(words)


def as_tensor(answer, shape: tuple[int, ...], what: str) -> Tensor:
    """The learner's answer as a tensor of this shape, or `Wrong`."""
    expect(answer is not None, "your function returns nothing yet")
    answer = torch.as_tensor(answer)
    expect(tuple(answer.shape) == tuple(shape), f"{what} has shape {tuple(answer.shape)}; it should be {tuple(shape)}")
    return answer


def random_problem(kind: str | None = None) -> Problem:
    """A random problem of one of the four kinds, any kind if not given."""
    names, N = STUDY.variable_names, STUDY.n_numbers
    kind = kind or random.choice(["0-var", "1-var left", "1-var right", "2-var"])
    n = random.randint(2, STUDY.slots)
    assignments = tuple((name, random.randrange(N)) for name in random.sample(names, n))
    first, second = random.sample([name for name, _ in assignments], 2)
    left = first if kind in ("1-var left", "2-var") else random.randrange(N)
    right = second if kind in ("1-var right", "2-var") else random.randrange(N)
    return Problem(assignments, left, right)
