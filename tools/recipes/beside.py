"""Chapter 13, asked once more: attention by side, steps of small outputs, deranged names; in ten runs and in the study's own."""

from collections.abc import Callable, Iterator

import pandas as pd
import torch
from torch import Tensor

from assign_add_lib import load_run
from assign_add_lib.analysis.phases import arrival, phase_spans
from assign_add_lib.circuits import QK
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.model import Weights, run
from assign_add_lib.sampling import Population, evaluation_populations
from assign_add_lib.task import STUDY as task
from assign_add_lib.theory import delivery, load_table, moved_names

from .published import checkpoint, own_split, published_file, read_state, weights_of
from .recipe import ROOT
from .starts import LONGER, descent_of_QK2, from_operands, imposed, kinds, seen, share

SMALL = 0.001  # of the logits, in the loss of which the gradient is taken
ORDERS = torch.rand(1000, task.n_variables, generator=torch.Generator().manual_seed(0)).argsort(1)
DERANGED = ORDERS[(ORDERS != torch.arange(task.n_variables)).all(1)][:100]  # each name is paired with another one
FIGURE_8 = 5300  # the first of the two steps that it shows, by the study's code


def by_side(w: Weights, tokens: Tensor) -> dict[str, float]:
    """Attention of `=` by layer, side of the variable and kind of key, and the distance from half and half of the operands."""
    given, typed, row = run(w, tokens), kinds(tokens), {}
    for side, at in (("left", task.left), ("right", task.right)):
        some = tokens[:, at] >= task.first_variable
        for layer in (1, 2):
            A = given.attention(layer)[some, -1]
            for kind in ("number operand", "variable operand", "asked number", "other numbers"):
                row[f"variable {side}, layer {layer}: {kind}"] = share((A * typed[kind][some]).sum(1))
            apart = 1 - A[:, [task.left, task.right]].clamp(max=0.5).sum(1)
            row[f"variable {side}, layer {layer}: distance"] = share(apart)
        row[f"variable {side}: delivered"] = share(delivery(w, tokens[some]).prod(1))
    return row


def scored(stream: Tensor, Q: Tensor) -> Tensor:
    """What `=` scores each position (batch, pos) by a QK2."""
    return torch.einsum("bd,btd->bt", stream[:, -1] @ Q, stream)


def first(scores: Tensor, tokens: Tensor) -> float:
    """How often the asked number has the largest score of all assigned numbers; of several largest, its part."""
    assigned = task.assigned_numbers(tokens)
    largest = assigned & (scores == scores.where(assigned, -torch.inf).amax(1, keepdim=True))
    return share((largest & kinds(tokens)["asked number"]).sum(1) / largest.sum(1))


def most_won(w: Weights, stream: Tensor, tokens: Tensor) -> Callable[[Tensor], float]:
    """The most that a step of QK2 along a direction wins of the share ranked first, at any of thirteen lengths."""
    before, size = scored(stream, QK(w, 2)), QK(w, 2).norm()

    def won(direction: Tensor) -> float:
        added = scored(stream, direction * size / direction.norm())
        return max(first(before + length * added, tokens) for length in LONGER) - first(before, tokens)

    return won


def row_of(w: Weights, laws: dict[str, Population]) -> dict[str, float]:
    """All that is measured at one start, on the problems of `theorem-starts`."""
    draw = torch.Generator().manual_seed(13)
    found, _, other = (laws["1-var train"].sample(size, draw) for size in (8000, 4000, 4000))
    row = seen(w, other.tokens, laws["0-var train"].sample(2000, draw).tokens) | by_side(w, other.tokens)
    tokens, m, Q = other.tokens[task.assigned_numbers(other.tokens).sum(1) >= 2], moved_names(w), QK(w, 2)
    back = torch.linalg.pinv(m)
    for name, alter in (("", lambda tokens: {}), ("delivered, ", imposed)):
        stream = run(w, tokens, alter(tokens))["blocks.1.hook_resid_pre"]
        row[f"{name}chance"] = first(torch.zeros(tokens.shape), tokens)
        for words, scale in (("", 1), (", small", SMALL)):
            own = descent_of_QK2(w, torch.zeros_like(Q), found, lambda each, of=alter: of(each) | from_operands(each), scale)
            row[f"{name}own start{words}: ranked"] = first(scored(stream, own), tokens)
        won = most_won(w, stream[:2000], tokens[:2000])
        row[f"{name}step, small: most won"] = won(descent_of_QK2(w, Q, found, alter, SMALL))
        for words, one, two in (("S", m, m), ("apart", back.T, back.T)):
            row[f"{name}step {words}: most won"] = own = won(one.T @ two)
            null = torch.tensor([won(one.T @ two[order]) for order in DERANGED])
            row |= {f"{name}deranged {words}: {what}": getattr(null, what)().item() for what in ("median", "max")}
            row[f"{name}deranged {words}: as far"] = share(null >= own)
    return row


def beside() -> Iterator[dict]:
    """Ten runs at the two steps of `theorem-starts`, and the study's own run at three."""
    for name, steps in load_table("starts").groupby("seed"):
        study = load_run(f"seed-{name}")
        if not {*steps["step"]} <= {*study.steps}:
            study = load_run(ROOT / f"runs/study/seed-{name}")
        for start, step in zip(steps["start"], steps["step"]):
            row = {"run": f"seed-{name}", "start": start, "step": step}
            yield row | row_of(study.weights(step), evaluation_populations(study.split))
    metrics = pd.read_csv(shipped_file("published.csv"), index_col="step")
    second = phase_spans(metrics, task)[1][1]
    steps = {
        "addition learned": arrival(metrics["0-var train"], 0.99),
        "end of phase 1": metrics.index[metrics.index < second][-1],
    }
    for start, step in (steps | {"figure 8": FIGURE_8}).items():
        w = weights_of(read_state(published_file(checkpoint(step)), checkpoint(step)))
        yield {"run": "published", "start": start, "step": step} | row_of(w, evaluation_populations(own_split()))
