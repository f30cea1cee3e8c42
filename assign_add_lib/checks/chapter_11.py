"""The checks of chapter 11, Three phases."""

import random
from itertools import combinations

import torch

from ..analysis.interventions import pattern_of
from ..model import run
from ..task import STUDY, Problem
from ..training import load_run
from .common import as_parts, as_tensor, as_whole, expect, expect_close, expect_number, foretold


def _exclusion(s: int, V: int, slots: int, N: int, most: bool = False) -> float:
    """By going through all sets of other variables, in all numbers of assignments or in the largest only."""
    total, numbers = 0.0, range(slots - 1 if most else 0, slots)
    for others in numbers:
        sets = list(combinations(range(1, V), others))  # the asked variable is 0, the group is 0 to s - 1
        alike = [sum(v < s for v in each) for each in sets]
        total += sum((1 + a / N) / (1 + a) for a in alike) / len(sets)
    return total / len(numbers)


@foretold("the accuracy of two letters of twelve", 0.888)
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


@foretold("the share right after the cut", 0.948)
def guilty(answer) -> str:
    """Exercise 11.2: `answer()` is the arrow, as (layer, query, key), without which step 8900 finds k beside a c."""
    given = as_parts(answer(), 3, "the answer is three numbers: layer, query and key")
    layer, query, key = (as_whole(each, what) for each, what in zip(given, ("the layer", "the query", "the key")))
    expect(layer in (1, 2), f"there are layers 1 and 2, not {layer}")
    expect(0 <= key <= query < STUDY.length, "positions count from 0 to 15, and a query attends to keys at or before it")
    chance = torch.Generator().manual_seed(0)
    own, other, typed = torch.randint(0, STUDY.n_numbers, (3, 400), generator=chance)
    each = zip(own.tolist(), other.tolist(), typed.tolist())
    tokens = torch.stack([Problem.parse(f"k={a}, c={b}, {c}+k=?").tokens() for a, b, c in each])
    keep = torch.ones(STUDY.length, STUDY.length)
    keep[query, key] = 0
    cut = {pattern_of(layer): lambda pattern: pattern * keep[-pattern.shape[2] :]}
    answers = run(load_run("seed-42").weights(8900), tokens, cut).answers
    right, of_c = (((number + typed) % STUDY.n_numbers == answers).double().mean() for number in (own, other))
    words = f"with your arrow cut {right:.0%} are right, and {of_c:.0%} are made with the number of c"
    expect(right > 0.9, words)
    return words


@foretold("after how many steps k and l are released, if own is moved threefold and fourfold", (2400, 200))
def one_lever(answer) -> None:
    """Exercise 11.3: `answer(embedding, vectors, index, value)` is the nearest embedding with one product changed."""
    draw, normal = random.Random(0), torch.Generator().manual_seed(0)
    for _ in range(12):
        d, n = draw.randint(5, 12), draw.randint(1, 4)
        embedding, vectors = (torch.randn(*shape, dtype=torch.float64, generator=normal) for shape in ((d,), (n, d)))
        index, value = draw.randrange(n), draw.uniform(-3, 3)
        lent = embedding.clone(), vectors.clone()
        given = as_tensor(answer.lent(*lent, index, value), (d,), "the embedding").double()
        expect(torch.equal(embedding, lent[0]) and torch.equal(vectors, lent[1]), "it writes into what it was given")
        products, before = vectors @ given, vectors @ embedding
        words = f"the product with row {index} is {products[index]:.4f}, not {value:.4f}"
        expect_close(products[index], value, words, 1e-5)
        others = torch.arange(n) != index
        expect_close(products[others], before[others], "it also changes the products with other rows", 1e-5)
        least, length = (torch.linalg.pinv(vectors) @ (products - before)).norm(), (given - embedding).norm()
        expect(length < least + 1e-5, f"all products are right, but the change is {length:.4f} long; {least:.4f} is enough")
