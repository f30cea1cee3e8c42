"""What every check uses: the report of a quoted number, the verdict on an exercise, and what an answer is held against."""

import copy
import functools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from ..task import STUDY, Problem, Split

Wrongs = Mapping[str, object]  # words -> the wrong answer that they explain, or whether it was found
NONE: Wrongs = MappingProxyType({})
NOTHING = "your function returns nothing yet"


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


def foretold(what: str, truth=None) -> Callable:
    """Say of a check what its exercise asks to predict, and what comes out.

    That is a number, several, words, or a function of the learner's own answer; the check returns it where none is given.
    """

    def mark(check: Callable) -> Callable:
        check.foretold = what, truth
        return check

    return mark


def exercise(check: Callable) -> Callable:
    """Make a function that raises `Wrong` into a check that prints its verdict, and what the function returns beside it.

    A guess, made before the answer was tried, is held against what comes out, but only once the answer is right.  The
    function gets copies, so that nothing that it writes into helps it; with `answer.lent` it gets what it is given itself.
    """

    @functools.wraps(check)
    def judged(answer: object, guess: object = None) -> None:
        def lent(*arguments, **named):
            given = normal(answer(*arguments, **named))
            expect(given is not None, NOTHING)
            return given

        def asked(*arguments, **named):
            return lent(*copy.deepcopy(arguments), **copy.deepcopy(named))

        asked.lent = lent
        try:
            said = check(asked if callable(answer) else answer)
            words = f"Right: {said}." if isinstance(said, str) else "Right."
            if guess is not None and hasattr(check, "foretold"):
                what, truth = check.foretold
                words += "\n" + _off(guess, what, said if truth is None else truth(asked) if callable(truth) else truth)
        except Wrong as wrong:
            print(f"Not yet: {wrong}")
        except Exception as error:
            print(f"Not yet: your function stopped with {type(error).__name__}: {error}")
        else:
            print(words)

    return judged


def _off(guess, what: str, truth) -> str:
    """How far a guess is off, in words."""
    if guess is ...:
        return f"You made no guess of {what}. Before you look: put it in the place of the three dots."
    if isinstance(truth, str):
        return f"Your guess of {what}: {guess}. " + ("So it is." if guess == truth else f"It is: {truth}.")
    truth = as_tensor(truth, None).double()
    guess = as_tensor(guess, truth.shape, "your guess").double()
    shown, right, off = (
        ", ".join(f"{each:.4g}" for each in some.flatten().tolist()) for some in (guess, truth, (guess - truth).abs())
    )
    return f"Your guess of {what}: {shown}. It is {right}, so you are off by {off}."


def expect(condition: object, words: str) -> None:
    """Raise `Wrong` with these words unless the condition holds."""
    if not condition:
        raise Wrong(words)


PLAIN = {bool, int, float, str}  # stay as they are, however many there are


def normal(given):
    """A learner's answer, of whatever library, as all checks read it: tensors, Python's numbers, lists of these, or itself."""
    if isinstance(given, Tensor):
        return given.detach().cpu()
    if hasattr(given, "to_numpy"):  # of pandas
        given = given.to_numpy()
    if isinstance(given, np.ndarray | np.generic):
        return torch.from_numpy(given) if given.ndim and given.dtype.kind in "biuf" else given.tolist()
    if not isinstance(given, list | tuple):
        return given
    return [each if type(each) in PLAIN else normal(each) for each in given]


def as_tensor(given, like: Sequence[int] | Tensor | None, what: str = "the answer") -> Tensor:
    """The learner's numbers as a tensor of this shape, or of a tensor's shape and precision, or of any; else `Wrong`."""
    given = normal(given)
    expect(given is not None, NOTHING)
    try:
        given = given if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given))
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"{what} should be numbers, not {given!r:.60}") from None
    shape = tuple(like.shape) if isinstance(like, Tensor) else given.shape if like is None else tuple(like)
    expect(tuple(given.shape) == tuple(shape), f"{what} has shape {tuple(given.shape)}; it should be {shape}")
    return given.to(like.dtype) if isinstance(like, Tensor) and like.is_floating_point() else given


def as_number(given, what: str = "the answer") -> float:
    """The learner's number, or the only entry of a tensor; else `Wrong`."""
    given = as_tensor(given, None, what)
    expect(given.numel() == 1, f"{what} has shape {tuple(given.shape)}; it should be one number")
    return float(given)


def as_whole(given, what: str) -> int:
    """The learner's whole number; else `Wrong`."""
    given = as_number(given, what)
    expect(given.is_integer(), f"{what} should be a whole number, not {given:g}")
    return int(given)


def as_truths(given, shape: Sequence[int] | None, what: str = "the answer") -> Tensor:
    """The learner's tensor of True or False, or 1 or 0; else `Wrong`."""
    given = as_tensor(given, shape, what)
    known = not given.is_floating_point() and ((given == 0) | (given == 1)).all()
    expect(known, f"{what} should be True or False, not {given.flatten()[:3].tolist()}")
    return given.bool()


def as_truth(given) -> bool:
    """The learner's True or False, or 1 or 0; else `Wrong`."""
    given = as_truths(given, None)
    expect(given.numel() == 1, f"the answer has shape {tuple(given.shape)}; it should be True or False")
    return bool(given)


def as_parts(given, number: int, words: str) -> list:
    """The parts of a learner's tuple, list, array or tensor, so many; else `Wrong` with these words."""
    given = normal(given)
    expect(isinstance(given, list) or getattr(given, "ndim", 0) > 0, words)
    expect(len(given) == number, words)
    return list(given)


def close(given, truth, atol: float = 1e-8, rtol: float = 0.0) -> bool:
    """Whether numbers, or tensors of one shape, differ by no more than this, whatever their precision."""
    return torch.allclose(*(torch.as_tensor(each, dtype=torch.float64) for each in (given, truth)), rtol, atol, equal_nan=True)


def hint(given, wrong: Wrongs, atol: float = 1e-6, rtol: float = 0.0) -> str:
    """What to add to a verdict: the words of the first of these wrong answers that this one is.

    For those told otherwise, True or False stands.
    """
    for words, value in wrong.items():
        if value if isinstance(value, bool) else close(given, value, atol, rtol):
            return f"; {words}"
    return ""


def expect_close(given, truth, words: str, atol: float = 1e-6, wrong: Wrongs = NONE, rtol: float = 0.0) -> None:
    """Raise `Wrong` with these words, and the hint of a known wrong answer, unless the answer is close to the truth."""
    if not close(given, truth, atol, rtol):
        raise Wrong(words + hint(given, wrong, atol, rtol))


def expect_number(given, truth: float, case: str, told: str, atol: float = 1e-6, wrong: Wrongs = NONE, rtol: float = 0.0) -> None:
    """The same for a number in a case, such as "N = 3", whose truth is `told` so, such as "counted over all pairs it is"."""
    given = as_number(given)
    expect_close(given, truth, f"for {case} it gives {given:#.4g}; {told} {truth:#.4g}", atol, wrong, rtol)


def at_least(k: int, n: int, p: float) -> float:
    """The probability of at least k heads in n tosses of a coin with chance p."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def random_problem(kind: str | None = None) -> Problem:
    """A random problem of one of the four kinds, any kind if not given."""
    kind = kind or random.choice(["0-var", "1-var left", "1-var right", "2-var"])
    names, N = random.sample(STUDY.variable_names, random.randint(2, STUDY.slots)), STUDY.n_numbers
    sides = zip(("left", "right"), random.sample(names, 2))
    operands = [name if side in kind or kind == "2-var" else random.randrange(N) for side, name in sides]
    return Problem(tuple((name, random.randrange(N)) for name in names), *operands)


def random_problems(n: int, *kinds: str) -> tuple[list[Problem], Tensor]:
    """So many random problems of these kinds, of any if none is given, and their token ids (n, length), spread."""
    problems = [random_problem(random.choice(kinds) if kinds else None) for _ in range(n)]
    return problems, torch.stack([problem.tokens(seed=index) for index, problem in enumerate(problems)])


def kept_out(problem: Problem, split: Split) -> tuple[str, str]:
    """Why training never asks a problem: for its pair, and for where its variables stand; empty words if it may."""
    x, y = problem.values
    pair = "" if split.train_pairs[x, y] else f"adds ({x}, {y}), which is held out"
    sides = ((problem.left, "left", "kl"), (problem.right, "right", "ab"))
    found = [f"has {name} on the {side}, where training never puts it" for name, side, never in sides if str(name) in never]
    if problem.left == problem.right and isinstance(problem.left, str):
        found.insert(0, f"asks for {problem.left} twice")
    return pair, "".join(found[:1])
