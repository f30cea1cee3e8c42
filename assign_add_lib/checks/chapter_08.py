"""The checks of chapter 8, Variable binding."""

import torch

from ..task import STUDY
from .common import as_tensor, as_truth, close, expect, expect_close, foretold, hint


def _randn(draws: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=draws)


@foretold("the table that a head can imitate without knowing where its query stands", "the nearer the better")
def place_blind(answer) -> None:
    """Exercise 8.1: `answer(table)` is whether one score for each key gives every query the attention that the table gives."""
    draws = torch.Generator().manual_seed(8)
    for n in (3, 5, 9):
        keys, ends = _randn(draws, n).expand(n, n), torch.zeros(2, n, n, dtype=torch.float64)
        ends[0, -1, 0], ends[1, 1, 0] = 1e-2, 1e-2
        back = torch.arange(n, dtype=torch.float64)[:, None] - torch.arange(n)
        cases = (
            (keys, True, "one score for each key, the same for every query"),
            (keys + _randn(draws, n, 1), True, "the same, and a constant for each query, which the softmax forgets"),
            (keys + _randn(draws, n, n).triu(1), True, "the same, and anything in the future, which the mask removes"),
            (-2.0 * back, True, "-2 (i - j)"),
            (_randn(draws, n, n), False, "random scores"),
            (keys + ends[0], False, "one score for each key, but key 0 gets 0.01 more of the last query"),
            (keys + ends[1], False, "one score for each key, but key 0 gets 0.01 more of query 1; every query counts"),
            (20.0 * (back == 1), False, "20 for the key before"),
            (20.0 * (back == 0), False, "20 for the query's own place"),
            (-(back**2), False, "-(i - j)²"),
        )
        for table, truth, words in cases:
            given = as_truth(answer(table))
            expect(given == truth, f"{words}: it says {given}; it should say {truth}")


@foretold("the gap from which on most numbers no longer attend most to their letter, in most runs", 2)
def separated(answer) -> None:
    """Exercise 8.2: `answer(gap)` has each number once at position 8, its letter gap + 1 positions before it, and PADs beside."""
    N, length, number = STUDY.n_numbers, STUDY.length, 8
    for gap in (0, 1, 2, 5, 7):
        given, letter = as_tensor(answer(gap), (N, length), f"the tokens for gap {gap}"), number - 1 - gap
        first = STUDY.names(given[0].long())
        text = f"for gap {gap}, the first row is {' '.join(first)}"
        expect((given[:, number].sort().values == torch.arange(N)).all(), f"{text}; position 8 should hold each number once")
        expect((given[:, letter] >= STUDY.first_variable).all(), f"{text}; position {letter} should hold a letter")
        pads = [place for place in range(STUDY.room) if place not in (letter, number)]
        expect((given[:, pads] == STUDY.pad).all(), f"{text}; all other of the first twelve should be PAD")
        expect((given[:, STUDY.room] == STUDY.plus).all(), f"{text}; + stands at position {STUDY.room}")
        expect((given[:, STUDY.last] == STUDY.equal).all(), f"{text}; = stands at position {STUDY.last}")
        asked = given[:, [STUDY.left, STUDY.right]].sort(1).values
        right = (asked[:, 1] == given[:, letter]) & (asked[:, 0] < N)
        expect(right.all(), f"{text}; the question should be for the letter plus a number")


@foretold("the deletion that repairs k most", "rest · name")
def flat_restored(answer) -> None:
    """Exercise 8.3: `answer(scores, term, keys)` is the change that makes a term flat at keys, with their attention restored."""
    draws = torch.Generator().manual_seed(8)
    for _ in range(10):
        scores, term = _randn(draws, 2, 6, STUDY.length)
        keys = torch.rand(6, STUDY.length, generator=draws) < 0.3
        keys[:, 3], keys[:, 5] = True, False
        given = as_tensor(answer(scores, term, keys), (6, STUDY.length), "the change").double()
        for old, part, here, change in zip(scores, term, keys, given):
            words = f"outside the mask nothing changes; at keys there it gives {change[~here][:3].tolist()}"
            wrong = {"these are the old scores: return the change, which is added to them": old[~here]}
            expect_close(change[~here], 0 * old[~here], words, 1e-9, wrong)
            flat = part[here].mean() - part[here]
            rest = change[here] - flat  # must be one constant
            words = f"at the keys of the mask the change differs from that of the flat term by {rest.max() - rest.min():.3f} "
            all_alike = "you give the same to all of them, and need what must be added to the old term to make it flat"
            words += "from key to key; it should differ by one constant"
            expect_close(rest, rest[:1].expand_as(rest), words, 1e-8, {all_alike: change[here][0] - flat})
            only_flat = torch.zeros_like(old).masked_scatter(here, flat)
            was, now, unrestored = ((old + each).softmax(0)[here].sum() for each in (0 * old, change, only_flat))
            wrong = {
                "the term is flat, and the constant is missing": 0.0,
                "the ratio of the shares is used, and a constant multiplies the odds": (was / unrestored).log(),
                "the constant has the wrong sign": unrestored.logit() - was.logit(),
            }
            words = f"the keys of the mask get {now:.4f} of the attention together; before the change it was {was:.4f}"
            expect_close(now, was, words + hint(rest[0], wrong, 1e-8), 1e-8)


def with_directions(answer) -> None:
    """Exercise 8.4: `answer(block, r)` is the matrix of rank at most r that is nearest to the block."""
    draws = torch.Generator().manual_seed(8)
    for n in (3, 7, 12):
        block = _randn(draws, n, n)
        values, V = torch.linalg.eigh(block.T @ block)  # ascending
        for r in (1, n // 2, n):
            given, largest = as_tensor(answer(block, r), (n, n)).double(), V[:, n - r :]
            truth, rank = block @ largest @ largest.T, torch.linalg.matrix_rank(given, atol=1e-6)
            off, least = (given - block).norm(), (truth - block).norm()
            known = close(torch.linalg.svdvals(given)[:r], values.flip(0)[:r].clamp(min=0).sqrt(), 1e-6)
            wrong = {
                "r directions are allowed": bool(rank < r),
                "the singular values are right: are the singular vectors on their sides?": bool(rank == r) and known,
            }
            words = f"a block of {n} rows and r = {r}: rank {rank}, at a distance of {off:.3f}; the nearest is at {least:.3f}"
            expect_close(given, truth, words, 1e-6, wrong)
