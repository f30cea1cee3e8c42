"""The checks of chapter 8, Variable binding."""

import random
from collections.abc import Callable

import torch

from ..circuits import OV, QK, layer_2_terms
from ..model import Weights, trace
from ..task import STUDY
from .common import as_tensor, exercise, expect, random_problem


@exercise
def reads_previous(answer: Callable) -> None:
    """Exercise 8.1: `answer(scores, mask_two_back)` is how many rows, from the second, score the previous position highest."""
    cases = [torch.arange(8.0).expand(8, 8), torch.arange(8.0).flip(0).expand(8, 8), *torch.randn(30, 9, 9)]
    for scores in cases:
        for mask_two_back in (False, True):
            truth = 0
            for i in range(1, len(scores)):
                allowed = [j for j in range(i) if not (mask_two_back and j == i - 2)]
                truth += max(allowed, key=lambda j: float(scores[i, j])) == i - 1
            given = as_tensor(answer(scores.clone(), mask_two_back), (), "the answer")
            table = f"for a table of {len(scores)} positions with mask_two_back={mask_two_back} "
            with_self = sum(int(scores[i, : i + 1].argmax()) == i - 1 for i in range(1, len(scores)))
            hint = "; may a position read itself here?" if int(given) == with_self else ""
            expect(int(given) == truth, f"{table}it gives {int(given)}; counting row by row gives {truth}{hint}")


@exercise
def latest_variable(answer: Callable) -> None:
    """Exercise 8.2: `answer(tokens)` is where the latest variable up to each position stands, -1 where there is none."""
    for index in range(60):
        tokens = random_problem().tokens(seed=index)
        if index % 2:
            tokens[: STUDY.room] = tokens[torch.randperm(STUDY.room)]
        given = as_tensor(answer(tokens.clone()), (STUDY.length,), "the answer")
        latest = -1
        for position, token in enumerate(tokens.tolist()):
            latest = position if token >= STUDY.first_variable else latest
            words = f"in {' '.join(STUDY.names(tokens))} position {position} gets {int(given[position])}; it should get {latest}"
            expect(int(given[position]) == latest, words)


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
            if position == 0:
                words += "; nothing stands before position 0"
            elif abs(given[position] * pattern[position, position - 1] - truth[position]) < 1e-9:
                words += "; how much of the token before does this key hold?"
            expect(bool((given[position] - truth[position]).abs() < 1e-9), words)


@exercise
def memory(answer: Callable) -> None:
    """Exercise 8.4: `answer(vectors)` is a matrix by which each vector scores itself 1 and every other 0."""
    for _ in range(10):
        n, d = random.randint(2, 12), random.randint(16, 40)
        vectors = torch.randn(n, d, dtype=torch.float64)
        given = as_tensor(answer(vectors.clone()), (d, d), "the matrix").to(torch.float64)
        block = vectors @ given @ vectors.T
        sums = vectors.T @ vectors
        words = "this is the sum of e_v^T e_v, which works when the vectors are orthonormal; these are not"
        expect(not torch.allclose(given, sums), words)
        gap = (block - torch.eye(n, dtype=torch.float64)).abs().max()
        expect(bool(gap < 1e-6), f"for {n} vectors of length {d} the block differs from the identity by up to {gap:.2g}")
