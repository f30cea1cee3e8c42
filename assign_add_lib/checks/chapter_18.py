"""The checks of chapter 18, For all problems."""

from dataclasses import replace
from functools import cache
from itertools import product

import torch
from torch import Tensor

from .. import handmade
from ..circuits import last_logits
from ..proof.attack import margin_of
from ..proof.bounds import Tables
from ..proof.everywhere import NUMBER, leads, shares
from ..proof.repair import sharpened
from ..task import Problem
from ..training import load_run
from .common import Wrong, as_number, expect, expect_number, foretold


def _mixture(weights: Tensor, value: Tensor) -> float:
    return ((weights * value).sum() / weights.sum()).item()


def _corners(low: Tensor, high: Tensor, value: Tensor) -> float:
    """The least mixture, by trying both ends of every weight."""
    ends = torch.tensor(list(product((0, 1), repeat=len(value))), dtype=torch.bool)
    weights = torch.where(ends, high, low)
    return ((weights * value).sum(1) / weights.sum(1)).min().item()


@foretold("the least that = can read", -0.2)
def least_mixture(answer) -> None:
    """Exercise 18.1: `answer(low, high, value)` is the least of sum w v / sum w with each w between `low` and `high`."""
    generator = torch.Generator().manual_seed(18)
    six = torch.tensor([1.0, 1, -1, -1, -1, -1, -1, -1])
    cases = [(torch.tensor([8.0, 8, *[0.5] * 6]), torch.tensor([8.0, 8, *[4.0] * 6]), six)]
    for entries in (1, 2, 5, 9, 12):
        low, more, value = (torch.rand(entries, generator=generator, dtype=torch.float64) for _ in range(3))
        cases.append((low + 0.1, low + 0.1 + 3 * more, 4 * value - 1))
    for low, high, value in cases:
        by_sign = torch.where(value < 0, high, low)
        wrong = {
            "the middle of each weight is not the worst": _mixture((low + high) / 2, value),
            "the weights above and below the line are the same ones": (
                torch.minimum(low * value, high * value).sum() / high.sum()
            ).item(),
            "it matters whether a value is below the mean, not whether it is below 0": _mixture(by_sign, value),
        }
        given, true = answer(low, high, value), _corners(low, high, value)
        expect_number(given, true, f"{len(low)} entries", "trying all ends gives", wrong=wrong)
    low = torch.rand(59, generator=generator, dtype=torch.float64) + 0.1
    high, value = low + torch.rand(59, generator=generator, dtype=torch.float64), torch.randn(59, generator=generator).double()
    true = min(_mixture(torch.where(value < level, high, low), value) for level in value)
    expect_number(answer(low, high, value), true, "59 entries", "the least is")


START = "i=1, e=2, l=3, g=4, f=5, k=13, k+24=?"


def _margins(texts: list[str]) -> list[float]:
    """The margins of problems in the network of seed 42."""
    weights = load_run("seed-42").weights()
    tokens = torch.stack([Problem.parse(str(text)).tokens() for text in texts])
    return margin_of(weights, tokens, weights.task.right_answers(tokens)).tolist()


def _changed(problem: Problem) -> list[str]:
    """All problems in which one number that is not asked for is another."""
    given, asked = problem.assignments, (problem.left, problem.right)
    return [
        str(replace(problem, assignments=(*given[:place], (letter, number), *given[place + 1 :])))
        for place, (letter, old) in enumerate(given)
        if letter not in asked
        for number in range(problem.task.n_numbers)
        if number != old
    ]


def _best(problem: Problem) -> tuple[float, str]:
    """The lowest margin that one change can bring, and the problem that it makes."""
    others = _changed(problem)
    margins = _margins(others)
    return min(zip(margins, others))


@cache
def _steepest(text: str) -> str:
    """Where the search ends."""
    while True:
        lowest, better = _best(Problem.parse(text))
        if lowest >= _margins([text])[0] - 1e-4:
            return text
        text = better


@foretold("the margin in the end", -9.0)
def worst(answer) -> str:
    """Exercise 18.2: `answer(text, margins)` is where a search ends that changes one free number at a time."""
    for start in (START, "h=7, b=17, a=42, b+19=?", "c=10, d=20, e=30, 10+23=?"):
        given, seen = Problem.parse(start), str(answer(start, _margins))
        try:
            ended = Problem.parse(seen)
        except ValueError as error:
            raise Wrong(f"from {start!r} it ends at {seen!r}, which is no problem: {error}") from None
        letters = [[letter for letter, _ in each.assignments] for each in (given, ended)]
        expect(letters[0] == letters[1], f"from {start!r} it ends at {seen!r}, where other letters stand, or in another order")
        asked = [(each.left, each.right, [n for letter, n in each.assignments if letter in (each.left, each.right)])
                 for each in (given, ended)]  # fmt: skip
        expect(asked[0] == asked[1], f"from {start!r} it ends at {seen!r}, which asks for something else")
        here, end = _margins([seen, _steepest(start)])
        lowest, better = _best(ended)
        expect(lowest >= here - 1e-3, f"from {start!r} it ends at {seen!r}, with {here:.2f}; {better!r} has {lowest:.2f}")
        words = f"from {start!r} it ends at {seen!r}, with {here:.2f}, where no change lowers the margin; but"
        expect(abs(here - end) < 1e-2, f"{words} the largest step each time leads to {_steepest(start)!r}, with {end:.2f}")
    found = str(answer(START, _margins))
    return f"from {START!r} it ends at {found!r}, with a margin of {_margins([found])[0]:.2f}"


QUESTION = (21, 22)


def between(answer) -> str:
    """Exercise 18.3: `answer()` is a factor where 21+22 is proved, a smaller one where it is wrong, and in which problem."""
    given = answer()
    expect(isinstance(given, list | tuple) and len(given) == 3, "it must return three things: a factor, another, and a text")
    proved, broken, text = as_number(given[0]), as_number(given[1]), str(given[2])
    expect(0 < broken < proved <= 1, f"the factors must go 0 < broken < proved <= 1, not {broken:g} and {proved:g}")
    try:
        problem = Problem.parse(text)
    except ValueError as error:
        raise Wrong(f"{text!r} is no problem: {error}") from None
    expect((problem.left, problem.right) == QUESTION, f"{text!r} does not ask for 21+22")
    answered = last_logits(sharpened(handmade.weights(), (1, broken)), problem.tokens()[None]).argmax().item()
    expect(answered != sum(QUESTION), f"at {broken:g}, {text!r} is answered right, with {answered}")
    tables = Tables(sharpened(handmade.weights(), (1, proved)))
    bound = leads(tables, shares(tables, NUMBER, NUMBER), [QUESTION], [(NUMBER, NUMBER)]).min()
    expect(bound > 0, f"at {proved:g} the bound is {bound:.2f}, which proves nothing")
    expect(proved <= 2 * broken, f"proved at {proved:g} and wrong at {broken:g}: bring them within a factor of 2")
    return f"proved at {proved:g}, by {bound:.2f}; at {broken:g} it says {answered}, which is wrong"
