"""Bounds for all names, places, numbers and contexts at once, by the tables alone: good where attention is sharp.

Every position may hold any token that can stand there, whatever stands beside it.  From that follow bounds of what `=` holds
after layer 1, of all scores of layer 2, of the shares that it reads, and of the neurons; nothing is bounded together.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from ..task import KINDS, Task
from .balls import Ball, ball, join, least
from .bounds import Tables, Values, lines, standing

NUMBER = -1  # in place of a variable by index: a constant, any number
Pair = tuple[int, int]


class Shares(NamedTuple):
    """How much of layer 2's attention at `=` goes to the two numbers to add, at least and at most, and to all others, at most."""

    few: tuple[float, float]
    many: tuple[float, float]
    others: float

    @classmethod
    def any(cls) -> "Shares":
        """Whatever attention does."""
        return cls((0.0, 0.0), (1.0, 1.0), 1.0)

    def widen(self, other: "Shares") -> "Shares":
        """What holds for both."""
        few, many = zip(*((min(pair), max(pair)) for pair in zip(self.few + self.many, other.few + other.many)))
        return Shares(few[:2], many[2:], max(self.others, other.others))


def _asked(tables: Tables, left: int, right: int) -> np.ndarray:
    """Which tokens may stand where, (position, token), once the operands are known to be a variable or a number."""
    task, stands, token = tables.task, standing(tables.task), np.arange(tables.task.d_vocab)
    for position, asked in ((task.left, left), (task.right, right)):
        stands[position] = token < task.n_numbers if asked == NUMBER else token == task.first_variable + asked
    return stands


def _mixed(weight: Ball, value: Ball, stands: np.ndarray) -> np.ndarray:
    """The least of sum weight * value / sum weight, (function, query), each position holding any token that may stand there.

    `weight` (query, position, token), `value` (function, position, token), `stands` (query or 1, position, token).
    """
    bar = np.where(stands, 0, np.inf)
    low = Ball((weight.mid + bar).min(-1), weight.rad).sum(-1).lower()  # (query)
    high = Ball((weight.mid - bar).max(-1), weight.rad).sum(-1).upper()
    light = low < 1e-9  # what weighs next to nothing may bring anything that stands there
    anything = Ball((value.mid[:, None] + bar).min((2, 3)), value.rad).lower()
    low, inside = np.where(light, 1, low), np.where(stands, weight.mid, 0)
    around = np.einsum("fkv,qkv->fq", value.mid, inside) / np.where(light, 1, inside.sum((1, 2)))
    for _ in range(2):
        apart = weight * (value[:, None] - around[..., None, None])
        found = Ball((apart.mid + bar).min(-1), apart.rad).sum(-1).lower()  # (function, query)
        around = (around + least(ball(found) / low, ball(found) / np.where(light, 1, high))).lower()
    return np.where(light, anything, around)


def shares(tables: Tables, left: int, right: int) -> Shares:
    """Bounds for one form of question: a variable by index, or NUMBER, on either side."""
    task, shape = tables.task, tables.own.shape[:2]
    stands = _asked(tables, left, right)
    at_equal = tables.weight[[task.last], task.equal]
    lower, upper = (
        (ball(sign * _mixed(at_equal, tables.sought * sign, stands[None])[:, 0]) + tables.sought_by_reader) for sign in (1, -1)
    )
    lower, upper = (each.reshape(2, *shape) for each in (lower.lower(), upper.upper()))
    token, names = np.arange(task.d_vocab), task.first_variable + np.arange(task.n_variables)
    asked = [task.first_variable + each for each in (left, right) if each != NUMBER]

    def scores(position: int, tokens: np.ndarray, before: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The scores of keys at a position, from below and above; `before` are the tokens that may stand just before."""
        here = np.repeat(stands[None], len(tokens), 0)
        here[:, position + 1 :] = False
        here[:, position] = token == tokens[:, None]
        if before is not None:
            here[:, position - 1] = np.isin(token, before)
        here &= tables.possible[position, tokens]
        weight = tables.weight[position, tokens]
        weight = Ball(np.where(here.any(2)[..., None], weight.mid, 0), weight.rad)
        here[:, position + 1 :, 0] = True  # what comes later weighs nothing
        low = ball(_mixed(weight, ball(lower[1:]), here)[0]) + lower[0, position, tokens]
        high = ball(-_mixed(weight, ball(-upper[1:]), here)[0]) + upper[0, position, tokens]
        return low.lower(), high.upper()

    numbers = np.arange(task.n_numbers)
    wanted, others = [], ball(0.0)
    for position, operand in ((task.left, left), (task.right, right)):
        if operand == NUMBER:
            found = [scores(position, numbers)]
        else:
            name = np.array([task.first_variable + operand])
            found = [scores(each, numbers, name) for each in range(1, task.room)]
            others = others + ball(scores(position, name)[1].max()).exp()
        wanted.append((min(low.min() for low, _ in found), max(high.max() for _, high in found)))
    distractors = np.setdiff1d(names, asked)
    for position in range(task.room):
        highest = scores(position, np.append(names, task.pad) if position < task.room - 1 else np.array([task.pad]))[1].max()
        if position and len(distractors):
            highest = max(highest, scores(position, numbers, distractors)[1].max())
        others = others + ball(highest).exp()
    for position, each in ((task.room, task.plus), (task.last, task.equal)):
        others = others + ball(scores(position, np.array([each]))[1].max()).exp()
    few, many = ([ball(each[side]).exp() for each in wanted] for side in (0, 1))
    return Shares(
        tuple(float((few[i] / (few[i] + many[1 - i] + others)).lower()) for i in (0, 1)),
        tuple(float((many[i] / (many[i] + few[1 - i])).upper()) for i in (0, 1)),
        float((others / (few[0] + few[1] + others)).upper()),
    )


def forms(task: Task, kind: str) -> Iterator[Pair]:
    """The forms of questions of a kind: variables by index on either side, or NUMBER."""
    V = range(task.n_variables)
    yield from {
        KINDS[0]: [(NUMBER, NUMBER)],
        KINDS[1]: [(v, NUMBER) for v in V],
        KINDS[2]: [(NUMBER, v) for v in V],
        KINDS[3]: [(v, u) for v in V for u in V if u != v],
    }[kind]


def leads(
    tables: Tables,
    read: Shares,
    pairs: Iterable[Pair],
    asked: Iterable[Pair] = ((NUMBER, NUMBER),),
    waves: Sequence[int] | None = None,
) -> np.ndarray:
    """The least lead of the right answer for pairs of numbers, (pair), where layer 2 reads these shares, whatever layer 1 does.

    `asked` are the forms of questions.  With `waves`, of a number no more is used than its waves of these frequencies, and one
    bound on all that they leave.
    """
    task, pairs, asked = tables.task, list(pairs), set(asked)
    N = task.n_numbers
    sides = [
        [position] * any(form[side] == NUMBER for form in asked)
        + [*range(1, task.room)] * any(form[side] != NUMBER for form in asked)
        for side, position in enumerate((task.left, task.right))
    ]
    inputs = _Parts.of(tables, ball(np.concatenate([tables.W_in, -tables.W_in], 1)), sides, waves)
    found = []
    for start in range(0, len(pairs), N):
        some = pairs[start : start + N]
        below = [lines(tables, (x + y) % N, *_range(inputs.least(read, x, y))) for x, y in some]
        parts = _Parts.of(tables, join([functions for functions, _ in below]), sides, waves)
        for index, ((x, y), (_, constant)) in enumerate(zip(some, below)):
            lead = (ball(parts.at(slice(index * N, (index + 1) * N)).least(read, x, y)) + constant).lower()
            found.append(np.delete(lead, (x + y) % N).min())
    return np.array(found)


def least_lead(tables: Tables, kinds: Iterable[str] = KINDS) -> tuple[np.ndarray, Shares]:
    """The least lead of the right answer over all problems of these kinds, for all pairs of numbers (N, N), and the shares."""
    N = tables.task.n_numbers
    asked = {form for kind in kinds for form in forms(tables.task, kind)}
    read = reduce(Shares.widen, (shares(tables, *form) for form in sorted(asked)))
    return leads(tables, read, product(range(N), repeat=2), asked).reshape(N, N), read


def _range(least_of_both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the least of functions and then of their negatives: the least and the largest."""
    half = len(least_of_both) // 2
    return least_of_both[:half], -least_of_both[half:]


def _waved(values: np.ndarray, waves: Sequence[int]) -> np.ndarray:
    """What lies below values (function, N): their waves of these frequencies, their mean, and the least of what is left."""
    kept = np.isin(np.arange(values.shape[1] // 2 + 1), [0, *waves])
    wave = np.fft.irfft(np.fft.rfft(values) * kept, values.shape[1])
    return np.minimum(wave + (values - wave).min(1, keepdims=True), values)


class _Parts(NamedTuple):
    """The least that functions take from each part of what the MLP reads."""

    always: np.ndarray  # (function) the reader's own, and what layer 1 brings
    first: np.ndarray  # (function, N) a number to add, with all that layer 1 may have moved there
    second: np.ndarray  # (function, N)
    other: np.ndarray  # (function) any other key

    @classmethod
    def of(cls, tables: Tables, functions: Ball, sides: list[list[int]], waves: Sequence[int] | None = None) -> "_Parts":
        """Of functions (d_model, function); `sides` are the positions where each number may stand."""
        values = Values.of(tables, functions)
        own, moved = values.own.lower(), values.moved.lower().min((1, 2))  # layer 1 moves a mixture of places
        first, second = ((ball(own[:, side, : tables.task.n_numbers].min(1)) + moved[:, None]).lower() for side in sides)
        if waves is not None:
            first, second = (_waved(each, waves) for each in (first, second))
        always = (values.reader + values.direct.lower().min((1, 2))).lower()
        return cls(always, first, second, (ball(own.min((1, 2))) + moved).lower())

    def at(self, functions: slice) -> "_Parts":
        """Some of the functions."""
        return _Parts(*(each[functions] for each in self))

    def least(self, read: Shares, x: int, y: int) -> np.ndarray:
        """The least (function) for two numbers, by the shares that they get."""
        first, second, other = ball(self.first[:, x]), ball(self.second[:, y]), ball(self.other)
        total = self.always + least(first * read.few[0], first * read.many[0])
        total = total + least(second * read.few[1], second * read.many[1]) + least(other * read.others, 0.0)
        return total.lower()
