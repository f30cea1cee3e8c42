"""The checks of chapter 5, Attention."""

import math
import random
from collections.abc import Callable

import torch

from ..model import Weights, forward, trace
from ..task import STUDY, Problem
from ..training import load_run
from .common import as_tensor, exercise, expect


@exercise
def top_two_share(answer: Callable) -> None:
    """Exercise 5.1: `answer(attention, keys)` is the share of rows whose two largest weights stand at two given keys."""
    for _ in range(5):
        attention = torch.randn(60, STUDY.length).softmax(1)
        top = attention.topk(3).indices
        keys = torch.stack([row[torch.randperm(3)][:2] for row in top])
        given = as_tensor(answer(attention.clone(), keys.clone()), (), "the answer")
        truth = sum(set(row.argsort()[-2:].tolist()) == set(pair.tolist()) for row, pair in zip(attention, keys)) / len(keys)
        in_order = (top[:, :2] == keys).all(1).float().mean()
        words = "it counts a row only if the larger weight is on the first of the two keys; the order should not matter"
        expect(abs(truth - float(given)) < 1e-5 or abs(float(given) - in_order) > 1e-5, words)
        expect(abs(truth - float(given)) < 1e-5, f"on random patterns it gives {float(given):.3f}; the share is {truth:.3f}")


@exercise
def effective_keys(answer: Callable) -> None:
    """Exercise 5.2: `answer(attention)` is the exponential of the entropy of each row."""
    attention = torch.zeros(40, STUDY.length)
    for index in range(40):
        n = index % STUDY.length + 1
        attention[index, torch.randperm(STUDY.length)[:n]] = torch.randn(n).softmax(0) if index >= 16 else 1 / n
    given = as_tensor(answer(attention.clone()), (40,), "the answer")
    expect(bool(given.isfinite().all()), "some rows give no number; a weight of 0 should count as 0, though ln 0 is not a number")
    for index, row in enumerate(attention.tolist()):
        truth = math.exp(-sum(weight * math.log(weight) for weight in row if weight))
        seen = ", ".join(f"{weight:.2f}" for weight in row if weight)
        words = f"for a row with the weights {seen} and zeros it gives {given[index]:.3f}; it should be {truth:.3f}"
        expect(abs(float(given[index]) - truth) < 1e-3, words)


@exercise
def assigned_twice(answer: Callable) -> None:
    """Exercise 5.3: `answer(weights, name, x, y, number)` is what `=` gives, in layer 2, to the two numbers of one variable."""
    weights = Weights.init(STUDY, seed=random.randrange(2**31))
    weights = weights.replace(W_Q=20 * weights.W_Q)  # uneven attention
    for _ in range(10):
        name, (x, y, number) = random.choice(STUDY.variable_names), random.choices(range(STUDY.n_numbers), k=3)
        given = as_tensor(answer(weights, name, x, y, number), (2,), "the answer")
        v, rest = STUDY.token(name), [STUDY.pad] * 8
        tokens = torch.tensor([v, x, v, y, *rest, STUDY.plus, v, number, STUDY.equal])
        patterns = trace(weights, tokens[None]).pattern[0, :, -1]
        truth, layer_1, on_names = patterns[1, [1, 3]], patterns[0, [1, 3]], patterns[1, [0, 2]]
        expect(not torch.allclose(given, layer_1, atol=1e-5), "these are the weights of layer 1; layer 2 is at index 1")
        expect(
            not torch.allclose(given, on_names, atol=1e-5), f"these are the weights on the two {name}; the numbers stand after"
        )
        words = f"for {name}={x}, {name}={y}, {name}+{number} it gives {given.tolist()}; it should be {truth.tolist()}"
        expect(torch.allclose(given, truth, atol=1e-5), words)


@exercise
def same_variable(answer: Callable) -> None:
    """Exercise 5.4: `answer(weights)` is the accuracy on all problems `v=x, v+v`."""
    study = load_run("seed-42")
    for step in (3000, 30_000):
        weights = study.weights(step)
        given = as_tensor(answer(weights), (), "the answer")
        right = []
        for name in STUDY.variable_names:
            problems = [Problem(((name, x),), name, name) for x in range(STUDY.n_numbers)]
            found = forward(weights, torch.stack([problem.tokens() for problem in problems]))[:, -1].argmax(1)
            right += [int(number) == problem.answer for number, problem in zip(found, problems)]
        truth = sum(right) / len(right)
        words = f"for the weights at step {step} it gives {float(given):.4f}; {sum(right)} of the {len(right)} problems are right"
        expect(abs(float(given) - truth) < 0.002, words)
