"""The checks of chapter 6, The addition module."""

import random
from collections.abc import Callable

import torch

from ..model import Weights, trace
from ..task import STUDY
from .common import as_tensor, exercise, expect, random_problem


@exercise
def control_levels(answer: Callable) -> None:
    """Exercise 6.1: `answer(a, b)` is the expected cosine of vectors of another pair, and of one with the same x."""
    for n in (5, 6, 7):
        a, b = (torch.randn(n, n, 4, dtype=torch.float64) + torch.randn(n, 1, 4) + torch.randn(1, n, 4) for _ in range(2))
        b = 3 * b
        given = answer(a, b)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple) and len(given) == 2, "it should return two things: for another pair, and for the same x")
        another, same_x = (as_tensor(each, (), "each level").item() for each in given)
        dots = torch.einsum("xyd,uvd->xyuv", a, b)  # every vector of a with every one of b
        lengths = float((a.square().sum(2).mean() * b.square().sum(2).mean()).sqrt())
        same = float(torch.stack([dots[i, :, i] for i in range(n)]).mean()) / lengths
        same_y = float(torch.stack([dots[:, i, :, i] for i in range(n)]).mean()) / lengths
        expect(abs(another * lengths - float(dots.mean()) / lengths) > 1e-9, "you divide by the two lengths twice")
        expect(abs(another - float(dots.mean())) > 1e-9, "that is the mean dot product; divide by both lengths")
        words = f"for another pair it gives {another:.4f}; the mean dot product over all pairs of vectors, divided by the root "
        words += f"mean square lengths of both tables, is {float(dots.mean()) / lengths:.4f}"
        expect(abs(another - float(dots.mean()) / lengths) < 1e-9, words)
        expect(
            abs(same_x - same_y) > 1e-9, "the second number is for pairs that share y, the column; they should share x, the row"
        )
        words = f"for the same x it gives {same_x:.4f}; averaged over all two vectors of the same row it is {same:.4f}"
        expect(abs(same_x - same) < 1e-9, words)


@exercise
def alone(answer: Callable) -> None:
    """Exercise 6.2: `answer(weights, c)` is what the bare circuit answers for c times each number by itself, (N,)."""
    for c in (1.0, 2.5, -1.0, -0.5):
        weights = Weights.init(seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
        given = as_tensor(answer(weights, c), (STUDY.n_numbers,), "the answer").tolist()
        moved = c * (weights.W_E[: STUDY.n_numbers] @ weights.W_V[1] @ weights.W_O[1])
        pre = moved @ weights.W_in
        bare = pre.clamp(min=0) @ weights.W_out @ weights.W_U

        def answers(logits):
            return logits.argmax(1).tolist()

        truth = answers(bare)
        expect(c > 0 or given != answers((pre / c).clamp(min=0) @ weights.W_out @ weights.W_U), "c has no effect on it")
        late = c * (pre / c).clamp(min=0) @ weights.W_out @ weights.W_U
        expect(c > 0 or given != answers(late), "multiply by c before the ReLU, not after it")
        expect(given != answers(pre @ weights.W_out @ weights.W_U), "the ReLU between W_in and W_out is missing")
        expect(
            given != answers(bare + moved @ weights.W_U), "that is with the skip path; the bare circuit goes through the neurons"
        )
        wrong = sum(one != two for one, two in zip(given, truth))
        expect(given == truth, f"for c = {c} in a random network, {wrong} of {len(truth)} answers differ from the bare circuit's")


@exercise
def proof_applies(answer: Callable) -> None:
    """Exercise 6.3: `answer(labels)` says whether two labels come equally often with each x and equally often with each y."""
    n = random.choice((7, 11))
    x, y = torch.cartesian_prod(torch.arange(n), torch.arange(n)).T.view(2, n, n)
    two = torch.zeros(4, 4, dtype=torch.long)
    two[0, 0] = two[1, 1] = 1
    two[0, 1] = two[1, 0] = 2
    rows_only = torch.tensor([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    cases = (
        ("x + y modulo n", (x + y) % n, True),
        ("x - y modulo n", (x - y) % n, True),
        ("x + 2 y modulo n", (x + 2 * y) % n, True),
        ("the larger number", torch.maximum(x, y), False),
        ("x itself", x, False),
        ("y itself, whose labels all come equally often with each x", rows_only, False),
        ("the carry", (x + y >= n).long(), False),
        ("a table with two crossed labels among others", two, True),
        ("one label for all", torch.zeros(n, n, dtype=torch.long), False),
    )
    for name, labels, truth in cases:
        given = answer(labels.clone())
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, bool) or getattr(given, "dtype", None) == torch.bool, "it should return true or false")
        why = (
            "two labels come equally often with each x and with each y" if truth else "no two labels do so for each x and each y"
        )
        expect(bool(given) == truth, f"for {name} it says {bool(given)}, but {why}")


@exercise
def from_positions(answer: Callable) -> None:
    """Exercise 6.4: `answer(weights, activations)` splits what layer 2 adds at `=` by position, (batch, 16, d_model)."""
    weights = Weights.init(seed=random.randrange(2**31), d_model=24, d_mlp=30).to(torch.float64)
    tokens = torch.stack([random_problem().tokens() for _ in range(9)])
    activations = trace(weights, tokens)
    given = as_tensor(answer(weights, activations), (9, STUDY.length, 24), "the answer").double()
    truth = torch.zeros_like(given)
    for i in range(9):
        for position in range(STUDY.length):
            stream = activations.resid_pre[i, position] + activations.attn_out[i, 0, position]
            truth[i, position] = activations.pattern[i, 1, -1, position] * (stream @ weights.W_V[1] @ weights.W_O[1])
    whole, added = given.sum(1), activations.attn_out[:, 1, -1]
    embedded = activations.pattern[:, 1, -1, :, None] * (activations.resid_pre @ weights.W_V[1] @ weights.W_O[1])
    expect(not torch.allclose(given, embedded), "what layer 1 added at a position is moved too; take it into the stream")
    words = f"the sixteen vectors should sum to what layer 2 adds at `=`; they miss it by up to {(whole - added).abs().max():.3f}"
    expect(torch.allclose(whole, added), words)
    expect(torch.allclose(given, truth), "the sum is right, but some position has another's part")


@exercise
def sharing(answer: Callable) -> None:
    """Exercise 6.5: `answer(one, two)` is near 1 if the same neurons do the work pair by pair, near 0 if others do.

    The contributions are always the same, so that a measure near a limit is not told one thing now and another later.
    """
    draws = torch.Generator().manual_seed(6)

    def measured(one, two):
        given = answer(one.clone(), two.clone())
        expect(given is not None, "your function returns nothing yet")
        return as_tensor(given, (), "the measure").item()

    for _ in range(3):
        one = torch.randn(80, 120, generator=draws).relu() ** 2 * (torch.rand(80, 120, generator=draws) < 0.3)
        near = one + 0.02 * torch.randn(80, 120, generator=draws)
        same, small = measured(one, near), measured(one, 0.2 * near)
        expect(same > 0.8, f"for nearly the same contributions it gives {same:.2f}; that should be near 1")
        expect(
            abs(same - small) < 0.05,
            f"with a fifth of all contributions it gives {small:.2f} for {same:.2f}; a factor should not matter",
        )
        half = torch.rand(120, generator=draws) < 0.5
        apart = measured(one * half, near * ~half)
        expect(apart < 0.2, f"for a rival with two sets of neurons it gives {apart:.2f}; that should be near 0")
        doubled = measured(torch.cat([one, 0 * one], 1), torch.cat([0 * near, near], 1))
        expect(doubled < 0.2, f"for a rival with a copy of every neuron it gives {doubled:.2f}; that should be near 0")
        shuffled = measured(one, near[torch.randperm(80, generator=draws)])
        words = f"for a rival that uses, for each pair, the neurons of another pair it gives {shuffled:.2f}; compare pair by pair"
        expect(shuffled < 0.5, words)
