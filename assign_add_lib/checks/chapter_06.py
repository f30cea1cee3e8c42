"""The checks of chapter 6, The addition module."""

import random

import torch
from torch import Tensor
from torch import cosine_similarity as cosine

from ..model import Weights
from ..task import STUDY
from .common import as_number, as_parts, as_tensor, as_truth, expect, expect_close, foretold


def _bare(weights: Weights, neurons: Tensor, skipped: Tensor | float = 0.0) -> Tensor:
    return (neurons @ weights.W_out @ weights.W_U + skipped).argmax(1)


@foretold("how many of 59 numbers get the answer 2x for c = -1", 58)
def alone(answer) -> None:
    """Exercise 6.1: `answer(weights, c)` is what the bare circuit answers for c times each number by itself, (N,)."""
    for c in (1.0, 2.5, -1.0, -0.5):
        weights = Weights.init(seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
        moved = weights.W_E[: STUDY.n_numbers] @ weights.W_V[1] @ weights.W_O[1]
        pre = moved @ weights.W_in
        skip_path = "that is with the skip path; the bare circuit goes through the neurons"
        wrong = {
            "c has no effect on it": _bare(weights, pre.relu()),
            "multiply by c before the ReLU, not after it": _bare(weights, c * pre.relu()),
            "the ReLU between W_in and W_out is missing": _bare(weights, c * pre),
            skip_path: _bare(weights, (c * pre).relu(), c * moved @ weights.W_U),
        }
        given = as_tensor(answer(weights, c), (STUDY.n_numbers,))
        words = f"for c = {c} in a random network, some answers differ from the bare circuit's"
        expect_close(given, _bare(weights, (c * pre).relu()), words, wrong=wrong)


@foretold("the share of held-out pairs whose carry a probe before the MLP reads", 0.879)
def proof_applies(answer) -> None:
    """Exercise 6.2: `answer(labels)` says whether two labels come equally often with each x and equally often with each y."""
    n = random.choice((7, 11))
    x, y = torch.cartesian_prod(torch.arange(n), torch.arange(n)).T.view(2, n, n)
    crossed = torch.tensor([[1, 2, 0, 0], [2, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    cases = (
        ("x + y modulo n", (x + y) % n, True),
        ("x - y modulo n", (x - y) % n, True),
        ("x + 2 y modulo n", (x + 2 * y) % n, True),
        ("the larger number", torch.maximum(x, y), False),
        ("x itself", x, False),
        ("y itself, whose labels all come equally often with each x", y[:3, :3], False),
        ("the carry", (x + y >= n).long(), False),
        ("a table with two crossed labels among others", crossed, True),
        ("two crossed labels that are no neighbours", crossed * 3 + torch.tensor([[0], [0], [4], [0]]), True),
        ("one label for all", torch.zeros(n, n, dtype=torch.long), False),
    )
    for name, labels, truth in cases:
        given = as_truth(answer(labels))
        two = "two labels come equally often with each x and with each y"
        why = two if truth else "no two labels do so for each x and each y"
        expect(given == truth, f"for {name} it says {given}, but {why}")


def _reached(answer, n: int) -> int:
    """How many of the n * n pairs a pair of tables of points gets right, each by a clear lead."""
    left, right = as_parts(answer(n), 2, "it should return two tables: points for left numbers, and for right ones")
    left, right = (as_tensor(each, (n, n)).double() for each in (left, right))
    two = (left[:, :, None] + right[:, None]).topk(2, 0)
    expect(two.values.isfinite().all(), "points should be finite")
    numbers = torch.arange(n)
    return int(((two.indices[0] == (numbers[:, None] + numbers) % n) & (two.values[0] - two.values[1] > 1e-6)).sum())


@foretold("the share of the pairs that you would reach on 59 hours", lambda answer: _reached(answer, 59) / 59**2)
def points(answer) -> str:
    """Exercise 6.3: `answer(n)` gives points of each answer (row) for each left number, and for each right one, (n, n) each."""
    for n in (3, 7, 12, STUDY.n_numbers):
        reached, half = _reached(answer, n), n * n / 2
        expect(reached > half, f"on a clock of {n} hours {reached} of {n * n} pairs are right; it should be more than half")
    return f"on 59 hours you reach {reached} of {n * n}, or {reached / n**2:.1%}"


def sharing(answer) -> None:
    """Exercise 6.4: `answer(one, two)` is near 1 if the same neurons do the work pair by pair, near 0 if others do.

    The contributions are always the same, so that a measure near a limit is not told one thing now and another later.
    """
    draws = torch.Generator().manual_seed(6)

    def measured(one, two):
        return as_number(answer(one, two), "the measure")

    for _ in range(3):
        one = torch.randn(80, 120, generator=draws).relu() ** 2 * (torch.rand(80, 120, generator=draws) < 0.3)
        near = one + 0.02 * torch.randn(80, 120, generator=draws)
        same, small = measured(one, near), measured(one, 0.2 * near)
        expect(same > 0.8, f"for nearly the same contributions it gives {same:.2f}; that should be near 1")
        words = f"with a fifth of all contributions it gives {small:.2f} for {same:.2f}; a factor should not matter"
        expect_close(small, same, words, 0.05)
        half = torch.rand(120, generator=draws) < 0.5
        apart = measured(one * half, near * ~half)
        doubled = measured(torch.cat([one, 0 * one], 1), torch.cat([0 * near, near], 1))
        expect(apart < 0.2, f"for a rival with two sets of neurons it gives {apart:.2f}; that should be near 0")
        expect(doubled < 0.2, f"for a rival with a copy of every neuron it gives {doubled:.2f}; that should be near 0")
        mixed = near[torch.randperm(80, generator=draws)]
        shuffled = measured(one, mixed)
        words = f"for a rival that uses, for each pair, the neurons of another pair it gives {shuffled:.2f}; compare pair by pair"
        expect(shuffled < 0.5, words)
        used = all(abs(cosine(one, each, 1).mean() - value) < 1e-4 for each, value in ((near, same), (mixed, shuffled)))
        expect(not used, "that is the cosine, which the evidence takes; find another measure")
