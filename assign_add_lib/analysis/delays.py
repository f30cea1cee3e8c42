"""Delays: what holds a variable back in training, by slopes of the loss, and by changing one thing and training on.

A *lever* is a way to change what `=` makes of a variable.  It can be moved from outside, by adding to attention scores
(`nudged`), or in the weights, where three of them depend on the variable's embedding alone, and linearly (`lever_vectors`).
A *branch* is a run that goes on from a step with one change.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot, pad

from ..circuits import OV, QK
from ..engine.manifest import shipped_file
from ..model import Weights, run, trace
from ..sampling import Batch, Population
from ..task import Split
from ..training import StudyLearner, TrainConfig
from .history import variable_accuracy, variable_problems
from .interventions import add_to_scores_of_equal, pattern_of, scores_of
from .phases import arrival

START = 3000  # the step at which the branches leave seed 42
OTHER_STARTS = {0: 5000, 3: 4000, 4: 4000, 7: 4000}  # the other seeds in which k and l wait below 0.7, after c to j
READ_AT = {seed: 2000 for seed in (42, *range(9))} | {2: 1800}  # the step of `load_self_reading`; seed 2 arrives at 2000
IMPOSED_AT = {1: 2200, 2: 1500, 5: 2000, 6: 1700, 8: 3000}  # the other five: 500 steps before k and l arrive on the right
RELEASED = 0.7  # the accuracy on the right at which k and l count as released
LATE = ("k", "l")  # the variables that are changed
LEVERS = ("read", "own", "itself")
PLACES = ("k right", "l right", "k left", "l left")


NUDGES = ("read", "name", "own", "itself")


def nudged(weights: Weights, tokens: Tensor, **changes: Tensor) -> Tensor:
    """Logits (batch, N) at `=` with something added to its scores, each change (V,) or (batch, V), one entry a variable.

    `read`: added to the layer-1 score of `=` for the variable's token, wherever it stands.  The others change the layer-2
    scores of `=`.  `own`: for a number, times what it holds of the variable.  `name`: the same, times what `=` holds of
    the variable.  `itself`: for the variable's token as an operand.  What a number holds is its layer-1 attention to the
    variable before it, what `=` holds its layer-1 attention to the operands.
    """
    w, task = weights, weights.task
    kinds = one_hot(task.check(tokens), task.d_vocab)[..., task.first_variable :].to(w.W_E.dtype)  # (batch, pos, V)
    none = kinds.new_zeros(task.n_variables)
    read, name, own, itself = ((kinds * changes.get(each, none)[..., None, :]).sum(2) for each in NUDGES)  # (batch, pos)
    operands, is_operand = slice(task.left, task.right + 1), torch.arange(tokens.shape[1], device=tokens.device) >= task.left
    held = {}

    def then(scores: Tensor) -> Tensor:
        A = held["A"][:, 0]  # of layer 1, which comes first
        holds = pad(A.diagonal(-1, 1, 2), (1, 0)) * task.assigned_numbers(tokens)  # (batch, pos)
        asked = torch.einsum("bo,bov->bv", A[:, task.last, operands], kinds[:, operands])
        named = torch.einsum("bpv,bv->bp", kinds, asked) * name  # the token of an asked variable: by how much it is asked
        before = pad((named + own)[:, :-1], (1, 0))
        return add_to_scores_of_equal(holds * before + itself * is_operand)[scores_of(2)](scores)

    first = {scores_of(1): lambda scores: scores + pad(read[:, None, None], (0, 0, task.last, 0))}
    return run(w, tokens, first | {pattern_of(1): lambda A: held.setdefault("A", A), scores_of(2): then}).logits


def slopes(weights: Weights, batch: Batch) -> dict[str, Tensor]:
    """For each of `NUDGES`, the derivative (batch, V) of each problem's loss by the change for each variable, at zero."""
    leaves = {name: torch.zeros(len(batch.tokens), weights.task.n_variables, requires_grad=True) for name in NUDGES}
    with torch.enable_grad():
        loss = cross_entropy(nudged(weights, batch.tokens, **leaves), batch.answers, reduction="sum")
        return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()))))


def pull_and_push(slope: Tensor, tokens: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """How strongly the mean loss pulls a lever up, (V,), by problems that ask for the variable and by those that do not."""
    kinds = one_hot(tokens[:, weights.task.left : weights.task.last], weights.task.d_vocab)
    asked = kinds[..., weights.task.first_variable :].any(1)
    return -(slope * asked).sum(0) / len(tokens), -(slope * ~asked).sum(0) / len(tokens)


def lever_vectors(weights: Weights, tokens: Tensor) -> Tensor:
    """Three directions (3, d_model), whose products with a variable's embedding are the levers of that variable.

    `read`: the layer-1 score of `=` for its token.  `own`: the layer-2 score that `=`, by its own token and position,
    gives to a number that holds it fully.  `itself`: the layer-2 score that the average `=` of these problems (batch, pos)
    gives to its token.
    """
    task, activations = weights.task, trace(weights, weights.task.check(tokens))
    own = weights.W_E[task.equal] + weights.W_pos[task.last]
    average = (activations.resid_pre + activations.attn_out[:, 0])[:, task.last].mean(0)
    QK2 = QK(weights, 2)
    return torch.stack([own @ QK(weights, 1), own @ QK2 @ OV(weights, 1).T, average @ QK2])


def smallest_change(vectors: Tensor, change: Tensor) -> Tensor:
    """The shortest vector (d_model,) whose products with `vectors` (n, d_model) are `change` (n,)."""
    V = vectors.double()
    return (V.T @ torch.linalg.solve(V @ V.T, change.double())).to(vectors.dtype)


@torch.no_grad()
def release_row(weights: Weights, mixture: Batch, problems: Tensor) -> dict[str, float]:
    """What moves the lever `own` of the late variables, as one row of data/history/release.csv.

    For each: `own`, the lever less its mean over all variables; `pull` and `push`, how strongly the loss of the training
    mixture draws it up, by problems that ask for the variable and by the others; and for it on the right, in the problems
    (V, 2, batch, pos), the attention of layer 2's `=` to the number asked for and to the variable itself, and the accuracy.
    """
    task, row = weights.task, {}
    pull, push = pull_and_push(slopes(weights, mixture)["own"], mixture.tokens, weights)
    for name in LATE:
        v = task.token(name) - task.first_variable
        tokens = problems[v, 1]
        own = weights.W_E[task.first_variable :] @ lever_vectors(weights, tokens)[1]
        activations = trace(weights, tokens)
        read, logits = activations.pattern[:, 1, task.last], activations.logits[:, -1]
        row |= {
            f"own {name}": (own[v] - own.mean()).item(),
            f"pull {name}": pull[v].item(),
            f"push {name}": push[v].item(),
            f"number {name}": read.gather(1, task.value_positions(tokens)[:, 1:]).mean().item(),
            f"itself {name}": read[:, task.right].mean().item(),
            f"right {name}": (logits.argmax(1) == task.right_answers(tokens)).float().mean().item(),
        }
    return row


@torch.no_grad()
def self_reading(weights: Weights, problems: Tensor) -> dict[str, float]:
    """Attention of layer 2's `=` to each variable's own token, in its problems (V, 2, batch, pos) with it on the right."""
    task = weights.task
    return {
        name: trace(weights, tokens).pattern[:, 1, task.last, task.right].mean().item()
        for name, tokens in zip(task.variable_names, problems[:, 1])
    }


class Branch(NamedTuple):
    """One change at step `START`, from which training goes on.

    `levers`: for k and l these are set to their mean over the ordinary variables, or moved by `share` of the way there, with
    3.0 three times as far.  `aside`: k and l are moved instead by `share` of the length for `itself`, in random directions
    that turn no lever; `draw` says in which.  `held`: right after the change `itself`, as the changed `=` makes it, is set
    back to its distance from the ordinary ones, once.  `kept`: after every step these levers are set back to the distance
    from the ordinary ones that they had before the change.  `reading`: `itself` of k and l is raised, by up to 15, to
    where layer 2's `=` reads them most in their problems on the right, and what is `kept` is kept as it is then; with `aside`
    they are moved as far instead, in random directions that turn no lever.  `often`: how often k and l are asked for on the
    right, relative to the study's mixture.
    """

    levers: tuple[str, ...] = ()
    share: float = 1.0
    aside: bool = False
    draw: int = 0
    held: bool = False
    kept: tuple[str, ...] = ()
    reading: bool = False
    weight_decay: float = 0.02
    often: float = 1.0


BRANCHES = {
    "unchanged": Branch(),
    "aside": Branch(aside=True),
    "read": Branch(levers=("read",)),
    "own": Branch(levers=("own",)),
    "itself": Branch(levers=("itself",)),
    "read, own": Branch(levers=("read", "own")),
    "read, itself": Branch(levers=("read", "itself")),
    "own, itself": Branch(levers=("own", "itself")),
    "all three": Branch(levers=LEVERS),
    "read, a quarter": Branch(levers=("read",), share=0.25),
    "read, half": Branch(levers=("read",), share=0.5),
    "read, three quarters": Branch(levers=("read",), share=0.75),
    "read, itself held": Branch(levers=("read",), held=True),
    "itself, a third": Branch(levers=("itself",), share=0.324),  # as far as `read` moves it in its wake
    "itself, half": Branch(levers=("itself",), share=0.5),
    "itself, three quarters": Branch(levers=("itself",), share=0.75),
    "own, threefold": Branch(levers=("own",), share=3.0),
    "own, fourfold": Branch(levers=("own",), share=4.0),
    "aside, twice as far": Branch(aside=True, share=2.0),
    "asked twice as often": Branch(often=2.0),
    "no weight decay": Branch(weight_decay=0.0),
    "itself, read kept": Branch(levers=("itself",), kept=("read",)),
    "read, itself kept": Branch(levers=("read",), held=True, kept=("itself",)),
}


IMPOSED = {
    "unchanged": Branch(),
    "raised": Branch(reading=True),
    "aside": Branch(reading=True, aside=True),
    "raised and kept": Branch(reading=True, kept=("itself",)),
    "kept as it was": Branch(kept=("itself",)),
}
# changes aside in four pairs of random directions, by draw and length: followed for a short time only
ASIDE = {(draw, share): Branch(aside=True, share=share, draw=draw) for draw in range(4) for share in (1.0, 2.0, 3.0, 4.0)}


def ordinary(split: Split) -> list[int]:
    """The variables, as token ids, that training puts on either side."""
    task, restricted = split.task, {*split.never_left, *split.never_right}
    return [task.first_variable + v for v in range(task.n_variables) if v not in restricted]


@torch.no_grad()
def changed_embeddings(weights: Weights, branch: Branch, split: Split) -> Tensor:
    """The token embeddings (d_vocab, d_model) with the branch's change to k and l."""
    task, W_E = weights.task, weights.W_E.clone()
    problems = variable_problems(split).tokens.view(task.n_variables, 2, -1, task.length)
    usual = ordinary(split)
    for name in LATE:
        row = task.token(name)
        vectors = lever_vectors(weights, problems[row - task.first_variable, 1])
        gap = vectors @ (weights.W_E[usual].mean(0) - weights.W_E[row])  # (3,)
        if branch.reading:
            gap[2] = _most(weights, row, vectors, problems[row - task.first_variable])
        if branch.aside:
            drawn = torch.randn(weights.d_model, generator=torch.Generator().manual_seed(1000 * branch.draw + row))
            drawn = drawn - smallest_change(vectors, vectors @ drawn)
            as_far = smallest_change(vectors, gap * torch.tensor([0.0, 0.0, 1.0])).norm()
            W_E[row] += branch.share * drawn * as_far / drawn.norm()
        elif levers := ("itself",) if branch.reading else branch.levers:
            W_E[row] += smallest_change(vectors, gap * torch.tensor([branch.share * (each in levers) for each in LEVERS]))
        for _ in range(8 * branch.held):  # each round changes `=`, and so the lever, a little
            now = lever_vectors(replace(weights, W_E=W_E), problems[row - task.first_variable, 1])
            off = now[2] @ (W_E[usual].mean(0) - W_E[row]) - gap[2]
            W_E[row] += smallest_change(now, off * torch.tensor([0.0, 0.0, 1.0]))
    return W_E


def _most(weights: Weights, row: int, vectors: Tensor, problems: Tensor) -> float:
    """By how much, up to 15, `itself` of a variable must rise for most attention to it, in its problems (2, batch, pos)."""
    task, read = weights.task, {}
    for amount in torch.arange(0, 15.5, 0.5):
        W_E = weights.W_E.clone()
        W_E[row] += smallest_change(vectors, amount * torch.tensor([0.0, 0.0, 1.0]))
        pattern = trace(replace(weights, W_E=W_E), problems[1]).pattern
        read[amount.item()] = pattern[:, 1, task.last, task.right].mean().item()
    return max(read, key=read.get)


def take(learner: StudyLearner, branch: Branch, batches: int = 0) -> None:
    """Change a learner as the branch says; `batches` other than 0 seeds the draw of its problems anew."""
    with torch.no_grad():
        learner.weights.W_E.copy_(changed_embeddings(learner.weights, branch, learner.split))
    for group in learner.optimizer.param_groups:
        group["weight_decay"] = branch.weight_decay
    if branch.often != 1:
        law, forms = learner.population, learner.population.forms.clone()
        forms[:, [law.task.token(name) - law.task.first_variable for name in LATE]] *= branch.often
        learner.population = Population(law.task, forms, law.pairs)
    if batches:
        learner.generator.manual_seed(batches)


class Keeper:
    """Keeps some levers of k and l at the distance from the ordinary variables that they have when it is made."""

    def __init__(self, learner: StudyLearner, levers: tuple[str, ...]):
        self.learner, self.ordinary, task = learner, ordinary(learner.split), learner.config.task
        self.levers = torch.tensor([lever in levers for lever in LEVERS])
        tokens = variable_problems(learner.split).tokens.view(task.n_variables, 2, -1, task.length)[:, 1, :150]
        self.problems = {task.token(name): tokens[task.token(name) - task.first_variable] for name in LATE}
        self.distances = {row: self.distance(row)[1] for row in self.problems}

    @torch.no_grad()
    def distance(self, row: int) -> tuple[Tensor, Tensor]:
        """The vectors (3, d_model) of a variable's levers, and how far (3,) the levers are from the ordinary ones."""
        w = self.learner.weights
        vectors = lever_vectors(w, self.problems[row])
        return vectors, vectors @ (w.W_E[row] - w.W_E[self.ordinary].mean(0))

    @torch.no_grad()
    def put_back(self) -> None:
        """Set the levers back, in two rounds, for each changes `=` and so the levers a little."""
        for _ in range(2 * bool(self.levers.any())):
            for row, distance in self.distances.items():
                vectors, now = self.distance(row)
                self.learner.weights.W_E[row] += smallest_change(vectors, (distance - now) * self.levers)


def followed(
    learner: StudyLearner, end: int, every: int = 100, settled: int = 5, keeper: Keeper | None = None
) -> Iterator[dict[str, float]]:
    """Rows of accuracies of k and l, as training goes on to `end`, or until both have been above 0.7 on the right for a while."""
    problems, task, calm = variable_problems(learner.split), learner.config.task, 0
    columns = [task.token(name) - task.first_variable for name in LATE]
    while True:
        with torch.no_grad():
            found = variable_accuracy(learner.weights, problems)[columns]  # (late, side)
            read = self_reading(learner.weights, problems.tokens.view(task.n_variables, 2, -1, task.length))
        row = {"step": learner.step} | dict(zip(PLACES, [*found[:, 1].tolist(), *found[:, 0].tolist()]))
        yield row | {f"{name} itself": read[name] for name in LATE}
        calm = calm + 1 if found[:, 1].min() > 0.7 else 0
        if learner.step >= end or calm > settled:
            return
        for _ in range(every):
            learner.advance()
            if keeper:
                keeper.put_back()


def branched(state: Path, branch: Branch, batches: int = 0, end: int = 10_000, seed: int = 42) -> pd.DataFrame:
    """The rows of one branch of a seed's run, from a state saved at its start."""
    learner = StudyLearner(TrainConfig(seed=seed))
    learner.load(state)
    keeper = Keeper(learner, branch.kept) if branch.kept else None
    take(learner, branch, batches)
    if branch.reading and branch.kept:
        keeper = Keeper(learner, branch.kept)
    return pd.DataFrame(followed(learner, end, keeper=keeper))


def load_branches() -> pd.DataFrame:
    """The shipped rows of all branches: branch, batches, step and the accuracy of the four late places."""
    return pd.read_csv(shipped_file("history/waits.csv"))


def load_aside() -> pd.DataFrame:
    """The shipped rows of the changes in `ASIDE`: draw, share, step and the accuracy of the four late places."""
    return pd.read_csv(shipped_file("history/waits-aside.csv"))


def load_other_seeds() -> pd.DataFrame:
    """The shipped rows of the branches `itself`, `read` and `aside` of the seeds in `OTHER_STARTS`, with a column seed."""
    return pd.read_csv(shipped_file("history/waits-seeds.csv"))


def load_imposed() -> pd.DataFrame:
    """The shipped rows of the branches in `IMPOSED`, with columns seed and branch, and the self-reading of k and l."""
    return pd.read_csv(shipped_file("history/imposed.csv"))


def load_release() -> pd.DataFrame:
    """The shipped rows of `release_row` for seed 42, indexed by step."""
    return pd.read_csv(shipped_file("history/release.csv"), index_col="step")


def load_self_reading() -> pd.DataFrame:
    """The shipped rows of `self_reading` at the steps `READ_AT` of ten runs, indexed by seed."""
    return pd.read_csv(shipped_file("history/reading.csv"), index_col="seed")


def nudged_losses(weights: Weights, tokens: Tensor, variable: int, lever: str, amounts: Tensor) -> pd.DataFrame:
    """Mean loss and share right on problems (batch, pos), for each amount added to a lever of one variable, by amount."""
    target, one = weights.task.right_answers(tokens), torch.eye(weights.task.n_variables)[variable]
    rows = {}
    for amount in map(float, amounts):
        logits = nudged(weights, tokens, **{lever: amount * one})
        rows[amount] = cross_entropy(logits, target).item(), (logits.argmax(1) == target).float().mean().item()
    return pd.DataFrame.from_dict(rows, orient="index", columns=["loss", "right"])


def released(rows: pd.DataFrame, level: float) -> pd.Series:
    """For each branch and draw of batches, how many steps after `START` both k and l on the right have arrived at a level.

    NaN where they have not by the end.
    """
    found = {}
    for key, part in rows.groupby(["branch", "batches"], sort=False):
        steps = [arrival(part.set_index("step")[place], level) for place in PLACES[:2]]
        found[key] = None if None in steps else max(steps) - START
    return pd.Series(found, dtype=float).rename_axis(["branch", "batches"])
