"""Chapter 13: from the theorem's start to the measured one, in ten runs; what a step, and 25, do from there."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from assign_add_lib import load_run
from assign_add_lib.analysis.phases import arrival, phase_spans
from assign_add_lib.circuits import QK, last_logits
from assign_add_lib.model import Weights, run
from assign_add_lib.sampling import Batch, Population, evaluation_populations
from assign_add_lib.task import STUDY as task
from assign_add_lib.theory import (
    Setting,
    coordinates,
    delivery,
    descent,
    dimensions,
    exchange_look_up,
    look_up_gradient,
    moved_names,
    sweeps,
)
from assign_add_lib.training import Run, descend, shipped_runs

from .recipe import ROOT

READ, SCORES = "blocks.0.attn.hook_pattern", "blocks.1.attn.hook_attn_scores"
LENGTHS = [2.0**k for k in range(-8, 2)]  # of a step, over the norm of QK2
LONGER = [*LENGTHS, 4.0, 8.0]


def chosen_steps(study: Run) -> dict[str, int]:
    """The two measured steps of a run that stand for the theorem's start."""
    metrics = study.metrics
    learned, second = arrival(metrics["0-var train"], 0.99), phase_spans(metrics, task)[1][1]
    return {"addition learned": learned, "end of phase 1": max(metrics.index[metrics.index < second])}


def share(found: Tensor) -> float:
    """The mean of what is true or false, or of weights."""
    return found.double().mean().item()


def kinds(tokens: Tensor) -> dict[str, Tensor]:
    """Which positions (batch, pos) of 1-var problems are keys of each kind."""
    at = torch.arange(task.length)
    operand, number, assigned = (at == task.left) | (at == task.right), tokens < task.n_numbers, task.assigned_numbers(tokens)
    asked = torch.zeros_like(assigned).scatter(1, task.value_positions(tokens), True) & assigned
    return {
        "number operand": operand & number, "variable operand": operand & ~number, "asked number": asked,
        "other numbers": assigned & ~asked, "variables": (at < task.room) & (tokens >= task.first_variable),
        "PAD": tokens == task.pad, "+": tokens == task.plus, "=": tokens == task.equal,
    }  # fmt: skip


def seen(w: Weights, tokens: Tensor, typed: Tensor) -> dict[str, float]:
    """Attention of `=` by layer and kind of key: on 1-var problems, and on the operands of 0-var problems."""
    row, given, plain = {}, run(w, tokens), run(w, typed)
    for layer in (1, 2):
        A = given.attention(layer)[:, -1]
        row |= {f"layer {layer}: {kind}": share((A * which).sum(1)) for kind, which in kinds(tokens).items()}
        row[f"layer {layer}: distance"] = share(1 - A[:, [task.left, task.right]].clamp(max=0.5).sum(1))  # from half and half
        left, right = plain.attention(layer)[:, -1, [task.left, task.right]].mean(0).tolist()
        row |= {f"layer {layer}: 0-var left": left, f"layer {layer}: 0-var right": right}
    equal, number = delivery(w, tokens).mean(0).tolist()
    return row | {"layer 1: numbers to their variable": number, "delivered": share(delivery(w, tokens).prod(1))}


def with_attention(w: Weights, tokens: Tensor) -> Tensor:
    """W (D, D) of the simplified network with what layer 2 gives each kind of key, all assigned numbers alike."""
    A, which, at = run(w, tokens).attention(2)[:, -1], kinds(tokens), coordinates(task)
    which["numbers"] = which["asked number"] | which["other numbers"]
    score = {kind: math.log((A * each).sum() / each.sum()) for kind, each in which.items()}
    W, (p, always) = torch.zeros(2 * [dimensions(task)], dtype=torch.float64), (at["position"].start, at["position"].stop - 1)
    W[[p + task.left, p + task.right], always] = score["number operand"]
    W[at["variable"], always] = score["variable operand"] - score["number operand"]
    odd, even = score["numbers"], score["variables"] - score["variable operand"] + score["number operand"]
    W[p + 1 : p + task.room : 2, always], W[p : p + task.room : 2, always] = odd, even
    W[task.pad, always] = score["PAD"] - (odd + even) / 2
    W[p + task.room, always], W[always, always] = score["+"], score["="]
    return W


def from_attention(W: Tensor, fresh: dict[str, Tensor]) -> dict[str, float]:
    """One step of the simplified network from W, so long that a name scores itself by 1 more than another."""
    e, step = coordinates(task)["moved variable"].start, descent(Setting(gamma=1e-6, assignments=3), W)
    signal = (step[e, e] - step[e, e + 1]).item()
    step = step / signal
    row = {"signal": signal, "ranked": sweeps.ranked(W + step, fresh["1-var"]), "largest": step.abs().max().item()}
    return {f"attention alone: {key}": value for key, value in row.items()}


def imposed(tokens: Tensor) -> dict:
    """Layer 1 as the theorem has it: each assigned number attends to its variable alone, `=` to both operands alike."""
    before, equal = torch.eye(task.length).roll(-1, 1), torch.zeros(task.length, task.length)
    equal[-1, [task.left, task.right]] = 0.5
    number, last = task.assigned_numbers(tokens)[:, None, :, None], (torch.arange(task.length) == task.last)[:, None]
    return {READ: lambda pattern: torch.where(last, equal, torch.where(number, before, pattern))}


def from_operands(_: Tensor) -> dict:
    """Layer 2 at the theorem's own start, beside what its matrix adds: a score of 3 for each operand, none for all else."""
    added = torch.zeros(task.length)
    added[[task.left, task.right]] = 3
    return {SCORES: lambda scores: scores + added}


def ranks(w: Weights, tokens: Tensor, alter: dict | None = None) -> Tensor:
    """Whether the asked number has the largest layer-2 attention of all assigned numbers; of several largest, its part."""
    A, assigned = run(w, tokens, alter or {}).attention(2)[:, -1], task.assigned_numbers(tokens)
    first = assigned & (A == A.where(assigned, -1).amax(1, keepdim=True))
    return (first & kinds(tokens)["asked number"]).sum(1) / first.sum(1)


def state(w: Weights, problems: Batch) -> dict[str, float]:
    """What a network does on 1-var problems: accuracy, the share ranked first, the look-up score."""
    choice = problems.tokens[task.assigned_numbers(problems.tokens).sum(1) >= 2]
    right = last_logits(w, problems.tokens).argmax(1) == problems.answers
    score = exchange_look_up(w, w, problems.tokens)["before"]
    return {"accuracy": share(right), "ranked": share(ranks(w, choice)), "score": score}


def with_QK2(w: Weights, Q: Tensor) -> Weights:
    """The same network with this matrix for QK2."""
    W_Q, W_K = w.W_Q.clone(), w.W_K.clone()
    W_Q[1], W_K[1] = Q * math.sqrt(w.d_model), torch.eye(w.d_model)
    return w.replace(W_Q=W_Q, W_K=W_K)


def step_along(w: Weights, Q: Tensor, direction: Tensor, held: Batch, other: Batch, alter: Callable) -> dict[str, float]:
    """What a step from Q along a direction does on problems `other`, of the length with the lowest loss on `held`.

    Also that length over the norm of QK2, and the most that any length wins of the share ranked first.
    """
    rankable, size = other.tokens[task.assigned_numbers(other.tokens).sum(1) >= 2], QK(w, 2).norm() / direction.norm()
    tried = {length: with_QK2(w, Q + length * size * direction) for length in LONGER}

    def loss(length: float) -> float:
        return cross_entropy(run(tried[length], held.tokens, alter(held.tokens)).logits, held.answers).item()

    def ranked(each: Weights, tokens: Tensor = rankable) -> float:
        return share(ranks(each, tokens, alter(tokens)))

    best, before, some = min(LENGTHS, key=loss), with_QK2(w, Q), rankable[:2000]
    after = run(tried[best], other.tokens, alter(other.tokens)).answers == other.answers
    row = {"length": best, "accuracy": share(after), "ranked": ranked(tried[best]), "before": ranked(before)}
    return row | {"most won": max(ranked(each, some) for each in tried.values()) - ranked(before, some)}


def descent_of_QK2(w: Weights, Q: Tensor, problems: Batch, alter: Callable, scale: float = 1) -> Tensor:
    """The direction of descent of the loss, of logits times `scale`, by a matrix Q for QK2 in a network that is altered."""
    with torch.enable_grad():
        Q = Q.clone().requires_grad_()
        for tokens, answers in zip(*(each.split(1000) for each in problems)):
            cross_entropy(scale * run(with_QK2(w, Q), tokens, alter(tokens)).logits, answers).backward()
    return -Q.grad


def trained(w: Weights, law: Population, which: str, steps: int = 25) -> Weights:
    """A network after steps of AdamW on 1-var problems, on `all` weights, one layer's W_Q and W_K, or `rest`, all but QK2."""
    w, draw = w.trainable(), torch.Generator().manual_seed(25)
    both = {name: [layer.detach().clone().requires_grad_() for layer in getattr(w, name)] for name in ("W_Q", "W_K")}
    first, own = ({name: each[layer] for name, each in both.items()} for layer in (0, 1))
    others = [value for name, value in w.tensors().items() if name not in own]
    parts = {"QK2": [own], "QK1": [first], "rest": [first], "all": [own, first]}[which]
    parts = [value for part in parts for value in part.values()] + others * (which in ("rest", "all"))

    def now() -> Weights:
        return w.replace(**{name: torch.stack([first[name], own[name]]) for name in own})

    def loss() -> Tensor:
        tokens, answers = law.sample(512, draw)
        return cross_entropy(last_logits(now(), tokens), answers)

    *_, _ = descend(parts, loss, steps)
    with torch.no_grad():
        return Weights(**{name: value.detach() for name, value in now().tensors().items()})


def start_row(w: Weights, laws: dict[str, Population], fresh: dict[str, Tensor]) -> dict[str, float]:
    """All that is measured at one start."""
    law, draw = laws["1-var train"], torch.Generator().manual_seed(13)
    found, held, other = (law.sample(size, draw) for size in (8000, 4000, 4000))
    three = found.tokens[task.assigned_numbers(found.tokens).sum(1) == 3]
    row = seen(w, other.tokens, laws["0-var train"].sample(2000, draw).tokens)
    row |= from_attention(with_attention(w, three), fresh)
    m, (G, C) = moved_names(w), look_up_gradient(w, found)
    off = ~torch.eye(len(C), dtype=torch.bool)
    row["C: own largest"] = share(C.argmax(1) == torch.arange(len(C)))
    row |= {"C: own": C.diag().mean().item(), "C: other": C[off].mean().item()}
    S, back = m.T @ m, torch.linalg.pinv(m)  # in S names meet as they are, in `apart` as if they were orthonormal
    spread = torch.linalg.svdvals(m).square()
    row["names: dimensions"] = (spread.sum().square() / spread.square().sum()).item()
    row["names: own largest by S"] = (m @ S @ m.T).argmax(1).eq(torch.arange(len(m))).sum().item()
    Q, plain = QK(w, 2), lambda tokens: {}
    apart = back @ back.T
    steps = {"step": (Q, G, plain), "step along S": (Q, S, plain), "step apart": (Q, apart, plain)}
    steps |= {"delivered, step": (Q, None, imposed), "delivered, step along S": (Q, S, imposed)}
    steps["delivered, step apart"] = Q, apart, imposed
    steps["own start"] = torch.zeros_like(Q), None, from_operands
    steps["delivered, own start"] = torch.zeros_like(Q), None, lambda tokens: imposed(tokens) | from_operands(tokens)
    for name, (of, way, alter) in steps.items():
        way = descent_of_QK2(w, of, found, alter) if way is None else way
        row |= {f"{name}: {key}": value for key, value in step_along(w, of, way, held, other, alter).items()}
    after = {"before": w} | {f"25 on {which}": trained(w, law, which) for which in ("QK2", "QK1", "rest", "all")}
    for name, each in after.items():
        row |= {f"{name}: {key}": value for key, value in state(each, other).items()}
    return row


def starts() -> Iterator[dict]:
    """Ten runs at two steps: the shipped run where it has both checkpoints, else the whole run below runs/study."""
    fresh = sweeps.fresh_problems(500)
    for name in sorted(shipped_runs(), key=lambda each: int(each[5:])):
        study = load_run(name)
        if not {*chosen_steps(study).values()} <= {*study.steps}:
            study = load_run(ROOT / "runs/study" / name)
        for start, step in chosen_steps(study).items():
            row = {"seed": study.config.seed, "start": start, "step": step}
            yield row | start_row(study.weights(step), evaluation_populations(study.split), fresh)
