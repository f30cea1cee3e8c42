"""The checks of chapter 3, Training."""

import random
from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from ..circuits import qk_table
from ..model import Weights, trace
from ..task import STUDY
from .common import as_tensor, exercise, expect, random_problem


@exercise
def loss(answer: Callable) -> None:
    """Exercise 3.1: `answer(logits, answers)` is the mean cross entropy."""
    for scale in (1, 30, 1000):
        logits = scale * torch.randn(40, STUDY.n_numbers, dtype=torch.float64)
        answers = torch.randint(STUDY.n_numbers, (40,))
        given = as_tensor(answer(logits, answers), (), "the answer")
        truth = cross_entropy(logits, answers)
        expect(
            bool(given.isfinite()),
            f"with logits of size {scale} it overflows; subtract before you exponentiate, as logsumexp does",
        )
        words = f"on random logits of size {scale} it gives {given:.4f}, but the mean of -ln p is {truth:.4f}"
        expect(bool((given - truth).abs() < 1e-6 * scale), words)


@exercise
def score(answer: Callable) -> None:
    """Exercise 3.2: `answer(S, tokens, i, j)` is a layer-1 score, from the table of all embeddings."""
    weights = Weights.init(STUDY, seed=random.randrange(2**31)).to(torch.float64)
    table, problem = qk_table(weights), random_problem()
    tokens = problem.tokens(seed=0)
    truth = trace(weights, tokens[None]).scores[0, 0]
    for i in range(STUDY.length):
        for j in range(i + 1):
            given = as_tensor(answer(table, tokens, i, j), (), "the answer")
            words = (
                f"for the query at position {i} and the key at {j} it gives {given:.4f}; the network's score is {truth[i, j]:.4f}"
            )
            expect(bool((given - truth[i, j]).abs() < 1e-9), words)


@exercise
def adamw(answer: Callable) -> None:
    """Exercise 3.3: `answer(w, g, m, v, t)` is one step of AdamW."""
    truth = torch.randn(7, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.AdamW([truth], lr=1e-3, betas=(0.9, 0.999), weight_decay=0.02)
    w, m, v = truth.detach().clone(), torch.zeros(7, dtype=torch.float64), torch.zeros(7, dtype=torch.float64)
    for t in range(1, 6):
        truth.grad = torch.randn(7, dtype=torch.float64)
        optimizer.step()
        given = answer(w, truth.grad.clone(), m, v, t)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple) and len(given) == 3, "it should return three things: w, m, v")
        w, m, v = (each.detach() for each in given)
        off = (w - truth).abs().max()
        expect(bool(off < 1e-12), f"after step {t} the weights differ from PyTorch's AdamW by up to {off:.1e}")


@exercise
def reach(answer: Callable) -> None:
    """Exercise 3.4: `answer(weights, tokens)` is how much of each position reaches `=` through both layers."""
    weights = Weights.init(STUDY, seed=random.randrange(2**31))
    batch = torch.stack([random_problem().tokens(seed=index) for index in range(8)])
    given = as_tensor(answer(weights, batch), tuple(batch.shape), "the answer")
    sums = given.sum(1)
    expect(
        torch.allclose(sums, torch.ones_like(sums), atol=1e-5), f"each row should sum to 1; one of yours sums to {sums[0]:.3f}"
    )
    for pattern, row in zip(trace(weights, batch).pattern, given):
        truth = [sum(float(pattern[1, -1, t] * pattern[0, t, i]) for t in range(STUDY.length)) for i in range(STUDY.length)]
        expect(
            torch.allclose(row, torch.tensor(truth), atol=1e-5), "the rows sum to 1 but are not the sums of a_t times A_ti over t"
        )
