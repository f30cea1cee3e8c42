"""Phases: when a measure arrives, by a stated rule, and two of the study's definitions that differ from ours.

A *series* is a pandas Series over training steps.
"""

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..model import Activations
from ..sampling import Batch, lay_out
from ..task import Split, Task

BRIEF = 2  # measured steps that a dip may last and still be overlooked


def arrival(series: pd.Series, level: float, brief: int = BRIEF) -> int | None:
    """The first step from which a series stays at or above a level, or None where it never does.

    A dip below the level is overlooked if it lasts at most `brief` measured steps on end; a longer one, also one that is
    open at the end, starts the search anew.
    """
    start, below = None, 0
    for step, value in series.items():
        below = 0 if value >= level else below + 1
        if below > brief:
            start = None
        elif start is None and not below:
            start = int(step)
    return start


def shortcut_level(task: Task) -> float:
    """Expected 1-var accuracy of a random assigned number: right by choice, or by the same value under another name."""
    n = torch.arange(1, task.slots + 1, dtype=torch.float64)
    return (1 / n + (1 - 1 / n) / task.n_numbers).mean().item()


def way_up(share: float, base: float, top: float = 1.0) -> float:
    """The level at a share of the way from base to top."""
    return base + share * (top - base)


def spike(series: pd.Series, base: float, top: float = 1.0) -> tuple[int, int] | None:
    """The steps before and after a rise from base to top, or None where there is none.

    Before: the last measured step before the arrival at a quarter of the way.  After: the arrival at three quarters.
    """
    start, end = (arrival(series, way_up(share, base, top)) for share in (0.25, 0.75))
    if end is None:
        return None
    return int(series.index[max(series.index.get_loc(start) - 1, 0)]), end


def phase_spans(metrics: pd.DataFrame, task: Task) -> list[tuple[str, int, int]]:
    """The phases of a run as (name, first step, last step), divided where two sets arrive half way above the shortcut.

    The sets are `1-var train` and `1-var var-restricted`; a phase that does not begin is left out.
    """
    half = way_up(0.5, shortcut_level(task))
    arrivals = [arrival(metrics[f"1-var {name}"], half) for name in ("train", "var-restricted")]
    starts = sorted([int(metrics.index[0]), *(step for step in arrivals if step is not None)])
    ends = [*starts[1:], int(metrics.index[-1])]
    return [(str(number), *span) for number, span in enumerate(zip(starts, ends), 1)]


def study_batch(split: Split, seed: int = 3, size: int = 512) -> Batch:
    """A diagnostic batch by the study's law: 0-var, 1-var left and 1-var right, over all variables and all pairs."""
    task, generator = split.task, torch.Generator().manual_seed(seed)
    V = task.n_variables
    kind = torch.randint(3, (size,), generator=generator)
    variable = torch.randint(V, (size,), generator=generator)
    x, y = torch.randint(task.n_numbers, (2, size), generator=generator)
    return lay_out(task, torch.where(kind == 1, variable, V), torch.where(kind == 2, variable, V), x, y, generator)


@torch.no_grad()
def four_step_probe(
    activations: Activations, tokens: Tensor, task: Task, seed: int = 0, steps: int = 4, lr: float = 0.01
) -> float:
    """The study's probe for an assigned number's variable, after layer-1 attention: its share right on held-out problems.

    A linear layer with bias, drawn from `seed`, takes `steps` full-batch steps of Adam on every other problem, and is
    tested on the rest.
    """
    stream = (activations.resid_pre + activations.attn_out[:, 0])[:, 1 : task.room]
    variables = tokens[:, : task.room - 1] - task.first_variable
    assigned = task.assigned_numbers(tokens)[:, 1 : task.room]
    halves = slice(0, None, 2), slice(1, None, 2)
    (x, y), (x_test, y_test) = ((stream[half][assigned[half]], variables[half][assigned[half]]) for half in halves)
    generator = torch.Generator().manual_seed(seed)
    bound = x.shape[1] ** -0.5  # as torch.nn.Linear draws its weights and biases
    shapes = (x.shape[1], task.n_variables), (task.n_variables,)
    W, b = (((2 * torch.rand(shape, generator=generator, dtype=stream.dtype) - 1) * bound).requires_grad_() for shape in shapes)
    optimizer = torch.optim.Adam([W, b], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.enable_grad():
            cross_entropy(x @ W + b, y).backward()
        optimizer.step()
    return ((x_test @ W + b).argmax(1) == y_test).float().mean().item()
