"""Figures of chapter 11: places and levers over training steps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .style import BLUE, INK, VERMILION, WIDTH, legible


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


def loss_by_lever(panels: Mapping[str, Mapping[str, pd.Series]], marks: Mapping[str, float]) -> Figure:
    """A panel for each lever: curves of the loss over the amount added to it, by name; a tick at its usual value."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(WIDTH, 2.5), sharey=True)
    for axes, (lever, curves) in zip(all_axes, panels.items()):
        lines = {
            name: axes.plot(curve, line, label=name)[0] for (name, curve), line in zip(curves.items(), ("-", "--", "-.", ":"))
        }
        axes.axvline(marks[lever], ymax=0.06, color=INK)
        axes.set(title=f"added to {lever}", ylim=(0, 2.5))
    all_axes[0].set_ylabel("loss")
    for place, (name, line) in enumerate(reversed(lines.items())):
        all_axes[0].text(0.06, 0.92 - 0.14 * place, name, transform=all_axes[0].transAxes, color=legible(line.get_color()))
    return figure


def release_panels(rows: pd.DataFrame, name: str, window: tuple[int, int]) -> Figure:
    """The columns `pull`, `push` (its sign turned) and `number` of a variable: all steps, and a window of them."""
    figure, panels = plt.subplots(2, 2, figsize=(WIDTH, 3.6), sharey="row", width_ratios=(1.5, 1))
    for (above, below), part in zip(panels.T, (rows, rows.loc[slice(*window)])):
        for axes, what, sign, line in ((above, "pull", 1, "-"), (above, "push", -1, "--"), (below, "number", 1, "-")):
            values = sign * part[f"{what} {name}"]
            axes.plot(values[values > 0], line, label=what)
            axes.xaxis.set_major_locator(MaxNLocator(3))
        below.set_xlabel("training step")
    panels[0, 0].set(ylabel="on own", yscale="log")
    panels[1, 0].set(ylabel="attention", yscale="log")
    for what, x, colour in (("pull", 0.5, BLUE), ("push", 0.7, VERMILION)):
        panels[0, 0].text(x, 0.88, what, transform=panels[0, 0].transAxes, color=legible(colour))
    return figure
