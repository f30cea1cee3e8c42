"""The checks of chapter 11, Three phases."""

import math
import random
from itertools import combinations

import pandas as pd
import torch

from .common import as_tensor, expect, expect_close, expect_number, foretold


def _exclusion(s: int, V: int, slots: int, N: int, most: bool = False) -> float:
    """By going through all sets of other variables, in all numbers of assignments or in the largest only."""
    total, numbers = 0.0, range(slots - 1 if most else 0, slots)
    for others in numbers:
        sets = list(combinations(range(1, V), others))  # the asked variable is 0, the group is 0 to s - 1
        alike = [sum(v < s for v in each) for each in sets]
        total += sum((1 + a / N) / (1 + a) for a in alike) / len(sets)
    return total / len(numbers)


@foretold("the share right of k on the right at step 9300", 0.87)
def by_exclusion(answer) -> None:
    """Exercise 11.1: `answer(s, V, slots, N)` is the expected accuracy of a solver that cannot tell s variables apart."""
    for case in ((2, 6, 3, 7), (1, 6, 3, 7), (6, 6, 3, 7), (3, 8, 4, 11), (4, 12, 6, 59)):
        s, V, slots, N = case
        wrong = {
            "alone in its group a variable is always found": s == 1,
            "a wrong number may be equal to the right one": _exclusion(s, V, slots, 10**9),
            "the asked variable is one of the s": _exclusion(min(s + 1, V), V, slots, N),
            "only numbers that hold one of the s are candidates": _exclusion(V, V, slots, N),
            "the other s - 1 are not always assigned": 1 / s,
            "the number of assignments is uniform on 1 to slots, not always slots": _exclusion(s, V, slots, N, most=True),
            "average over the number of assignments, then over how many others of the s are among them": True,
        }
        told = f"s, V, slots, N = {case}", "going through all sets gives"
        expect_number(answer(*case), _exclusion(*case), *told, wrong=wrong)


@foretold("the depth for read, own and itself", (0.007, 0.0, 0.03))
def basin_depth(answer) -> None:
    """Exercise 11.2: `answer(curve)` is how far one must climb at least from a curve's lowest point to leave the window."""
    draw = random.Random(0)
    for number in range(40):
        losses = [draw.randint(0, 900) / 100 for _ in range(draw.randint(5, 17))]
        lowest, middle = (0, len(losses) - 1, *[draw.randrange(len(losses))] * 8)[number % 10], len(losses) // 2
        losses[lowest] = -0.5
        left, right = losses[: lowest + 1], losses[lowest:]
        height = min(max(left), max(right))
        wrong = {
            "the easier of the two sides counts": max(losses) + 0.5,
            "the highest point of a side counts, not its end": min(left[0], right[-1]) + 0.5,
            "the climb starts at the lowest point, not at 0": height - losses[middle],
            "one side is empty: the lowest point belongs to both sides, also where it is an end": math.nan,
        }
        given = answer(pd.Series(losses, [0.5 * (i - middle) for i in range(len(losses))]))
        expect_number(given, height + 0.5, f"losses {losses}", "it should be", wrong=wrong)


@foretold("after how many steps k and l are released, if own is moved threefold and fourfold", (2400, 200))
def one_lever(answer) -> None:
    """Exercise 11.3: `answer(embedding, vectors, index, value)` is the nearest embedding with one product changed."""
    draw, normal = random.Random(0), torch.Generator().manual_seed(0)
    for _ in range(12):
        d, n = draw.randint(5, 12), draw.randint(1, 4)
        embedding, vectors = (torch.randn(*shape, dtype=torch.float64, generator=normal) for shape in ((d,), (n, d)))
        index, value = draw.randrange(n), draw.uniform(-3, 3)
        kept = embedding.clone(), vectors.clone()
        given = as_tensor(answer(embedding, vectors, index, value), (d,), "the embedding").double()
        expect(torch.equal(embedding, kept[0]) and torch.equal(vectors, kept[1]), "it writes into what it was given")
        products, before = vectors @ given, vectors @ embedding
        words = f"the product with row {index} is {products[index]:.4f}, not {value:.4f}"
        expect_close(products[index], value, words, 1e-5)
        others = torch.arange(n) != index
        expect_close(products[others], before[others], "it also changes the products with other rows", 1e-5)
        least, length = (torch.linalg.pinv(vectors) @ (products - before)).norm(), (given - embedding).norm()
        expect(length < least + 1e-5, f"all products are right, but the change is {length:.4f} long; {least:.4f} is enough")
