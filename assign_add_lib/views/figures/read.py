"""Figures of part II, Read: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from .style import (
    LEFT_OUT,
    WIDTH,
    name_cells,
)


def score_block(scores: Tensor, names: Sequence, limit: float, query: str = "query", key: str = "key") -> Figure:
    """Draw a square block of scores with their values, without decimals; the largest of each row is ringed, masked ones grey.

    A masked entry is minus infinity.  At `limit` colours are half as strong as they could be, so that the values are read.
    Figure 7.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 3.7))
    axes.set_facecolor(LEFT_OUT)
    axes.imshow(scores.masked_fill(scores.isinf(), torch.nan).numpy(), cmap="RdBu_r", vmin=-2.4 * limit, vmax=2.4 * limit)
    for row, values in enumerate(scores):
        for column in values.isfinite().nonzero().flatten().tolist():
            value = float(values[column])
            axes.text(column, row, f"{value:.0f}".replace("-0", "0").replace("-", "−"), ha="center", va="center")
        if values.isfinite().any():
            best = int(values.argmax())
            axes.add_patch(plt.Rectangle((best - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.8))
    name_cells(axes, names, names)
    axes.set(xlabel=key, ylabel=query)
    return figure


def patch_maps(maps: dict[str, Tensor], sites: Sequence[str], positions: Sequence[str]) -> Figure:
    """Draw recovered logit differences in percent, a panel for each change: rows are hook sites, columns positions."""
    height = 0.19 * len(sites) * len(maps) + 0.6 * len(maps)
    figure, panels = plt.subplots(len(maps), 1, figsize=(WIDTH, height), sharex=True)
    for axes, (title, values) in zip(np.atleast_1d(panels), maps.items()):
        axes.imshow(np.asarray(values), vmin=0, vmax=2, cmap="Blues", aspect="auto")  # pale, so that the numbers are read
        for (row, column), value in np.ndenumerate(np.asarray(values)):
            if abs(value) >= 0.03:
                axes.text(column, row, f"{100 * value:.0f}", ha="center", va="center")
        axes.set(title=title)
        name_cells(axes, positions, sites)
        axes.set_xticks(np.arange(len(positions)) + 0.5, minor=True)
        axes.set_yticks(np.arange(len(sites)) + 0.5, minor=True)
        axes.grid(which="minor", color="0.88", linewidth=0.5)
        axes.tick_params(labelbottom=True)
    return figure
