"""Mistakes: every problem of a batch marked, with what may explain that the network is right or wrong."""

import numpy as np
import pandas as pd
import torch

from ..circuits import last_reading
from ..model import Weights
from ..sampling import Batch
from ..task import Split


@torch.no_grad()
def mark(weights: Weights, batch: Batch, split: Split, chunk: int = 1000) -> pd.DataFrame:
    """One row a problem: what it asks, in which ways it is new to training, and what the network says.

    `left` and `right` name the operands, `number` for a constant; `x` and `y` are the numbers to add, `assignments`
    their count.  `held_out` says that training never adds x + y, `twin` that it adds y + x, `out_of_place` how many
    operands are variables where training never puts them.  `said` is the answer, `confidence` its probability.
    Of what `=` reads in layer 2 of numbers to add, `larger_share` is the share of the one read more; of what it reads of
    those and of other assigned numbers together, `distractors` is the share of the others.
    ValueError where network, problems and split are not of one task.
    """
    task, tokens = split.task, split.task.check(batch.tokens)
    if weights.task != task:
        raise ValueError(f"the network is of {weights.task}, and the split of {task}")
    seen = [last_reading(weights, part) for part in tokens.split(chunk)]
    logits, attention = map(torch.cat, zip(*seen))  # (batch, N) and (batch, pos)
    confidence, said = logits.softmax(1).max(1)
    places, assigned = task.value_positions(tokens), task.assigned_numbers(tokens)
    x, y = tokens.gather(1, places).unbind(1)
    wanted = attention.gather(1, places)  # (batch, 2)
    unwanted = (attention * assigned.scatter(1, places, False)).sum(1)
    operands = (tokens[:, [task.left, task.right]] - task.first_variable).clamp(min=-1)  # (batch, 2), -1 for a constant
    barred = (torch.tensor(never, device=tokens.device) for never in (split.never_left, split.never_right))
    out = [torch.isin(side, never) for side, never in zip(operands.T, barred)]
    seen = split.train_pairs.to(tokens.device)
    names = np.array([*task.variable_names, "number"])  # -1 is the last
    columns = {
        "left": names[operands[:, 0].cpu()],
        "right": names[operands[:, 1].cpu()],
        "x": x,
        "y": y,
        "assignments": assigned.sum(1),
        "held_out": ~seen[x, y],
        "twin": seen[y, x],
        "out_of_place": out[0].int() + out[1].int(),
        "larger_share": wanted.max(1).values / wanted.sum(1),
        "distractors": unwanted / (unwanted + wanted.sum(1)),
        "answer": batch.answers,
        "said": said,
        "confidence": confidence.double(),
    }
    arrays = {name: column.cpu().numpy() if isinstance(column, torch.Tensor) else column for name, column in columns.items()}
    table = pd.DataFrame(arrays)
    return table.assign(wrong=table["said"] != table["answer"])
