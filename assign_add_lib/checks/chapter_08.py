"""The checks of chapter 8, Variable binding."""

import math
import random
from collections.abc import Callable

import torch

from ..task import STUDY
from .common import as_tensor, as_truth, close, exercise, expect, expect_close, hint


@exercise
def same_head(answer: Callable) -> None:
    """Exercise 8.1: `answer(one, other)` is whether two tables of scores give every query the same attention."""
    draws = torch.Generator().manual_seed(8)
    for n in (2, 5, 9):
        table = torch.randn(n, n, dtype=torch.float64, generator=draws)
        index = torch.arange(n)
        for_query, for_key = torch.randn(2, n, dtype=torch.float64, generator=draws)
        future = torch.randn(n, n, dtype=torch.float64, generator=draws).triu(1)
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
            given = as_truth(answer(table.clone(), other.clone()))
            expect(given == truth, f"{words}: it says {given}; it should say {truth}")


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
    draws = random.Random(8)
    for draw in range(40):
        n = 4 if draw == 0 else draws.randint(2, 5)
        slope = draws.choice((0.5, 1.0, 2.0))
        position = [slope * i + draws.gauss(0, 0.7) for i in range(n + 1)]
        worth = {"PAD": draws.gauss(0, 0.3), "number": draws.gauss(-2, 0.5), "variable": draws.gauss(3, 1)}
        if draw == 0:
            position, worth = [0.0, 2.0, 4.0, 6.0, 3.0], {"PAD": 0.0, "number": -3.0, "variable": 3.0}
        lists = [[KINDS[code // 3**i % 3] for i in range(n)] for code in range(3**n)]
        told = [(_named(kinds, worth, position), kinds) for kinds in lists if "variable" in kinds]
        margin, best = max(((keys[3], kinds) for keys, kinds in told if len(set(keys[:3])) == 3), default=(0.0, []))
        given = list(answer(dict(worth), torch.tensor(position, dtype=torch.float64)))
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
        words = f"{where} it gives {given}, where the sum leads by {lead:.2f}; one leads by {margin:.2f}"
        forgotten = [_named(kinds, worth, [*position[:-1], -1e9]) for kinds in (given, *(kinds for _, kinds in told))]
        forgotten = [keys[3] if len(set(keys[:3])) == 3 else 0.0 for keys in forgotten]
        if forgotten[0] > max(forgotten) - 1e-6:
            words += "; it is the best list if one forgets the number itself, which is a key as well, the last"
        expect(lead > margin - 1e-6, words)


@exercise
def flat_restored(answer: Callable) -> None:
    """Exercise 8.3: `answer(scores, term, keys)` is the change that makes a term flat at keys, with their attention restored."""
    draws = torch.Generator().manual_seed(8)
    for _ in range(10):
        scores, term = torch.randn(2, 6, STUDY.length, dtype=torch.float64, generator=draws)
        keys = torch.rand(6, STUDY.length, generator=draws) < 0.3
        keys[:, 3], keys[:, 5] = True, False
        given = as_tensor(answer(scores.clone(), term.clone(), keys.clone()), (6, STUDY.length), "the change").double()
        for b in range(6):
            here, off = [j for j in range(STUDY.length) if keys[b, j]], [j for j in range(STUDY.length) if not keys[b, j]]
            flat = sum(float(term[b, j]) for j in here) / len(here) - term[b, here]

            def together(change, old=scores[b], here=here):
                weight = (old + change).exp()
                return float(weight[here].sum() / weight.sum())

            values = ", ".join(f"{float(given[b, j]):.3f}" for j in off[:3])
            words = f"at keys outside the mask it gives {values}"
            if close(given[b, off], scores[b, off], rtol=1e-5):
                words += ", the old scores: return the change, which is added to them"
            expect_close(given[b, off], torch.zeros(len(off)), words + "; outside the mask nothing changes", 1e-9)
            rest = given[b, here] - flat  # must be one constant
            spread = float(rest.max() - rest.min())
            words = f"at the keys of the mask the change differs from that of the flat term by {spread:.3f} from key to key"
            all_alike = "you give the same to all of them, and need what must be added to the old term to make it flat"
            words += hint(given[b, here], {all_alike: given[b, here[:1]].expand(len(here))}, rtol=1e-5)
            expect(spread < 1e-8, words + "; it should differ by one constant")
            only_flat = torch.zeros(STUDY.length, dtype=torch.float64).index_put((torch.tensor(here),), flat)
            was, now, unrestored = together(0.0), together(given[b]), together(only_flat)
            constant = math.log(was / (1 - was)) - math.log(unrestored / (1 - unrestored))
            mistakes = {
                "the term is flat, and the constant is missing": 0.0,
                "the ratio of the shares is used, and a constant multiplies the odds": math.log(was / unrestored),
                "the constant has the wrong sign": -constant,
            }
            words = f"the keys of the mask get {now:.4f} of the attention together; before the change it was {was:.4f}"
            expect_close(now, was, words + hint(float(rest[0]), mistakes, 1e-8), 1e-8)


@exercise
def with_directions(answer: Callable) -> None:
    """Exercise 8.4: `answer(block, r)` is the matrix of rank at most r that is nearest to the block."""
    draws = torch.Generator().manual_seed(8)
    for n in (3, 7, 12):
        block = torch.randn(n, n, dtype=torch.float64, generator=draws)
        values, V = torch.linalg.eigh(block.T @ block)  # ascending
        for r in (1, n // 2, n):
            given = as_tensor(answer(block.clone(), r), (n, n)).double()
            rank = int(torch.linalg.matrix_rank(given, atol=1e-6))
            truth = block @ V[:, n - r :] @ V[:, n - r :].T
            off, least = float((given - block).norm()), float((truth - block).norm())
            words = f"a block of {n} rows and r = {r}: rank {rank}, at a distance of {off:.3f}; the nearest is at {least:.3f}"
            if rank < r:
                words += "; r directions are allowed"
            elif rank == r and close(torch.linalg.svdvals(given)[:r], values.flip(0)[:r].clamp(min=0).sqrt(), rtol=1e-5):
                words += "; the singular values are right: are the singular vectors on their sides?"
            expect(rank <= r and close(given, truth, rtol=1e-5), words)
