"""The checks of chapter 8, Variable binding."""

import random
from collections.abc import Callable

import torch

from ..circuits import OV, QK, layer_2_terms
from ..model import Weights, trace
from ..task import STUDY
from .common import as_tensor, exercise, expect, random_problem


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


@exercise
def first_lost(answer: Callable) -> None:
    """Exercise 8.2: `answer(worth, position, place)` is the smallest gap at which a key between outscores the variable."""
    for _ in range(60):
        n = random.randint(4, 12)
        position = torch.randn(n, n, dtype=torch.float64) + random.choice((0.0, 0.8)) * torch.arange(n)
        place, worth = random.randrange(1, n), random.choice((0.3, 1.5, 3.0, 9.0))
        lost = []
        for gap in range(1, place):
            between = [float(position[place, place - back]) for back in range(1, gap + 1)]
            if worth + float(position[place, place - gap - 1]) < max(between):
                lost.append(gap)
        truth = lost[0] if lost else 0
        given = answer(worth, position.clone(), place)
        expect(given is not None, "your function returns nothing yet")
        nearest = [g for g in range(1, place) if worth + position[place, place - g - 1] < position[place, place - 1]]
        words = f"for a number at {place} and a variable worth {worth} it gives {given}; trying every gap gives {truth}"
        if int(given) == (nearest[0] if nearest else 0):
            words += "; is the nearest key between always the strongest?"
        elif truth == 0:
            words += "; with a gap of g the variable stands g + 1 places before, and 0 is the first place"
        expect(int(given) == truth, words)


@exercise
def binding_scores(answer: Callable) -> None:
    """Exercise 8.3: `answer(block, pattern, tokens)` is the binding term of the score of `=`, by look-up."""
    weights = Weights.init(seed=random.randrange(2**31)).to(torch.float64)
    weights = weights.replace(W_E=5 * weights.W_E, W_pos=5 * weights.W_pos)
    moved = weights.W_E @ OV(weights, 1)
    block = moved @ QK(weights, 2) @ moved.T
    for index in range(20):
        tokens = random_problem().tokens(seed=index)
        pattern = trace(weights, tokens[None]).pattern[0, 0]
        given = as_tensor(answer(block, pattern, tokens), (STUDY.length,), "the answer")
        truth = layer_2_terms(weights, tokens[None])[0, 1, 1]
        for position in range(STUDY.length):
            words = f"for key {position} it gives {given[position]:.4f}; the term is {truth[position]:.4f}"
            turned = sum(
                pattern[15, at] * pattern[position, position - 1] * block[tokens[position - 1], tokens[at]] for at in (13, 14)
            )
            if position == 0:
                words += "; nothing stands before position 0"
            elif abs(given[position] - turned) < 1e-9:
                words += "; the rows of the block are what `=` holds, the columns what a key holds"
            elif abs(given[position] * pattern[position, position - 1] - truth[position]) < 1e-9:
                words += "; how much of the token before does this key hold?"
            expect(bool((given[position] - truth[position]).abs() < 1e-9), words)


@exercise
def flattened(answer: Callable) -> None:
    """Exercise 8.4: `answer(term, keys)` is the change that puts a term's mean over the keys in place of its values there."""
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
    """Exercise 8.5: `answer(block, r)` is the matrix of rank at most r that is nearest to the block."""
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
