"""Errors: every problem of a batch marked, with what may explain that the network is right or wrong."""

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from .circuits import OV, last_logits
from .model import Weights, run
from .sampling import Batch, assigned_numbers, value_positions
from .task import STUDY, Split, Task


@torch.no_grad()
def mark(weights: Weights, batch: Batch, split: Split, chunk: int = 2000) -> pd.DataFrame:
    """One row a problem: what it asks, in which ways it is new to training, and what the network says.

    `left` and `right` name the operands, `number` for a constant; `x` and `y` are the numbers to add, `assignments`
    their count.  `held_out` says that training never adds x + y, `twin` that it adds y + x, `out_of_place` how many
    operands are variables where training never puts them.  `said` is the answer, `confidence` its probability.
    """
    task, tokens = split.task, batch.tokens
    logits = (last_logits(weights, part) for part in tokens.split(chunk))
    confidence, said = (torch.cat(each) for each in zip(*(part.softmax(1).max(1) for part in logits)))
    x, y = tokens.gather(1, value_positions(tokens, task)).unbind(1)
    operands = (tokens[:, [task.left, task.right]] - task.first_variable).clamp(min=-1)  # (batch, 2), -1 for a constant
    out = [torch.isin(side, torch.tensor(never)) for side, never in zip(operands.T, (split.never_left, split.never_right))]
    names = np.array([*task.variable_names, "number"])  # -1 is the last
    columns = {
        "left": names[operands[:, 0]],
        "right": names[operands[:, 1]],
        "x": x,
        "y": y,
        "assignments": assigned_numbers(tokens, task).sum(1),
        "held_out": split.held_out_pairs[x, y],
        "twin": split.train_pairs[y, x],
        "out_of_place": out[0].int() + out[1].int(),
        "answer": batch.answers,
        "said": said,
        "confidence": confidence.double(),
    }
    table = pd.DataFrame({name: np.asarray(column) for name, column in columns.items()})
    return table.assign(wrong=table["said"] != table["answer"])


@torch.no_grad()
def cleanly_read(weights: Weights, tokens: Tensor, task: Task = STUDY) -> Tensor:
    """The answers (batch,) where layer 2's `=` reads the two numbers to add equally, and no distractor's number.

    What `=` reads of assigned numbers and of the numbers to add stays the same in all; so does the rest of its attention.
    """
    w, acts = weights, run(weights, tokens)
    stream, attention = acts.resid_pre + acts.attn_out[:, 0], acts.pattern[:, 1, task.last]
    wanted = torch.zeros_like(attention, dtype=torch.bool).scatter(1, value_positions(tokens, task), True)
    assigned = assigned_numbers(tokens, task)
    on_numbers = (attention * (wanted | assigned)).sum(1, keepdim=True)
    clean = torch.where(wanted, on_numbers / wanted.sum(1, keepdim=True), attention * ~assigned)
    mlp_in = stream[:, task.last] + torch.einsum("bt,btd->bd", clean, stream) @ OV(w, 2)
    return ((mlp_in + (mlp_in @ w.W_in).relu() @ w.W_out) @ w.W_U).argmax(1)
