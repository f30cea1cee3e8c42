"""Branches of runs that look nothing up: what `=` reads in layer 1 is changed, and training goes on.

The runs of the laboratory with one head whose look-up never came end alike: in layer 1 `=` reads typed numbers and hardly a
name, so that layer 2 has little to ask by.  Is this what they lack?  Six branches:

- *helped*: all through the branch, what `=` scores names in layer 1 is raised, by so much that at the beginning it reads a name
  as much as a typed number.  The weights are free to undo this.
- *fixed*: all through the branch, `=` in layer 1 reads either operand with 0.4, and all other positions alike.
- *names*: all through the branch, it reads a name of the question with 0.4, and what is left is shared out by the weights.
- *sign*: the same amount, 0.4 for each name of the question, is read of the sign before the operands, `+` or `-`: what it does
  by itself that something is read so, and all else less.
- *numbers*: helped in the same amount, for as many numbers drawn at random: what a change of this size does by itself.
- *unchanged*: the run goes on.

What was predicted of each, before it was trained, stands in claims/beforehand.toml.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from ..model import run as forward
from .analysis import problems
from .parsing import Parsed
from .paths import last_logits
from .training import WorldLearner, WorldRun

STEPS = 5000
EVERY = 100  # steps between rows
OF = "1-var train"
PATTERN = "blocks.0.attn.hook_pattern"
BRANCHES = ("helped", "fixed", "names", "sign", "numbers", "unchanged")
RUNS = {
    **dict.fromkeys(("modulus-60-0", "modulus-29-1", "modulus-29-2"), BRANCHES),
    **dict.fromkeys((f"subtraction-{seed}" for seed in range(3)), ("fixed", "names", "sign", "unchanged")),
    **dict.fromkeys((f"chain-two-layers-{seed}" for seed in range(3)), ("fixed", "names", "sign", "unchanged")),
}
SHIPPED = "laboratory-branches.csv"
LET_GO = ("modulus-60-0", "subtraction-0", "subtraction-1", "subtraction-2", "chain-two-layers-0")  # their weights are shipped
HELD, FREE = 1000, 600  # steps
LET_GO_SHIPPED = "laboratory-let-go.csv"
Change = Callable[[Tensor, Tensor], Tensor]  # what `=` reads (batch, key) instead of what it would, and tokens (batch, pos)


def altered(tokens: Tensor, change: Change) -> dict[str, Callable[[Tensor], Tensor]]:
    """What `alter` takes to change what the last position, `=`, reads of these tokens in layer 1; for one head."""

    def at_last(pattern: Tensor) -> Tensor:
        return torch.cat([pattern[:, :, :-1], change(pattern[:, 0, -1], tokens)[:, None, None]], 2)

    return {PATTERN: at_last}


def raised(keys: Tensor, by: float, d_vocab: int) -> Change:
    """The change that raises the scores of these tokens (n,)."""
    factors = torch.zeros(d_vocab).index_fill(0, keys, by).exp()

    def change(read: Tensor, tokens: Tensor) -> Tensor:
        read = read * factors[tokens]
        return read / read.sum(1, keepdim=True)

    return change


def fixed(read: Tensor, tokens: Tensor) -> Tensor:
    """The change to a fixed pattern: 0.4 on each of two operands, and the rest evenly."""
    pattern = torch.full_like(read, 0.2 / (read.shape[1] - 2))
    pattern[:, -3:-1] = 0.4
    return pattern


def held(amounts: Callable[[Tensor], Tensor]) -> Change:
    """The change that gives some positions these amounts (batch, key), and what is left to the others as they were read."""

    def change(read: Tensor, tokens: Tensor) -> Tensor:
        given = amounts(tokens)
        others = read * (given == 0)
        return given + others * ((1 - given.sum(1)) / others.sum(1))[:, None]

    return change


def of_names(tokens: Tensor, first_variable: int) -> Tensor:
    """The amounts (batch, key) of 0.4 for each name of the question, at its place."""
    amounts = torch.zeros(tokens.shape)
    amounts[:, -3:-1] = 0.4 * (tokens[:, -3:-1] >= first_variable)
    return amounts


def of_sign(tokens: Tensor, first_variable: int) -> Tensor:
    """As much in all (batch, key), at the sign before the operands."""
    amounts = torch.zeros(tokens.shape)
    amounts[:, -4] = of_names(tokens, first_variable).sum(1)
    return amounts


def gap(run: WorldRun) -> float:
    """By how much `=` scores a typed number above a name in layer 1, the mean over problems with one variable; for one head."""
    tokens = problems(run, OF).tokens[:1000]
    read, asked = forward(run.weights(), tokens)[PATTERN][:, 0, -1, -3:-1], Parsed(run.world, tokens).asked
    return (read[~asked].log() - read[asked].log()).mean().item()


def change_of(branch: str, run: WorldRun) -> Change:
    """The change that a branch of a run makes; ValueError for an unknown branch."""
    if branch not in BRANCHES:
        raise ValueError(f"a branch is one of {', '.join(BRANCHES)}, not {branch!r}")
    task, names = run.world.task, run.world.task.first_variable + torch.arange(run.world.n_variables)
    if branch in ("helped", "numbers"):
        drawn = torch.randperm(task.n_numbers, generator=torch.Generator().manual_seed(run.world.seed))[: task.n_variables]
        return raised(names if branch == "helped" else drawn, gap(run), task.d_vocab)
    return {
        "fixed": fixed,
        "names": held(partial(of_names, first_variable=task.first_variable)),
        "sign": held(partial(of_sign, first_variable=task.first_variable)),
        "unchanged": lambda read, tokens: read,
    }[branch]


def branched(run: WorldRun, state: Path, branch: str) -> pd.DataFrame:
    """The rows of one branch of a run: the steps since it began, how much `=` reads a name in layer 1, and accuracies.

    `state` is where training left off; ValueError for an unknown branch.
    """
    change, learner, rows = change_of(branch, run), WorldLearner(run.world), []
    learner.logits = lambda weights, tokens: last_logits(weights, tokens, altered(tokens, change))
    learner.load(state)
    start, tokens = learner.step, problems(run, OF).tokens[:1000]
    names = Parsed(run.world, tokens).asked
    while True:
        if (learner.step - start) % EVERY == 0:
            with torch.no_grad():
                read = forward(learner.weights, tokens, alter=altered(tokens, change))[PATTERN][:, 0, -1, -3:-1]
            rows.append({"step": learner.step - start, "name read": read[names].mean().item()} | learner.evaluated())
        if learner.step == start + STEPS:
            return pd.DataFrame(rows)
        learner.advance()


def let_go(run: WorldRun, held: bool = True) -> pd.DataFrame:
    """The rows of a run that goes on from its last weights, Adam anew: for HELD steps with its names held, then for FREE without.

    Each row has accuracies as the branch trains (`hand`: whether names are held) and, *bare*, without the hand.  What is read of
    typed numbers, layer by layer and side by side, is that of problems without variables, in which nothing is held.  Without
    `held` nothing is changed throughout: the control.
    """
    change, learner, rows = change_of("names", run), WorldLearner(run.world), []
    with torch.no_grad():
        for name, tensor in run.weights().tensors().items():
            learner.tensors[name].copy_(tensor)
    one, plain = problems(run, OF), problems(run, "0-var train").tokens[:1000]
    asked = Parsed(run.world, one.tokens).asked

    def with_hand(tokens: Tensor) -> dict:
        return altered(tokens, change) if held and learner.step < HELD else {}

    learner.logits = lambda weights, tokens: last_logits(weights, tokens, with_hand(tokens))
    while True:
        if learner.step % EVERY == 0:
            with torch.no_grad():
                hand, bare = (forward(learner.weights, one.tokens, alter=way) for way in (with_hand(one.tokens), {}))
                typed = forward(learner.weights, plain)
            right = (hand.answers == one.answers).double()
            row = {"step": learner.step, "hand": held and learner.step < HELD, OF: right.mean().item()}
            row |= {f"{side} name": right[asked[:, at]].mean().item() for at, side in enumerate(("left", "right"))}
            row |= {"bare": (bare.answers == one.answers).double().mean().item()}
            row |= {"bare read": bare[PATTERN][:, 0, -1, -3:-1][asked].mean().item()}
            for layer in range(run.world.layers):
                read = typed[f"blocks.{layer}.attn.hook_pattern"][:, 0, -1, -3:-1].mean(0).tolist()
                row |= {f"layer {layer + 1}, {side}": each for side, each in zip(("left", "right"), read)}
            rows.append(row)
        if learner.step == HELD + FREE:
            return pd.DataFrame(rows)
        learner.advance()
