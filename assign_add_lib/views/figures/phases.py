"""Figures of chapter 11: places over training steps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .style import VERMILION, WIDTH


def place_maps(accuracy: pd.DataFrame, windows: Sequence[tuple[int, int]], groups: Mapping[str, int]) -> Figure:
    """A map of accuracy for each window of steps, a row for each column of the table.

    `groups` divides the rows by lines: so many of each, in their order, called by the group's name.
    """
    figure, panels = plt.subplots(1, len(windows), figsize=(WIDTH, 3.6), sharey=True)
    for axes, (start, end) in zip(panels, windows):
        edges = (start - 50, end + 50, accuracy.shape[1] - 0.5, -0.5)
        image = axes.imshow(accuracy.loc[start:end].T, aspect="auto", vmin=0, vmax=1, extent=edges)
        axes.set(xlabel="training step")
        axes.xaxis.set_major_locator(MaxNLocator(3))
    middles, row = [], 0
    for many in groups.values():
        middles.append(row + (many - 1) / 2)
        row += many
        for axes in panels[: len(panels) * (row < accuracy.shape[1])]:
            axes.axhline(row - 0.5, color=VERMILION, linewidth=1.6)
    panels[0].set_yticks(middles, groups)
    panels[0].tick_params(axis="y", length=0)
    figure.colorbar(image, ax=panels, label="accuracy", shrink=0.8)
    return figure
