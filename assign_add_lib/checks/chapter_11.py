"""The checks of chapter 11, Three phases."""

import random
from collections.abc import Callable
from itertools import combinations

import torch

from ..analysis.history import training_share
from ..task import Split, Task
from .common import as_tensor, exercise, expect


def _restrictions(V: int) -> tuple[list[int], list[int]]:
    """Two disjoint random sets of variables of one size, at least two variables being left over."""
    order, n = random.sample(range(V), V), random.randint(1, V // 2 - 1)
    return order[:n], order[n : 2 * n]


@exercise
def chance_level(answer: Callable) -> None:
    """Exercise 11.1: `answer(n)` is the mean of `qk1_num_to_prev_var` over independent random scores of n positions."""
    for n in (3, 4, 12, random.randint(5, 20)):
        candidates = [[j for j in range(i) if j != i - 2] for i in range(1, n)]
        truth = sum(1 / len(each) for each in candidates) / (n - 1)
        given = answer(n)
        expect(given is not None, "your function returns nothing yet")
        given = float(as_tensor(given, (), "the answer"))
        kept = sum(1 / i for i in range(1, n)) / (n - 1)
        hint = ""
        if abs(given - kept) < 1e-6:
            hint = "; the position two back is left out"
        elif abs(given * (n - 1) - truth * (n - 1) + 1) < 1e-6:
            hint = "; position 1 counts, and has one candidate"
        elif abs(given - truth * (n - 1) / n) < 1e-6:
            hint = "; the share is of positions 1 to n - 1"
        words = f"for {n} positions it gives {given:.4f}; the candidates of each add up to {truth:.4f}{hint}"
        expect(abs(given - truth) < 1e-6, words)


def _exclusion(s: int, V: int, slots: int, N: int) -> float:
    """By going through all sets of other variables."""
    total = 0.0
    for others in range(slots):
        sets = list(combinations(range(1, V), others))  # the asked variable is 0, the group is 0 to s - 1
        alike = [sum(v < s for v in each) for each in sets]
        total += sum((1 + a / N) / (1 + a) for a in alike) / len(sets)
    return total / slots


@exercise
def by_exclusion(answer: Callable) -> None:
    """Exercise 11.2: `answer(s, V, slots, N)` is the expected accuracy of a solver that cannot tell s variables apart."""
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
        case = f"s = {s}, V = {V}, slots = {slots}, N = {N}"
        words = f"{case}: it gives {given:.4f}; going through all sets gives {truth:.4f}{hint}"
        expect(abs(given - truth) < 1e-6, words)


def _shares(V: int, never_right: list[int], never_left: list[int], r: float, factor: bool) -> list[tuple[float, float]]:
    """The shares pair by pair, with the factor n of 2-var problems or, by mistake, without."""
    lefts, rights = ([v for v in range(V) if v not in barred] for barred in (never_left, never_right))
    pairs = [(u, v) for u in lefts for v in rights if u != v]
    two = r * (len(lefts) if factor else 1)
    whole = V + 2 * len(lefts) + two
    each = two / len(pairs)
    return [
        (
            ((v in lefts) + each * sum(u == v for u, _ in pairs)) / whole,
            ((v in rights) + each * sum(w == v for _, w in pairs)) / whole,
        )
        for v in range(V)
    ]


@exercise
def asked_share(answer: Callable) -> None:
    """Exercise 11.3: `answer(V, never_right, never_left, r)` is how often training asks each variable on each side."""
    for _ in range(10):
        V, r = random.randint(4, 12), random.choice([0.0, 0.25, 1.0, 3.0])
        never_right, never_left = _restrictions(V)
        pairs = torch.ones(3, 3, dtype=torch.bool)
        split = Split(Task(n_numbers=3, n_variables=V), pairs, tuple(never_right), tuple(never_left))
        truth = training_share(split, r)
        given = as_tensor(answer(V, never_right, never_left, r), (V, 2), "the answer")
        barred_first = sorted(((v, side) for v in range(V) for side in (0, 1)), key=lambda place: float(truth[place]))
        for v, side in barred_first:
            ours, right = float(given[v, side]), float(truth[v, side])
            place = f"variable {v} on the {('left', 'right')[side]}, with V = {V} and r = {r}"
            barred = v in (never_left, never_right)[side]
            hint = "; training never puts it there" if barred else ""
            if not barred and r:
                same = abs(ours - _shares(V, never_right, never_left, r, factor=False)[v][side]) < 1e-5
                hint = "; 2-var problems weigh r times n, not r" if same else "; a pair holds two different variables"
            expect(abs(ours - right) < 1e-5, f"{place}: it gives {ours:.5f}; the share is {right:.5f}{hint}")


@exercise
def steps_to_half(answer: Callable) -> None:
    """Exercise 11.4: `answer(p, q, lr)` is how many steps of gradient descent on (1 - pq)^2 bring pq to a half."""
    cases = [(0.1, 0.1, 0.01), (0.8, 0.7, 0.01), (0.1, -0.1, 0.05), (-0.3, -0.2, 0.02)]
    cases += [(random.uniform(0.01, 0.5), random.uniform(0.01, 0.5), random.choice([0.01, 0.03])) for _ in range(8)]
    expect(answer(*cases[1]) is not None, "your function returns nothing yet")
    for p, q, lr in cases:
        weights, truth, steps = torch.tensor([p, q], dtype=torch.float64, requires_grad=True), None, 0
        while truth is None and steps <= 10_000 and float(weights.detach().abs().sum()) > 1e-9:
            if float(weights.detach().prod()) >= 0.5:
                truth = steps
                break
            with torch.enable_grad():
                (gradient,) = torch.autograd.grad((1 - weights.prod()) ** 2, weights)
            weights = (weights.detach() - lr * gradient).requires_grad_()
            steps += 1
        given = answer(p, q, lr)
        words = f"from p = {p:.3f}, q = {q:.3f} with lr = {lr} it gives {given}; gradient descent takes {truth}"
        off = given is not None and truth is not None and abs(int(given) - truth) == 1
        hint = "; do both weights move at once, and does a start above a half take 0 steps?" if off else ""
        expect((given is None) == (truth is None) and (given is None or int(given) == truth), words + hint)


@exercise
def one_lever(answer: Callable) -> None:
    """Exercise 11.5: `answer(embedding, vectors, index, value)` is the nearest embedding with one product changed."""
    for _ in range(12):
        d, n = random.randint(5, 12), random.randint(1, 4)
        embedding, vectors = torch.randn(d, dtype=torch.float64), torch.randn(n, d, dtype=torch.float64)
        index, value = random.randrange(n), random.uniform(-3, 3)
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
