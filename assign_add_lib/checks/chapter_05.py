"""The checks of chapter 5, Attention."""

from collections.abc import Callable

import torch

from ..circuits import OV
from ..model import forward, read_out, run, trace
from ..sampling import evaluation_sets
from ..task import STUDY, Problem
from ..training import load_run
from .common import Wrong, as_tensor, close, exercise, expect, random_problem


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
def assigned_twice(answer: Callable) -> None:
    """Exercise 5.2: `answer(tokens)` gives one other assigned letter of each problem (batch, 16) the asked one's name."""
    kinds = ("1-var left", "1-var right")
    tokens = torch.stack([random_problem(kind).tokens(seed=index) for index in range(50) for kind in kinds])
    given = as_tensor(answer(tokens.clone()), tokens.shape)
    for before, after in zip(tokens, given):
        (changed,), text = (before != after).nonzero(as_tuple=True), " ".join(STUDY.names(before))
        expect(len(changed) == 1, f"in {text} {len(changed)} tokens change; one should")
        place = int(changed)
        letter = place < STUDY.room and int(before[place]) >= STUDY.first_variable
        expect(letter, f"in {text} the token at {place} changes, which is no assigned letter")
        asked = int(before[STUDY.left : STUDY.last].max())
        expect(
            int(after[place]) == asked, f"in {text} the letter at {place} should become {STUDY.token_name(asked)}, the asked one"
        )


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
