"""The checks of chapter 11, Three phases."""

import math
import random
from collections.abc import Callable
from itertools import combinations

import pandas as pd
import torch

from .common import as_tensor, exercise, expect


def _exclusion(s: int, V: int, slots: int, N: int, most: bool = False) -> float:
    """By going through all sets of other variables, in all numbers of assignments or in the largest only."""
    total, numbers = 0.0, range(slots - 1 if most else 0, slots)
    for others in numbers:
        sets = list(combinations(range(1, V), others))  # the asked variable is 0, the group is 0 to s - 1
        alike = [sum(v < s for v in each) for each in sets]
        total += sum((1 + a / N) / (1 + a) for a in alike) / len(sets)
    return total / len(numbers)


@exercise
def by_exclusion(answer: Callable) -> None:
    """Exercise 11.1: `answer(s, V, slots, N)` is the expected accuracy of a solver that cannot tell s variables apart."""
    for s, V, slots, N in ((2, 6, 3, 7), (1, 6, 3, 7), (6, 6, 3, 7), (3, 8, 4, 11), (4, 12, 6, 59)):
        truth, given = _exclusion(s, V, slots, N), answer(s, V, slots, N)
        expect(given is not None, "your function returns nothing yet")
        given = float(as_tensor(given, (), "the answer"))
        hint = ""
        if s == 1:
            hint = "; alone in its group a variable is always found"
        elif abs(given - _exclusion(s, V, slots, 10**9)) < 1e-6:
            hint = "; a wrong number may be equal to the right one"
        elif given < truth and abs(given - _exclusion(min(s + 1, V), V, slots, N)) < 1e-6:
            hint = "; the asked variable is one of the s"
        elif abs(given - _exclusion(V, V, slots, N)) < 1e-6:
            hint = "; only numbers that hold one of the s are candidates"
        elif abs(given - 1 / s) < 1e-6:
            hint = "; the other s - 1 are not always assigned"
        elif abs(given - _exclusion(s, V, slots, N, most=True)) < 1e-6:
            hint = "; the number of assignments is uniform on 1 to slots, not always slots"
        else:
            hint = "; average over the number of assignments, then over how many others of the s are among them"
        case = f"s = {s}, V = {V}, slots = {slots}, N = {N}"
        words = f"{case}: it gives {given:.4f}; going through all sets gives {truth:.4f}{hint}"
        expect(abs(given - truth) < 1e-6, words)


@exercise
def basin_depth(answer: Callable) -> None:
    """Exercise 11.2: `answer(curve)` is how far one must climb at least from a curve's lowest point to leave the window."""
    hints = {
        "the easier of the two sides counts": lambda left, low, right: max(max(left), max(right)) - low,
        "the highest point of a side counts, not its end": lambda left, low, right: min(left[0], right[-1]) - low,
        "the climb starts at the lowest point, not at 0": None,
    }
    draw = random.Random(0)
    for number in range(40):
        losses = [draw.randint(0, 900) / 100 for _ in range(draw.randint(5, 17))]
        lowest = (0, len(losses) - 1, *[draw.randrange(len(losses))] * 8)[number % 10]
        losses[lowest] = -0.5
        left, right = losses[: lowest + 1], losses[lowest:]
        amounts = [0.5 * (i - len(losses) // 2) for i in range(len(losses))]
        truth = min(max(left), max(right)) + 0.5
        given = answer(pd.Series(losses, amounts))
        expect(given is not None, "your function returns nothing yet")
        given = float(as_tensor(given, (), "the answer"))
        at_zero = min(max(left), max(right)) - losses[len(losses) // 2]
        wrong = [at_zero if way is None else way(left, -0.5, right) for way in hints.values()]
        hint = next((f"; {words}" for words, value in zip(hints, wrong) if abs(given - value) < 1e-6), "")
        if math.isnan(given):
            hint = "; one side is empty: the lowest point belongs to both sides, also where it is an end"
        words = f"for losses {losses} it gives {given:.2f}, not {truth:.2f}{hint}"
        expect(abs(given - truth) < 1e-5, words)


@exercise
def one_lever(answer: Callable) -> None:
    """Exercise 11.3: `answer(embedding, vectors, index, value)` is the nearest embedding with one product changed."""
    draw, normal = random.Random(0), torch.Generator().manual_seed(0)
    for _ in range(12):
        d, n = draw.randint(5, 12), draw.randint(1, 4)
        embedding, vectors = (torch.randn(*shape, dtype=torch.float64, generator=normal) for shape in ((d,), (n, d)))
        index, value = draw.randrange(n), draw.uniform(-3, 3)
        kept = embedding.clone(), vectors.clone()
        given = answer(embedding, vectors, index, value)
        expect(given is not None, "your function returns nothing yet")
        given = as_tensor(given, (d,), "the embedding").double()
        expect(torch.equal(embedding, kept[0]) and torch.equal(vectors, kept[1]), "it writes into what it was given")
        products, before = vectors @ given, vectors @ embedding
        words = f"the product with row {index} is {products[index]:.4f}, not {value:.4f}"
        expect(abs(float(products[index]) - value) < 1e-5, words)
        others = torch.arange(n) != index
        moved = (products - before)[others].abs()
        expect(not len(moved) or float(moved.max()) < 1e-5, "it also changes the products with other rows")
        gap = (products - before)[:, None]
        least = float(torch.linalg.lstsq(vectors, gap, driver="gelsd").solution.norm())
        length = float((given - embedding).norm())
        expect(length < least + 1e-5, f"all products are right, but the change is {length:.4f} long; {least:.4f} is enough")
