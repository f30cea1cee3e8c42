"""The checks of chapter 8, Variable binding."""

import random
from collections.abc import Callable

import torch

from ..task import STUDY
from .common import as_tensor, exercise, expect


@exercise
def same_head(answer: Callable) -> None:
    """Exercise 8.1: `answer(one, other)` is whether two tables of scores give every query the same attention."""
    for n in (2, 5, 9):
        table = torch.randn(n, n, dtype=torch.float64)
        index = torch.arange(n)
        for_query, for_key = torch.randn(2, n, dtype=torch.float64)
        future = torch.randn(n, n, dtype=torch.float64).triu(1)
        first, bent = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, n, dtype=torch.float64)
        first[0, 0], bent[-1, -1] = 3.0, 1e-2
        cases = [
            (table, True, "the same table twice"),
            (table + for_query[:, None], True, "a constant added for each query, which the softmax forgets"),
            (table + future, True, "another future, which the mask removes"),
            (table + first, True, "another score of query 0 for key 0, the only key that it sees"),
            (table + for_key, False, "a constant added for each key"),
            (table + bent, False, "one score raised by 0.01, which moves the attention of its query"),
            (2.0 * table, False, "all scores doubled, which keeps the largest where it is and sharpens the attention"),
            (table - 2.0 * index.double()[:, None], True, "2i taken away from query i"),
        ]
        for other, truth, words in cases:
            given = answer(table.clone(), other.clone())
            expect(given is not None, "your function returns nothing yet")
            expect(bool(given) == truth, f"{words}: it says {bool(given)}; it should say {truth}")


KINDS = ("PAD", "number", "variable")


def _named(kinds: list[str], worth: dict[str, float], position: list[float]) -> tuple[int, int, int, float]:
    """The keys that the three accounts of exercise 8.2 name, and by how much the largest sum leads the second."""
    sums = [worth[kind] + at for kind, at in zip([*kinds, "number"], position, strict=True)]
    top = max(range(len(sums)), key=sums.__getitem__)
    latest = max(i for i, kind in enumerate(kinds) if kind == "variable")
    return len(kinds) - 1, latest, top, sums[top] - max(sums[:top] + sums[top + 1 :])


@exercise
def separating(answer: Callable) -> None:
    """Exercise 8.2: `answer(worth, position)` is the list of kinds on which three accounts name three keys, most clearly."""
    for draw in range(40):
        n = 4 if draw == 0 else random.randint(2, 5)
        slope = random.choice((0.5, 1.0, 2.0))
        position = [slope * i + random.gauss(0, 0.7) for i in range(n + 1)]
        worth = {"PAD": random.gauss(0, 0.3), "number": random.gauss(-2, 0.5), "variable": random.gauss(3, 1)}
        if draw == 0:
            position, worth = [0.0, 2.0, 4.0, 6.0, 3.0], {"PAD": 0.0, "number": -3.0, "variable": 3.0}
        lists = [[KINDS[code // 3**i % 3] for i in range(n)] for code in range(3**n)]
        told = [(_named(kinds, worth, position), kinds) for kinds in lists if "variable" in kinds]
        margin, best = max(((keys[3], kinds) for keys, kinds in told if len(set(keys[:3])) == 3), default=(0.0, []))
        given = answer(dict(worth), torch.tensor(position, dtype=torch.float64))
        expect(given is not None, "your function returns nothing yet")
        given = list(given)
        shown = {kind: round(value, 2) for kind, value in worth.items()}
        where = f"for {n} keys, worth {shown} and position {[round(at, 2) for at in position]}"
        words = f"{where} it finds no list; there is one that leads by {margin:.2f}"
        if best and _named(best, worth, position)[2] == n:
            words += "; the number itself is a key as well, the last"
        expect(bool(given) or not best, words)
        if not given:
            continue
        right = len(given) == n and set(given) <= set(KINDS) and "variable" in given
        expect(right, f"{where} it gives {given}; it should be {n} kinds, one for each key before the number, with a variable")
        previous, latest, top, lead = _named(given, worth, position)
        words = f"{where} it gives {given}: previous position names {previous}, latest variable {latest}, largest sum {top}"
        if len({previous, latest, top}) < 3 and top == n:
            words += "; the number itself is a key as well, the last"
        expect(len({previous, latest, top}) == 3, words)
        expect(lead > margin - 1e-6, f"{where} it gives {given}, where the sum leads by {lead:.2f}; one leads by {margin:.2f}")


@exercise
def flattened(answer: Callable) -> None:
    """Exercise 8.3: `answer(term, keys)` is the change that puts a term's mean over the keys in place of its values there."""
    for _ in range(10):
        term, keys = torch.randn(6, STUDY.length, dtype=torch.float64), torch.rand(6, STUDY.length) < 0.3
        keys[:, 3] = True
        given = as_tensor(answer(term.clone(), keys.clone()), (6, STUDY.length), "the change")
        for b in range(6):
            here = [j for j in range(STUDY.length) if keys[b, j]]
            mean = sum(float(term[b, j]) for j in here) / len(here)
            for j in range(STUDY.length):
                truth = mean - float(term[b, j]) if j in here else 0.0
                where = "of the mask" if j in here else "outside the mask"
                words = f"at a key {where} it gives {given[b, j]:.4f}; it should be {truth:.4f}"
                if j not in here:
                    words += "; keys outside the mask stay as they are"
                elif abs(float(given[b, j]) - mean) < 1e-9:
                    words += "; this is the new value, and the change is what must be added to the old one"
                elif abs(float(given[b, j]) + float(term[b, j]) - float(term[b].mean())) < 1e-9:
                    words += "; the mean is over the keys of the mask in this problem, not over all"
                elif abs(float(given[b, j]) + float(term[b, j]) - float(term[keys].mean())) < 1e-9:
                    words += "; the mean is over the keys of one problem, not over the batch"
                expect(abs(float(given[b, j]) - truth) < 1e-9, words)


@exercise
def with_directions(answer: Callable) -> None:
    """Exercise 8.4: `answer(block, r)` is the matrix of rank at most r that is nearest to the block."""
    for n in (3, 7, 12):
        block = torch.randn(n, n, dtype=torch.float64)
        values, V = torch.linalg.eigh(block.T @ block)  # ascending
        for r in (1, n // 2, n):
            given = as_tensor(answer(block.clone(), r), (n, n), "the answer")
            rank = int(torch.linalg.matrix_rank(given, atol=1e-6))
            truth = block @ V[:, n - r :] @ V[:, n - r :].T
            off, least = float((given - block).norm()), float((truth - block).norm())
            words = f"a block of {n} rows and r = {r}: rank {rank}, at a distance of {off:.3f}; the nearest is at {least:.3f}"
            if rank < r:
                words += "; r directions are allowed"
            elif rank == r and torch.allclose(torch.linalg.svdvals(given)[:r], values.flip(0)[:r].clamp(min=0).sqrt()):
                words += "; the singular values are right: are the singular vectors on their sides?"
            expect(rank <= r and torch.allclose(given, truth, atol=1e-8), words)
