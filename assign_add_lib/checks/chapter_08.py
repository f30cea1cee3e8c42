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
def deleted(answer: Callable) -> None:
    """Exercise 8.4: `answer(weights, tokens, query, key)` is the change of the scores of `=` that removes a term."""
    weights = Weights.init(seed=random.randrange(2**31)).to(torch.float64)
    weights = weights.replace(W_E=5 * weights.W_E, W_pos=5 * weights.W_pos)
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(6)])
    scores, terms = trace(weights, tokens).scores[:, 1, -1], layer_2_terms(weights, tokens)
    for query in range(3):
        for key in range(3):
            given = as_tensor(answer(weights, tokens.clone(), query, key), (6, STUDY.length), "the change")
            eight = sum(terms[:, q, k] for q in range(3) for k in range(3) if (q, k) != (query, key))
            words = f"with query source {query} and key source {key}, scores and change do not add to the other eight terms"
            if torch.allclose(given, eight):
                words += "; these are the other eight terms, and the change is what must be added to all nine"
            elif torch.allclose(given, terms[:, query, key]):
                words += "; this adds the term once more"
            elif torch.allclose(given, -terms[:, key, query]):
                words += "; here query and key are exchanged"
            expect(torch.allclose(scores + given, eight, atol=1e-9), words)


@exercise
def nearness(answer: Callable) -> None:
    """Exercise 8.5: `answer(block)` is the cosine between a square block and the identity."""
    for n in (2, 7, 12):
        rank = random.randint(1, n)
        basis = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64)).Q[:, :rank]
        some = torch.randn(n, n, dtype=torch.float64)
        for block, words in (
            (torch.eye(n, dtype=torch.float64), "the identity"),
            (3.0 * torch.eye(n, dtype=torch.float64), "three times the identity"),
            (basis @ basis.T, f"a projection of rank {rank} in {n} dimensions"),
            (some, f"a random block of {n} rows"),
            (-some, "a random block with its sign turned"),
        ):
            given = float(as_tensor(answer(block.clone()), (), "the answer"))
            dot = sum(float(block[i, i]) for i in range(n))
            truth = dot / (sum(float(x) ** 2 for x in block.flatten()) * n) ** 0.5
            expect(abs(given - truth) < 1e-6, f"for {words} it gives {given:.4f}; the cosine is {truth:.4f}")
