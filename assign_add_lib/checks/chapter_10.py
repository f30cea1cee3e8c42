"""The checks of chapter 10, Written by hand."""

import math
import random

import torch

from .. import handmade
from ..circuits import OV, last_logits
from ..measures import accuracy
from ..model import Weights, trace
from ..sampling import Batch, Population, forms
from ..task import STUDY
from .common import as_number, as_parts, as_tensor, expect, expect_close, foretold, random_problem


@foretold("how much of the attention falls on 17 and 42 in b+a", 0.4)
def mass_without_mark(answer) -> None:
    """Exercise 10.1: `answer(problem)` is the weight on the two numbers when no number is marked as one, and the answer."""
    weights = handmade.weights(number=0)
    for kind in ("0-var", "1-var left", "1-var right", "2-var"):
        for _ in range(10):
            problem = random_problem(kind)
            weight, told = map(as_number, as_parts(answer(problem), 2, "the answer is two things, the weight and the answer"))
            tokens = problem.tokens()[None]
            truth = trace(weights, tokens).pattern[0, 1, -1, STUDY.value_positions(tokens)[0]].sum()
            expect_close(weight, truth, f"for {problem} the two numbers get {truth:.3f} of the weight, not {weight:.3f}", 2e-3)
            said = last_logits(weights, tokens).argmax()
            words = f"for {problem} the network still answers {said}, not {told:g}: all else that is read brings no hands"
            expect(told == said, words)


@foretold("the percentage of all triples that neurons which cube add, with five clocks", 75)
def three(answer) -> None:
    """Exercise 10.2: `answer(x, y, z, ks)` is what clocks say whose neurons cube a third of each of three numbers."""
    N, turn = STUDY.n_numbers, 2 * math.pi * torch.arange(11, dtype=torch.float64) / 11
    for ks in ([1], [3, 7], [1, 11, 15, 25, 27], random.sample(range(1, 30), 5), random.sample(range(1, 30), 9)):
        for _ in range(12):
            numbers = [random.randrange(N) for _ in range(3)]
            logits, squares = torch.zeros(2, N, dtype=torch.float64)
            for k in ks:
                hour = 2 * math.pi * k * torch.arange(N, dtype=torch.float64)[:, None] / N
                gets = sum((hour[n] + turn).cos() for n in numbers) / 3
                logits += gets**3 @ (hour + 3 * turn).cos().T
                squares += gets**2 @ (hour + 2 * turn).cos().T
            first, second = logits.topk(2).values
            if first - second >= 1e-3:  # otherwise too close to call
                given, truth = as_number(answer(*numbers, list(ks))), logits.argmax()
                x, y, z = numbers
                words = f"for {x}+{y}+{z} and the clocks {ks} neurons that cube say {truth}, not {given:g}"
                wrong = {
                    "that is the right sum, which these clocks miss": float((x + y + z) % N),
                    "that is what neurons say that square": squares.argmax(),
                }
                expect_close(given, truth, words, wrong=wrong)


@foretold("the shares still right of 17+19, b+19, 19+b and b+a", (1, 0.02, 1, 1))
def mended(answer) -> None:
    """Exercise 10.3: `answer(QK2)` are layer-2 scores with which all is right though position 14 reads 13 in layer 1."""
    weights, position = handmade.weights(), handmade.residual_blocks()["position"].start
    W_Q, root = weights.W_Q.clone(), math.sqrt(weights.W_Q.shape[-1])
    W_Q[0, position + 14, position + 12], W_Q[0, position + 14, position + 13] = 0, 20 * root
    given = as_tensor(answer(W_Q[1] / root), W_Q[1].shape, "the changed scores").to(W_Q.dtype)
    W_Q[1] = given * root
    for kind, batch in _each_kind(1000).items():
        right = accuracy(weights.replace(W_Q=W_Q), batch)
        expect(right == 1, f"of 1000 problems of the kind {kind}, {1000 * right:.0f} are right with your scores")


@foretold("how many coordinates your network writes to", lambda answer: _coordinates(answer()))
def smaller_network(answer) -> str:
    """Exercise 10.4: `answer()` are weights that get all right and write to fewer than 47 coordinates of the stream."""
    given = answer()
    expect(isinstance(given, Weights), "the answer is a `Weights`, such as `handmade.weights` gives")
    for kind, batch in _each_kind(1000).items():
        right = accuracy(given, batch)
        expect(right == 1, f"of 1000 problems of the kind {kind}, your network has {1000 * right:.0f} right")
    used = _coordinates(given)
    expect(used < 47, f"your network writes to {used} coordinates; the one to start from makes do with 47")
    return f"it makes do with {used} coordinates"


def _coordinates(weights: Weights) -> int:
    """How many coordinates of the stream anything writes to."""
    writes = [weights.W_E, weights.W_pos, OV(weights, 1), OV(weights, 2), weights.W_out]
    return int(torch.stack([each.abs().amax(0) for each in writes]).gt(0).any(0).sum())


def _each_kind(size: int) -> dict[str, Batch]:
    """Problems of each kind, of all pairs of numbers and all letters."""
    letters, pairs, found = range(STUDY.n_variables), torch.ones(STUDY.n_numbers, STUDY.n_numbers), {}
    generator = torch.Generator().manual_seed(random.randrange(999))
    for kind, operands in (
        ("17+19", (None, None)),
        ("b+19", (letters, None)),
        ("19+b", (None, letters)),
        ("b+a", (letters, letters)),
    ):
        found[kind] = Population(STUDY, forms(STUDY, *operands), pairs).sample(size, generator)
    return found
