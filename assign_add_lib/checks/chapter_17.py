"""The checks of chapter 17, The laboratory."""

import math
import random
from collections.abc import Callable
from itertools import product

import pandas as pd
import torch

from ..laboratory.page import differences
from ..laboratory.predictions import Plan, measured, plan_of
from ..laboratory.training import Untrained
from .common import Wrong, as_number, as_tensor, close, exercise, expect, expect_close


@exercise
def silent(answer: Callable) -> None:
    """Exercise 17.1: `answer(N)` are the pairs (frequency, distance) at which a wave modulo N is silent."""
    for N in (12, 59, 60, 58, 45, 64):
        given = as_tensor(list(answer(N)), None, "the answer")
        given, pairs = [tuple(map(int, pair)) for pair in given.tolist()], product(range(1, N // 2 + 1), range(N // 2 + 1))
        true = {(k, d) for k, d in pairs if abs(math.cos(math.pi * k * d / N)) < 1e-9}
        for k, d in sorted(set(given) - true):
            expect(0 < k <= N // 2 and 0 <= d <= N // 2, f"modulo {N} frequencies go from 1 to {N // 2}, distances from 0")
            size = abs(math.cos(math.pi * k * d / N))
            expect(False, f"modulo {N}, at frequency {k} and distance {d} the wave has {size:.3f} of its size")
        missing = sorted(true - set(given))
        expect(not missing, f"modulo {N} there are {len(true)} pairs, and you have {len(set(given))}; one is {missing[:1]}")


def _bound(places: int, slots: int, N: int) -> float:
    """How often a solver is right that binds some places and picks among the others, by going through all problems."""
    total = 0.0
    for n in range(1, slots + 1):
        for asked in range(n):  # counted from the last assignment
            others = max(n - places, 1)
            total += (1 if asked < places else 1 / others + (1 - 1 / others) / N) / n
    return total / slots


def _among_all(places: int, slots: int, N: int) -> float:
    """The same for one that picks among all numbers where it does not bind."""
    picks = [1 / n + (1 - 1 / n) / N for n in range(1, slots + 1)]
    shares = [min(places / n, 1) for n in range(1, slots + 1)]
    return sum(share + (1 - share) * pick for share, pick in zip(shares, picks)) / slots


@exercise
def bound(answer: Callable) -> None:
    """Exercise 17.2: `answer(places, slots, N)` is how often a solver is right that binds so many places and picks otherwise."""
    for slots, N in ((6, 59), (4, 29), (8, 59)):
        for places in (0, 1, 2, slots - 1, slots):
            true, given = _bound(places, slots, N), as_number(answer(places, slots, N))
            wrong = {
                "a wrong number may give the right sum modulo N": _bound(places, slots, 10**12),
                "it need not pick a number whose place is bound": _among_all(places, slots, N),
            }
            words = f"{places} of up to {slots} places, modulo {N}: {true:.4f}, not {given:.4f}"
            expect_close(given, true, words, wrong=wrong)


def _asymmetry(a: float, b: float, c: float, d: float, psi: float) -> float:
    """Half the largest change of the squared length, over all differences of two numbers, when they are exchanged."""
    turn = torch.linspace(0, 2 * math.pi, 721, dtype=torch.float64)
    one, two = (x + y * complex(math.cos(psi), math.sin(psi)) for x, y in ((a, b), (c, d)))
    waves = [torch.polar(torch.ones_like(turn), sign * turn) for sign in (1, -1)]
    first, second = ((one * wave + two).abs().square() for wave in waves)
    return ((first - second).abs().max() / 2).item()


@exercise
def order_told(answer: Callable) -> None:
    """Exercise 17.3: `answer(a, b, c, d, psi)` is how much the squared length tells of the order, with two heads."""
    chosen = [(0.7, 0.3, 0.3, 0.7, math.pi / 2), (1, 0, 0, 1, 1.0), (0.5, 0.5, 0.5, 0.5, 1.0), (0.8, 0.2, 0.4, 0.1, 2.0)]
    chosen += [(0.7, 0.3, 0.3, 0.7, 0.0), *([*(random.random() for _ in range(4)), 6 * random.random()] for _ in range(20))]
    for a, b, c, d, psi in chosen:
        true, given = _asymmetry(a, b, c, d, psi), as_number(answer(a, b, c, d, psi))
        wrong = {
            "it is twice as much as it should be": true > 1e-3 and close(given / max(true, 1e-3), 2, 1e-2),
            "it counts, too, by what angle the second head turns what it brings": close(given * math.sin(psi), true, 1e-3),
            "amounts are not negative": true > 1e-3 and close(given, -true, 1e-3),
        }
        words = f"amounts {a:.2f}, {b:.2f} of x and {c:.2f}, {d:.2f} of y, angle {psi:.2f}: {true:.4f}, not {given:.4f}"
        expect_close(given, true, words, 1e-3, wrong)


def _held_by_luck(n: int, q: float) -> float:
    """The chance that at least two thirds of n seeds hold, each with chance q."""
    needed = -(-2 * n // 3)
    return sum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(needed, n + 1))


@exercise
def seeds_needed(answer: Callable) -> None:
    """Exercise 17.4: `answer(q, most)` is the least multiple of 3 of seeds of which two thirds hold by luck in so few cases."""
    for q in (0.5, 0.3, 0.1, 0.6):
        for most in (0.6, 0.2, 0.05, 0.01):
            given = as_number(answer(q, most))
            true = next(n for n in range(3, 3000, 3) if _held_by_luck(n, q) <= most)
            wrong = {
                "it must be a multiple of 3": bool(given % 3),
                "that asks that all of them hold": next(n for n in range(3, 3000, 3) if q**n <= most),
            }
            chance = f"with {true} seeds the chance is {_held_by_luck(true, q):.4f}"
            expect_close(given, true, f"chance {q} each, at most {most}: {true} seeds, not {given:g}; {chance}", wrong=wrong)


def _fulfilled_by_nothing(plan: Plan, values: pd.Series) -> list[str]:
    """The predictions that a network bears out that has learned nothing, and that ask for no condition."""
    return [each.name for each in plan.predictions if each.holds(values[each.name]) and not each.only_if]


@exercise
def own_world(answer: Callable) -> str:
    """Exercise 17.5: `answer()` is the text of a world's file, whose predictions an untrained network does not bear out."""
    try:
        plan = plan_of("mine", str(answer()))
    except ValueError as error:
        raise Wrong(f"the file cannot be read: {error}") from None
    world = plan.world()
    expect(bool(plan.predictions), "the world predicts nothing")
    expect(bool(differences(world)), "the world does not differ from the study's")
    small = world.n_numbers <= 64 and world.d_model <= 256 and world.steps <= 20_000
    expect(small, "more than 64 numbers, a width of 256 or 20 000 steps take longer than ten minutes")
    values = measured(plan, {0: Untrained(world)})[0]
    if idle := _fulfilled_by_nothing(plan, values):
        words = f"an untrained network has {values[idle[0]]:.3g} and bears out {idle[0]!r}"
        raise Wrong(f"{words}: choose another level, or let it count only if something was learned (only_if)")
    said = "; ".join(f"{name}: {value:.3g}" for name, value in values.items())
    return f"an untrained network has {said}. Now keep the file, and train it"
