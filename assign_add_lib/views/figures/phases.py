"""Figures of chapter 11: measures, places, margins and levers over training steps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ...analysis.phases import arrival
from ...circuits import variable_identity
from ...model import Weights, trace
from .style import BLUE, GREY, INK, LAYER_COLOURS, VERMILION, WIDTH


def measure_panels(metrics: pd.DataFrame, chance: Mapping[str, float], spans: Sequence[tuple[str, int, int]]) -> Figure:
    """One panel a measure over logarithmic steps, in the order of `chance`, whose levels are dashed.  Figure 12.

    A square marks step 0, a ring the arrival at 0.5, a dot that at 0.9.  The second of the spans (name, first step, last
    step) is shaded.
    """
    figure, panels = plt.subplots(len(chance), 1, figsize=(WIDTH, 0.97 * len(chance)), sharex=True, sharey=True)
    for axes, (name, level) in zip(panels, chance.items()):
        axes.axvspan(*spans[1][1:], color="0.92", linewidth=0)
        axes.axhline(level, color=GREY, ls="--", linewidth=0.9)
        series = metrics[name]
        axes.plot(series[1:], color=BLUE, linewidth=1.3)
        axes.plot(65, series.iloc[0], "s", ms=5, color=BLUE)
        for height, fill in ((0.5, "white"), (0.9, BLUE)):
            if (step := arrival(series, height)) is not None:
                axes.plot(step, series[step], "o", ms=6, mfc=fill, color=BLUE)
        axes.set_title(name, fontsize=8.5, pad=2)
        axes.set(xscale="log", xlim=(50, metrics.index[-1]), ylim=(-0.05, 1.1), yticks=[0, 1])
    for name, start, end in spans:
        panels[0].text((max(start, 60) * end) ** 0.5, 0.12, f"phase {name}", ha="center", fontsize=8.5)
    ticks = [100, 400, 1000, *(start for _, start, _ in spans[1:]), int(metrics.index[-1])]
    panels[-1].set_xticks([65, *ticks], ["0", *map(str, ticks)])
    panels[-1].minorticks_off()
    panels[-1].set_xlabel("training step")
    return figure


def place_maps(accuracy: pd.DataFrame, windows: Sequence[tuple[int, int]], rows: Sequence[int], starts: Sequence[int]) -> Figure:
    """A map of accuracy, a row for each column of the table, for each window of steps.

    Lines part the rows below those that `rows` counts; dashed lines mark the steps `starts`.
    """
    figure, panels = plt.subplots(1, len(windows), figsize=(WIDTH, 4.8), sharey=True)
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
    figure.colorbar(image, label="accuracy", shrink=0.8)
    return figure


def loss_by_lever(panels: Mapping[str, Mapping[str, pd.Series]], marks: Mapping[str, float]) -> Figure:
    """A panel for each lever: curves of the loss over the amount added to it, by name; a tick at its usual value."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(WIDTH, 3.1), sharey=True)
    for axes, (lever, curves) in zip(all_axes, panels.items()):
        for (name, curve), line in zip(curves.items(), ("-", "--", "-.", ":")):
            axes.plot(curve, line, label=name)
        axes.axvline(marks[lever], ymax=0.06, color=INK)
        axes.set(xlabel=f"added to {lever}", ylim=(0, 6))
    all_axes[0].set_ylabel("loss")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def release_panels(rows: pd.DataFrame, names: Sequence[str], window: tuple[int, int]) -> Figure:
    """The columns `own`, `pull` and `number` of each name, in three rows of panels: all steps, and a window of them."""
    figure, panels = plt.subplots(3, 2, figsize=(WIDTH, 5.6), sharey="row", width_ratios=(1.5, 1))
    labels = {"own": "own", "pull": "pull on own", "number": "attention"}
    for axes_column, part in zip(panels.T, (rows, rows.loc[slice(*window)])):
        for axes, what in zip(axes_column, labels):
            for name, line in zip(names, ("-", "--")):
                values = part[f"{what} {name}"]
                axes.plot(values if what == "own" else values[values > 0], line, label=name)
        axes_column[0].axhline(0, color=GREY, linewidth=0.7)
        axes_column[2].set_xlabel("training step")
    for axes, what in zip(panels[:, 0], labels):
        axes.set(ylabel=labels[what], yscale="linear" if what == "own" else "log")
    panels[0, 0].legend()
    return figure


def margin_paths(paths: Mapping[str, pd.DataFrame], window: tuple[int, int]) -> Figure:
    """A panel for each place: its columns over steps, within a window."""
    figure, panels = plt.subplots(1, len(paths), figsize=(WIDTH, 3.3), sharey=True)
    for axes, (place, path) in zip(panels, paths.items()):
        for name, line in zip(path, ("--", "-", ":")):
            axes.plot(path[name], line, label=name)
        axes.axhline(0, color=GREY, linewidth=0.7)
        axes.set(title=place, xlim=window, xticks=[*range(window[0], window[1], 2000)])
    panels[len(paths) // 2].set_xlabel("training step")
    panels[0].set_ylabel("margin of the right number")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _ringed(axes: Axes, block: Tensor, names: Sequence[str], limit: float) -> None:
    axes.imshow(block.numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
    axes.plot(block.argmax(1).tolist(), range(len(names)), "o", ms=7, mfc="none", color="black")
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)


def attention_and_block(weights: Weights, tokens: Tensor, limit: float = 8) -> Figure:
    """Attention of `=` in both layers on one problem (pos,), and the identity block with its rows' largest ringed.  Figure 8."""
    task = weights.task
    pattern = trace(weights, tokens[None]).pattern[0, :, task.last]  # (layer, key)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.0))
    for layer, (offset, read) in enumerate(zip((-0.2, 0.2), pattern), 1):
        places = [place + offset for place in range(task.length)]
        left.barh(places, read.tolist(), 0.4, color=LAYER_COLOURS[layer], label=f"layer {layer}")
    left.set_yticks(range(task.length), task.names(tokens), fontsize=7.5)
    left.set(xlim=(0, 1), title="attention of =", ylim=(task.length - 0.4, -0.6))
    left.legend(loc="upper right")
    _ringed(right, variable_identity(weights), task.variable_names, limit)
    right.set(title="identity block", xlabel="held by a number", ylabel="held by =")
    return figure
