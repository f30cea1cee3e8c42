"""Phases: when a measure arrives, by a stated rule.

A *series* is a pandas Series over training steps.
"""

import pandas as pd
import torch

from ..task import Task

DIVIDING = ["1-var train", "1-var var-restricted"]  # the sets whose arrivals divide a run into phases
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
    """The phases of a run as (name, first step, last step), divided where the sets DIVIDING arrive half way above the shortcut.

    A phase that does not begin is left out.
    """
    half = way_up(0.5, shortcut_level(task))
    arrivals = [arrival(metrics[name], half) for name in DIVIDING]
    starts = sorted([int(metrics.index[0]), *(step for step in arrivals if step is not None)])
    ends = [*starts[1:], int(metrics.index[-1])]
    return [(str(number), *span) for number, span in enumerate(zip(starts, ends), 1)]
