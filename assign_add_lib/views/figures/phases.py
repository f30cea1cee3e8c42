"""Figures of chapter 11: places and levers over training steps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from .style import INK, VERMILION, WIDTH


def place_maps(
    accuracy: pd.DataFrame,
    windows: Sequence[tuple[int, int]],
    rows: Sequence[int],
    starts: Sequence[int],
    measures: pd.DataFrame,
) -> Figure:
    """A map of accuracy, a row for each column of the table, for each window of steps, under curves of some measures.

    Lines part the rows below those that `rows` counts; dashed lines mark the steps `starts`.
    """
    tall = {"height_ratios": (1, 3)}
    figure, (curves, panels) = plt.subplots(2, len(windows), figsize=(WIDTH, 6.2), sharey="row", sharex="col", gridspec_kw=tall)
    for axes, (start, end) in zip(curves, windows):
        for name, line in zip(measures, ("-", "--", ":")):
            axes.plot(measures[name].loc[start:end], line, label=name)
    figure.legend(*curves[0].get_legend_handles_labels(), loc="outside upper center", ncols=1, fontsize=8)
    curves[0].set(ylabel="share", ylim=(-0.05, 1.1), yticks=[0, 1])
    for axes, (start, end) in zip(panels, windows):
        edges = (start - 50, end + 50, accuracy.shape[1] - 0.5, -0.5)
        image = axes.imshow(accuracy.loc[start:end].T, aspect="auto", vmin=0, vmax=1, extent=edges)
        for row in rows:
            axes.axhline(row - 0.5, color=VERMILION, linewidth=1.2)
        for step in starts:
            if start < step < end:
                axes.axvline(step - 50, color=INK, ls="--", linewidth=1)
        axes.set(xlabel="training step (dashed: a phase begins)")
    panels[0].set_yticks(range(accuracy.shape[1]), accuracy.columns, fontsize=8)
    figure.colorbar(image, ax=panels, label="accuracy", shrink=0.8)
    return figure


def loss_by_lever(panels: Mapping[str, Mapping[str, pd.Series]], marks: Mapping[str, float]) -> Figure:
    """A panel for each lever: curves of the loss over the amount added to it, by name; a tick at its usual value."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(WIDTH, 3.1), sharey=True)
    for axes, (lever, curves) in zip(all_axes, panels.items()):
        for (name, curve), line in zip(curves.items(), ("-", "--", "-.", ":")):
            axes.plot(curve, line, label=name)
        axes.axvline(marks[lever], ymax=0.06, color=INK)
        axes.set(xlabel=f"added to {lever}", ylim=(0, 2.5))
    all_axes[0].set_ylabel("loss")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def release_panels(rows: pd.DataFrame, name: str, window: tuple[int, int]) -> Figure:
    """The columns `pull`, `push` (its sign turned) and `number` of a variable: all steps, and a window of them."""
    figure, panels = plt.subplots(2, 2, figsize=(WIDTH, 4), sharey="row", width_ratios=(1.5, 1))
    for (above, below), part in zip(panels.T, (rows, rows.loc[slice(*window)])):
        for axes, what, sign, line in ((above, "pull", 1, "-"), (above, "push", -1, "--"), (below, "number", 1, "-")):
            values = sign * part[f"{what} {name}"]
            axes.plot(values[values > 0], line, label=what)
        below.set_xlabel("training step")
    panels[0, 0].set(ylabel="on own", yscale="log")
    panels[1, 0].set(ylabel="attention", yscale="log")
    panels[0, 0].legend()
    return figure
