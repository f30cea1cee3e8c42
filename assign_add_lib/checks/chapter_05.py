"""The checks of chapter 5, Attention."""

from functools import cache

import torch
from torch import Tensor

from ..circuits import OV
from ..model import forward, read_out, run, trace
from ..sampling import evaluation_sets
from ..task import STUDY, Problem
from ..training import load_run
from .common import Wrong, as_tensor, as_truths, expect, expect_close, foretold, kept_out, random_problems


@cache
def _page() -> tuple:
    """The network of seed 42, the problems of the page, their stream behind layer 1, and what `=` reads of it."""
    run = load_run("seed-42")
    weights, problems = run.weights(), evaluation_sets(run.split, size=1000)["1-var train"]
    acts = trace(weights, problems.tokens)
    return weights, problems, acts.resid_pre + acts.attn_out[:, 0], acts.pattern[:, 1, -1]


@foretold("the share of problems that are still right")
def blurred(answer) -> float:
    """Exercise 5.1: `answer(row)` keeps the order of the weights of `=` in layer 2 (batch, key), and few answers stay right."""
    weights, problems, stream, old = _page()
    new = as_tensor(answer(old), old, "the new rows")
    expect((new >= 0).all(), "some of the new weights are negative")
    expect_close(new.sum(1), torch.ones(len(new)), "some rows do not sum to 1", 1e-4)
    steps, apart = (each.gather(1, old.argsort(1)).diff(dim=1) for each in (new, old))
    kept = (steps >= -1e-7).all() and (steps[apart > 1e-4] > 0).all()
    expect(kept, "the order of the weights of = is not the same as before")
    moved = torch.einsum("bk,bkd->bd", new, stream) @ OV(weights, 2)
    right = (read_out(weights, stream[:, -1] + moved).argmax(1) == problems.answers).float().mean()
    expect(right < 1 / 3, f"the network still answers {right:.0%} of the problems of 1-var train; it can fall lower")
    return float(right)


@foretold("the weights of 1, 17, 42 and 19, and the answer, in seed 42", (0.29, 0.31, 0.02, 0.2, 20))
def assigned_twice(answer) -> None:
    """Exercise 5.2: `answer(tokens)` gives one other assigned letter of each problem (batch, 16) the asked one's name."""
    _, tokens = random_problems(100, "1-var left", "1-var right")
    given = as_tensor(answer(tokens), tokens.shape)
    for before, after in zip(tokens, given):
        changed, text = (before != after).nonzero().flatten().tolist(), f"in {' '.join(STUDY.names(before))}"
        expect(len(changed) == 1, f"{text} {len(changed)} tokens change; one should")
        (place,) = changed
        letter = place < STUDY.room and before[place] >= STUDY.first_variable
        expect(letter, f"{text} the token at {place} changes, which is no assigned letter")
        asked = int(before[STUDY.left : STUDY.last].max())
        words = f"{text} the letter at {place} should become {STUDY.token_name(asked)}, the asked one"
        expect(after[place] == asked, words)


@cache
def _doubles(step: int) -> Tensor:
    """Which of all problems `v=x, v+v` the network of seed 42 answers rightly at a step, (V, N)."""
    problems = [Problem(((name, x),), name, name) for name in STUDY.variable_names for x in range(STUDY.n_numbers)]
    tokens, right = torch.stack([each.tokens() for each in problems]), torch.tensor([each.answer for each in problems])
    return (forward(load_run("seed-42").weights(step), tokens)[:, -1].argmax(1) == right).view(STUDY.n_variables, -1)


@foretold("the shares right, of doubles in training and held out", (0.99, 0.2))
def same_variable(answer) -> None:
    """Exercise 5.3: `answer(weights)` says which of all problems `v=x, v+v` are answered right, (V, N)."""
    for step in (3000, 30_000):
        given, truth = as_truths(answer(load_run("seed-42").weights(step)), (STUDY.n_variables, STUDY.n_numbers)), _doubles(step)
        words = f"for the weights at step {step} it says {given.sum()}; {truth.sum()} of the {truth.numel()} problems are right"
        expect((given != truth).sum() <= 1, f"{words}. Is each compared with x + x modulo {STUDY.n_numbers}?")


def breaks(answer) -> None:
    """Exercise 5.4: `answer()` is a problem, as people write it, which the network of seed 42 gets wrong."""
    text = answer()
    expect(isinstance(text, str), 'return the problem as text, such as "c=1, b=17, b+19=?"')
    try:
        problem = Problem.parse(text)
    except ValueError as error:
        raise Wrong(f"this is no problem of the task: {error}") from error
    study = load_run("seed-42")
    pair, place = kept_out(problem, study.split)
    expect(not pair + place, f"training never shows it: it {pair or place}")
    said = int(run(study.weights(), problem.tokens()[None]).answers)
    expect(said != problem.answer, f"the network says {said}, which is right; look for a problem that it gets wrong")
