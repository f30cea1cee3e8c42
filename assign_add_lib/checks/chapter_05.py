"""The checks of chapter 5, Attention."""

import math
from collections.abc import Callable, Mapping

import torch

from ..circuits import OV
from ..model import forward, read_out, run, trace
from ..sampling import diagnostic_batch, evaluation_sets
from ..task import STUDY, Problem
from ..training import load_run
from .common import Wrong, as_tensor, close, exercise, expect, refuse


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
def key_without(answer: Callable) -> None:
    """Exercise 5.2: `answer(part, w, tokens)` is an alteration: layer 2's keys of typed numbers lose a part of their vectors."""
    run_ = load_run("seed-42")
    weights, tokens = run_.weights(), diagnostic_batch(run_.split, size=120).tokens
    acts, part = trace(weights, tokens), torch.randn(len(tokens), STUDY.length, weights.d_model)
    stream, question = acts.resid_pre + acts.attn_out[:, 0], torch.arange(STUDY.length) >= STUDY.left
    number = tokens < STUDY.n_numbers
    scale = math.sqrt(weights.W_Q.shape[-1])

    def logits(where, sign=-1, W_K=weights.W_K[1], of=part, also_values=False):
        change = sign * where[:, :, None] * of
        keys, values = stream @ weights.W_K[1] + change @ W_K, stream + also_values * change
        row = torch.einsum("bd,bkd->bk", stream[:, -1] @ weights.W_Q[1], keys).div(scale).softmax(1)
        return read_out(weights, stream[:, -1] + torch.einsum("bk,bkd->bd", row, values) @ OV(weights, 2))

    alter = answer(part, weights, tokens.clone())
    expect(isinstance(alter, Mapping), "return an alteration: a dictionary from the name of a site to a function")
    given = run(weights, tokens, alter).logits

    def like(truth):
        return close(given, truth, 1e-3 * float(truth.abs().max()), 1e-5)

    typed = number & question
    if like(logits(typed)):
        position = answer(weights.W_pos[None], weights, tokens.clone())
        truth = logits(typed, of=weights.W_pos.expand(len(tokens), -1, -1))
        given = run(weights, tokens, position).logits
        expect(like(truth), "it works for a part of each problem, but not for W_pos[None], which is the same for all")
        return
    mistakes = {
        "these are the logits of the unchanged network": like(acts.logits[:, -1]),
        "that adds the part to the keys; it should be taken away": like(logits(typed, sign=1)),
        "the keys of assigned numbers change as well; only those of typed numbers should": like(logits(number)),
        "variables and = lose the part, too; only typed numbers should": like(logits(question.expand_as(number))),
        "all keys lose the part; only those of typed numbers should": like(logits(torch.ones_like(number))),
        "W_K[0] makes layer 1's keys; the keys here are layer 2's": like(logits(typed, W_K=weights.W_K[0])),
        "the values change as well; only the keys should": like(logits(typed, also_values=True)),
        "these are not the logits with this part taken out of layer 2's keys of typed numbers, and nothing else": True,
    }
    refuse(given, mistakes)


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
def breaks(answer: Callable) -> None:
    """Exercise 5.4: `answer()` is a problem, as people write it, which the network of seed 42 gets wrong."""
    text = answer()
    expect(isinstance(text, str), 'return the problem as text, such as "c=1, b=17, b+19=?"')
    try:
        problem = Problem.parse(text)
    except ValueError as error:
        raise Wrong(f"this is no problem of the task: {error}") from error
    study = load_run("seed-42")
    x, y = problem.values
    expect(bool(study.split.train_pairs[x, y]), f"training never shows {x} + {y}; look among the sums that it does show")
    said = int(run(study.weights(), problem.tokens()[None]).answers)
    expect(said != problem.answer, f"the network says {said}, which is right; look for a problem that it gets wrong")
