"""The checks of chapter 6, The addition module."""

import random
from collections.abc import Callable

import torch

from ..model import Weights, trace
from ..task import STUDY
from .common import as_number, as_parts, as_tensor, as_truth, close, exercise, expect, expect_close, random_problem, refuse


@exercise
def control_levels(answer: Callable) -> None:
    """Exercise 6.1: `answer(a, b)` is the expected cosine of vectors of another pair, and of one with the same x."""
    for n in (5, 6, 7):
        a, b = (torch.randn(n, n, 4, dtype=torch.float64) + torch.randn(n, 1, 4) + torch.randn(1, n, 4) for _ in range(2))
        b = 3 * b
        given = as_parts(answer(a, b), 2, "it should return two things: for another pair, and for the same x")
        another, same_x = (as_number(each, "each level") for each in given)
        dots = torch.einsum("xyd,uvd->xyuv", a, b)  # every vector of a with every one of b
        lengths = float((a.square().sum(2).mean() * b.square().sum(2).mean()).sqrt())
        any_two = float(dots.mean()) / lengths
        same = float(torch.stack([dots[i, :, i] for i in range(n)]).mean()) / lengths
        same_y = float(torch.stack([dots[:, i, :, i] for i in range(n)]).mean()) / lengths
        wrong = {
            "you divide by the two lengths twice": any_two / lengths,
            "that is the mean dot product; divide by both lengths": any_two * lengths,
        }
        refuse(another, wrong, 1e-9)
        words = f"for another pair it gives {another:.4f}; the mean dot product over all pairs of vectors, divided by the root "
        expect_close(another, any_two, words + f"mean square lengths of both tables, is {any_two:.4f}", 1e-9)
        refuse(same_x, {"the second number is for pairs that share y, the column; they should share x, the row": same_y}, 1e-9)
        words = f"for the same x it gives {same_x:.4f}; averaged over all two vectors of the same row it is {same:.4f}"
        expect_close(same_x, same, words, 1e-9)


@exercise
def alone(answer: Callable) -> None:
    """Exercise 6.2: `answer(weights, c)` is what the bare circuit answers for c times each number by itself, (N,)."""
    for c in (1.0, 2.5, -1.0, -0.5):
        weights = Weights.init(seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
        given = as_tensor(answer(weights, c), (STUDY.n_numbers,))
        moved = weights.W_E[: STUDY.n_numbers] @ weights.W_V[1] @ weights.W_O[1]
        pre = moved @ weights.W_in

        def like(hidden, skipped=0.0, weights=weights, given=given):
            return close((hidden @ weights.W_out @ weights.W_U + skipped).argmax(1), given)

        wrong = {
            "c has no effect on it": c < 0 and like(pre.relu()),
            "multiply by c before the ReLU, not after it": c < 0 and like(c * pre.relu()),
            "the ReLU between W_in and W_out is missing": like(c * pre),
            "that is with the skip path; the bare circuit goes through the neurons": like(
                (c * pre).relu(), c * moved @ weights.W_U
            ),
        }
        refuse(given, wrong)
        expect(like((c * pre).relu()), f"for c = {c} in a random network, some answers differ from the bare circuit's")


@exercise
def proof_applies(answer: Callable) -> None:
    """Exercise 6.3: `answer(labels)` says whether two labels come equally often with each x and equally often with each y."""
    n = random.choice((7, 11))
    x, y = torch.cartesian_prod(torch.arange(n), torch.arange(n)).T.view(2, n, n)
    crossed = torch.zeros(4, 4, dtype=torch.long)
    crossed[:2, :2] = torch.tensor([[1, 2], [2, 1]])
    rows_only = torch.tensor([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    cases = (
        ("x + y modulo n", (x + y) % n, True),
        ("x - y modulo n", (x - y) % n, True),
        ("x + 2 y modulo n", (x + 2 * y) % n, True),
        ("the larger number", torch.maximum(x, y), False),
        ("x itself", x, False),
        ("y itself, whose labels all come equally often with each x", rows_only, False),
        ("the carry", (x + y >= n).long(), False),
        ("a table with two crossed labels among others", crossed, True),
        ("one label for all", torch.zeros(n, n, dtype=torch.long), False),
    )
    for name, labels, truth in cases:
        given = as_truth(answer(labels.clone()))
        two = "two labels come equally often with each x and with each y"
        why = two if truth else "no two labels do so for each x and each y"
        expect(given == truth, f"for {name} it says {given}, but {why}")


@exercise
def from_positions(answer: Callable) -> None:
    """Exercise 6.4: `answer(weights, activations)` splits what layer 2 adds at `=` by position, (batch, 16, d_model)."""
    weights = Weights.init(seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
    tokens = torch.stack([random_problem().tokens() for _ in range(9)])
    activations = trace(weights, tokens)
    given = as_tensor(answer(weights, activations), (9, STUDY.length, 24))
    truth = torch.zeros_like(activations.resid_pre)
    for i in range(9):
        for position in range(STUDY.length):
            stream = activations.resid_pre[i, position] + activations.attn_out[i, 0, position]
            truth[i, position] = activations.pattern[i, 1, -1, position] * (stream @ weights.W_V[1] @ weights.W_O[1])
    whole, added = given.sum(1), activations.attn_out[:, 1, -1]
    embedded = activations.pattern[:, 1, -1, :, None] * (activations.resid_pre @ weights.W_V[1] @ weights.W_O[1])
    refuse(given, {"what layer 1 added at a position is moved too; take it into the stream": embedded}, rtol=1e-5)
    words = f"the sixteen vectors should sum to what layer 2 adds at `=`; they miss it by up to {(whole - added).abs().max():.3f}"
    expect(close(whole, added, rtol=1e-5), words)
    expect(close(given, truth, rtol=1e-5), "the sum is right, but some position has another's part")


@exercise
def sharing(answer: Callable) -> None:
    """Exercise 6.5: `answer(one, two)` is near 1 if the same neurons do the work pair by pair, near 0 if others do.

    The contributions are always the same, so that a measure near a limit is not told one thing now and another later.
    """
    draws = torch.Generator().manual_seed(6)

    def measured(one, two):
        return as_number(answer(one.clone(), two.clone()), "the measure")

    for _ in range(3):
        one = torch.randn(80, 120, generator=draws).relu() ** 2 * (torch.rand(80, 120, generator=draws) < 0.3)
        near = one + 0.02 * torch.randn(80, 120, generator=draws)
        same, small = measured(one, near), measured(one, 0.2 * near)
        expect(same > 0.8, f"for nearly the same contributions it gives {same:.2f}; that should be near 1")
        words = f"with a fifth of all contributions it gives {small:.2f} for {same:.2f}; a factor should not matter"
        expect_close(small, same, words, 0.05)
        half = torch.rand(120, generator=draws) < 0.5
        apart = measured(one * half, near * ~half)
        expect(apart < 0.2, f"for a rival with two sets of neurons it gives {apart:.2f}; that should be near 0")
        doubled = measured(torch.cat([one, 0 * one], 1), torch.cat([0 * near, near], 1))
        expect(doubled < 0.2, f"for a rival with a copy of every neuron it gives {doubled:.2f}; that should be near 0")
        shuffled = measured(one, near[torch.randperm(80, generator=draws)])
        words = f"for a rival that uses, for each pair, the neurons of another pair it gives {shuffled:.2f}; compare pair by pair"
        expect(shuffled < 0.5, words)
