"""The checks of chapter 5, Attention."""

from collections.abc import Callable

import torch

from ..circuits import OV
from ..model import forward, read_out, trace
from ..sampling import diagnostic_batch, evaluation_sets
from ..task import STUDY, Problem
from ..training import load_run
from .common import as_parts, as_tensor, close, exercise, expect


@exercise
def blurred(answer: Callable) -> None:
    """Exercise 5.1: `answer(row)` keeps the order of the weights of `=` in layer 2 (batch, key), and few answers stay right."""
    run = load_run("seed-42")
    weights, problems = run.weights(), evaluation_sets(run.split, size=1000)["1-var train"]  # those of the page
    acts = trace(weights, problems.tokens)
    old = acts.pattern[:, 1, -1]
    new = as_tensor(answer(old.clone()), old.shape, "the new rows")
    expect(bool((new >= 0).all()), "some of the new weights are negative")
    expect(close(new.sum(1), torch.ones(len(new)), 1e-4), "some rows do not sum to 1")
    kept = (new.gather(1, old.argsort(1)).diff(dim=1) >= -1e-7).all() and bool((new.topk(3).values.diff(dim=1) < 0).all())
    expect(bool(kept), "the order of the weights of = is not the same as before")
    stream = acts.resid_pre + acts.attn_out[:, 0]
    moved = torch.einsum("bk,bkd->bd", new, stream) @ OV(weights, 2)
    right = (read_out(weights, stream[:, -1] + moved).argmax(1) == problems.answers).float().mean()
    words = f"the network still answers {100 * float(right):.0f}% of the problems of 1-var train; it can fall lower"
    expect(float(right) < 1 / 3, words)


@exercise
def shifted(answer: Callable) -> None:
    """Exercise 5.2: `answer(layer, tokens, pattern)` lets assigned numbers, in layer 1, read the variable before their own."""
    tokens = diagnostic_batch(load_run("seed-42").split, size=60).tokens
    pattern = torch.rand(len(tokens), STUDY.length, STUDY.length).tril()
    pattern = pattern / pattern.sum(2, keepdim=True)
    for layer, words in ((2, "layer 2's patterns are changed; they should stay as they are"), (1, "")):
        given = as_tensor(answer(layer, tokens.clone(), pattern.clone()), pattern.shape, "the new pattern")
        truth = pattern.clone()
        for index, row in enumerate(tokens.tolist() if layer == 1 else []):
            places = [place for place in range(1, STUDY.room) if row[place] < STUDY.n_numbers]
            for before, place in zip(places, places[1:]):
                truth[index, place] = 0
                truth[index, place, before - 1] = 1
        differ = ((given - truth).abs() > 1e-5).any(2)
        expect(not words or not bool(differ.any()), words)
    if bool(differ.any()):
        index, place = differ.nonzero()[0].tolist()
        problem, most = " ".join(STUDY.names(tokens[index])), int(given[index, place].argmax())
        right = int(truth[index, place].argmax())
        own = torch.equal(truth[index, place], pattern[index, place])
        should = "should be as it was" if own else f"should give 1 to position {right}"
        words = f"in {problem}, the row of position {place} gives most to position {most}"
        expect(False, f"{words} ({float(given[index, place, most]):.2f}); it {should}")


@exercise
def same_variable(answer: Callable) -> None:
    """Exercise 5.3: `answer(weights)` says which of all problems `v=x, v+v` are answered right, (V, N)."""
    study = load_run("seed-42")
    for step in (3000, 30_000):
        weights = study.weights(step)
        given = as_tensor(answer(weights), (STUDY.n_variables, STUDY.n_numbers))
        problems = [Problem(((name, x),), name, name) for name in STUDY.variable_names for x in range(STUDY.n_numbers)]
        found = forward(weights, torch.stack([problem.tokens() for problem in problems]))[:, -1].argmax(1)
        truth = (found == torch.tensor([problem.answer for problem in problems])).view(given.shape)
        differ = given.bool() != truth
        words = f"for the weights at step {step} it says {int(given.bool().sum())}; {int(truth.sum())} of the {truth.numel()}"
        words += f" problems are right. Is each compared with x + x modulo {STUDY.n_numbers}?"
        expect(int(differ.sum()) <= 1, words)


@exercise
def displaced(answer: Callable) -> None:
    """Exercise 5.4: `answer(tokens)` moves the operands away from 13 and 14, and says where they stand."""
    run = load_run("seed-42")
    tokens = diagnostic_batch(run.split, size=60).tokens
    changed, places = as_parts(answer(tokens.clone()), 2, "it should return two things: the tokens, and the places")
    changed = as_tensor(changed, tokens.shape, "the new tokens")
    places = as_tensor(places, (len(tokens), 2), "the places")
    same = (changed.sort(1).values == tokens.sort(1).values).all()
    expect(bool(same), "the new problems do not hold the same 16 tokens as the old ones")
    expect(bool((changed[:, -1] == STUDY.equal).all()), "= should still stand last; its row is the one we read")
    operands = changed.gather(1, places) == tokens[:, [STUDY.left, STUDY.right]]
    expect(bool(operands.all()), "the operands do not stand at these places")
    there = (places.sort(1).values == torch.tensor([STUDY.left, STUDY.right])).all(1)
    words = "in some problems the operands still stand at 13 and 14; there the two explanations predict the same"
    expect(not bool(there.any()), words)
