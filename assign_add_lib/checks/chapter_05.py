"""The checks of chapter 5, Attention."""

import math
import random
from collections.abc import Callable

import torch

from ..circuits import OV
from ..model import Weights, forward, read_out, trace
from ..sampling import diagnostic_batch, evaluation_sets
from ..task import STUDY, Problem
from ..training import load_run
from .common import as_tensor, exercise, expect


@exercise
def blurred(answer: Callable) -> None:
    """Exercise 5.1: `answer(pattern)` keeps the order of layer 2's weights (batch, query, key), and few answers stay right."""
    run = load_run("seed-42")
    weights, problems = run.weights(), evaluation_sets(run.split, size=200)["1-var train"]
    acts = trace(weights, problems.tokens)
    before = acts.pattern[:, 1]
    after = as_tensor(answer(before.clone()), before.shape, "the new pattern")
    future = torch.ones(STUDY.length, STUDY.length).triu(1).bool()
    expect(bool((after >= 0).all()), "some of the new weights are negative")
    expect(bool((after[:, future] == 0).all()), "some positions now read the future")
    expect(bool(((after.sum(2) - 1).abs() < 1e-4).all()), "some rows do not sum to 1")
    old, new = before[:, -1], after[:, -1]
    kept = (new.gather(1, old.argsort(1)).diff(dim=1) >= -1e-7).all() and bool((new.topk(3).values.diff(dim=1) < 0).all())
    expect(bool(kept), "the order of the weights of = is not the same as before")
    stream = acts.resid_pre + acts.attn_out[:, 0]
    moved = torch.einsum("bk,bkd->bd", new, stream) @ OV(weights, 2)
    right = (read_out(weights, stream[:, -1] + moved).argmax(1) == problems.answers).float().mean()
    expect(float(right) < 1 / 3, f"the network still answers {100 * float(right):.0f}% of the 1-var problems; it can fall lower")


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
    """Exercise 5.4: `answer(weights)` says which of all problems `v=x, v+v` are answered right, (V, N)."""
    study = load_run("seed-42")
    for step in (3000, 30_000):
        weights = study.weights(step)
        given = as_tensor(answer(weights), (STUDY.n_variables, STUDY.n_numbers), "the answer")
        right = []
        for name in STUDY.variable_names:
            problems = [Problem(((name, x),), name, name) for x in range(STUDY.n_numbers)]
            found = forward(weights, torch.stack([problem.tokens() for problem in problems]))[:, -1].argmax(1)
            right.append([int(number) == problem.answer for number, problem in zip(found, problems)])
        truth = torch.tensor(right)
        differ = given.bool() != truth
        words = (
            f"for the weights at step {step} it says {int(given.bool().sum())}; {int(truth.sum())} of the "
            f"{truth.numel()} problems are right. Is each compared with x + x modulo {STUDY.n_numbers}?"
        )
        expect(int(differ.sum()) <= 1, words)


@exercise
def displaced(answer: Callable) -> None:
    """Exercise 5.5: `answer(tokens)` moves the operands away from 13 and 14, and says where they stand."""
    run = load_run("seed-42")
    tokens = diagnostic_batch(run.split, size=60).tokens
    given = answer(tokens.clone())
    expect(given is not None, "your function returns nothing yet")
    expect(isinstance(given, tuple | list) and len(given) == 2, "it should return two things: the tokens, and the places")
    changed = as_tensor(given[0], tokens.shape, "the new tokens")
    places = as_tensor(given[1], (len(tokens), 2), "the places")
    same = (changed.sort(1).values == tokens.sort(1).values).all()
    expect(bool(same), "the new problems do not hold the same 16 tokens as the old ones")
    expect(bool((changed[:, -1] == STUDY.equal).all()), "= should still stand last; its row is the one we read")
    operands = changed.gather(1, places) == tokens[:, [STUDY.left, STUDY.right]]
    expect(bool(operands.all()), "the operands do not stand at these places")
    there = (places.sort(1).values == torch.tensor([STUDY.left, STUDY.right])).all(1)
    words = "in some problems the operands still stand at 13 and 14; there the two explanations predict the same"
    expect(not bool(there.any()), words)
