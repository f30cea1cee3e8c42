"""Figures of part II, Read: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from .style import (
    BLUE,
    INK,
    LEFT_OUT,
    PALE,
    ROLES,
    SET_STYLES,
    VERMILION,
    WIDTH,
    name_cells,
)


def score_table(
    scores: Tensor, queries: Sequence[str], keys: Sequence[str], regions: Mapping[str, tuple[int, int, int]], limit: float = 8
) -> Figure:
    """Draw scores (queries, keys) as cells of one size, and named regions (row, first column, end) framed.  Figure 6."""
    figure, axes = plt.subplots(figsize=(WIDTH, 1.9))
    axes.imshow(scores.numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    name_cells(axes, keys, queries)
    for label in axes.get_xticklabels():
        label.set_rotation(90 * (len(label.get_text()) > 2))
    for name, (row, first, end) in regions.items():
        corner = first - 0.5, row - 0.5
        axes.add_patch(plt.Rectangle(corner, end - first, 1, fill=False, edgecolor=INK, linewidth=2, clip_on=False, zorder=3))
        around = {"facecolor": ROLES["+"], "edgecolor": INK, "pad": 1}
        axes.text(*corner, name, ha="center", va="center", fontweight="bold", bbox=around, zorder=4)
    axes.set(xlabel="key (what is read)", ylabel="query (reads)")
    return figure


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


def spectra(
    shares: dict[str, Sequence[float]], marked: Sequence[int], control: dict[str, Sequence[float]] | None = None
) -> Figure:
    """Draw spectra (K + 1,) one above the other: marked frequencies in colour with their names, a control as a grey line."""
    figure, panels = plt.subplots(len(shares), 1, figsize=(WIDTH, 1.15 * len(shares) + 0.45), sharex=True, squeeze=False)
    for axes, (name, heights) in zip(panels[:, 0], shares.items()):
        k = np.arange(len(heights))
        axes.bar(k, heights, color=[BLUE if each in marked else PALE for each in k], width=0.75)
        for each in marked:
            beside = "right" if each + 1 in marked else "left" if each - 1 in marked else "center"
            axes.text(each, heights[each] + 0.003, each, ha=beside, va="bottom")
        if name in (control or {}):
            axes.step(k, control[name], where="mid", color=INK, linewidth=1, linestyle="--")
        axes.set(title=name, ylabel="share", ylim=(0, 1.2 * max(heights)), xlim=(-0.7, len(heights) - 0.3))
    panels[-1, 0].set_xlabel("frequency k (0: the constant)")
    return figure


def neuron_grid(pairs: Sequence[tuple[str, Tensor, Tensor]]) -> Figure:
    """Draw neurons over all (x, y), each above its fit: (title, measured (N, N), fitted (N, N)).  Figure 11."""
    figure, panels = plt.subplots(2, len(pairs), figsize=(WIDTH, 2 * WIDTH / len(pairs) + 0.2), squeeze=False)
    for column, (title, measured, fitted) in zip(panels.T, pairs):
        limit = float(measured.abs().max())
        for axes, values in zip(column, (measured, fitted)):
            axes.imshow(np.asarray(values), cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower")
            axes.set(xticks=[], yticks=[])
        column[0].set_title(title, loc="center")
    for axes, words in zip(panels[:, 0], ("neuron", "fit")):
        axes.set_ylabel(words)
    return figure


def interference(parts: dict[int, Sequence[float]], total: Sequence[float], answer: int) -> Figure:
    """Draw the logit over q as one wave a frequency, one below the other on one scale, and their sum beneath."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(WIDTH, 4.1), sharex=True, height_ratios=(2.6, 1))
    parts, total = {k: np.asarray(wave) for k, wave in parts.items()}, np.asarray(total)
    height = 1.15 * 2 * max(np.abs(wave).max() for wave in parts.values())
    q = np.arange(len(total))
    for place, (k, wave) in enumerate(parts.items()):
        base = -place * height
        top.axhline(base, color="0.85", linewidth=0.7)
        top.plot(q, wave + base, color=BLUE, linewidth=1.2)
        top.plot(answer, wave[answer] + base, "o", color=VERMILION, markersize=4)
        top.text(-1, base, f"k = {k}", ha="right", va="center")
    top.set(yticks=[], title="the part of each frequency, all on one scale")
    top.spines["left"].set_visible(False)
    bottom.bar(q, total, color=[PALE if each != answer else VERMILION for each in q], width=0.75)
    bottom.set(title="the logit", xlabel="answer q", ylabel="logit", xlim=(-0.8, len(q) - 0.2))
    for axes in (top, bottom):
        axes.axvline(answer, color=VERMILION, linewidth=0.8, linestyle="--", zorder=0)
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


def seed_curves(
    runs: Sequence[pd.DataFrame],
    rows: Sequence[Sequence[str]],
    levels: dict[str, float] | None = None,
    level: str = "shortcut",
    marked: dict[int, str] | None = None,
) -> Figure:
    """Draw columns of many runs' metrics over training, a small panel each: median, middle half, and single runs faint.

    `rows` lays the panels out, by name of column; `levels` marks a height in a panel with a dashed line, which the key
    calls `level`; `marked` gives single runs, by their place in `runs`, a dark dotted line and words in the key.  The key
    stands in the room that a shorter first row leaves, or below.
    """
    columns, height = max(map(len, rows)), 1.25 * len(rows)
    figure, grid = plt.subplots(len(rows), columns, figsize=(WIDTH, height), sharex=True, sharey=True, squeeze=False)
    for axes, name in (pair for panels, names in zip(grid, rows) for pair in zip(panels, names)):
        kind, _, label = name.partition(" ")
        colour, _ = SET_STYLES.get(label, (BLUE, "-"))
        table = pd.concat([metrics[name] for metrics in runs], axis=1)
        low, middle, high = (table.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
        single = axes.plot(table.index, table, color="0.72", linewidth=0.5)
        for place in marked or {}:
            single[place].set(color="0.2", linewidth=0.9, linestyle=(0, (1, 1)))
        axes.fill_between(table.index, low, high, color=colour, alpha=0.3, linewidth=0)
        axes.plot(table.index, middle, color=colour, linewidth=1.7)
        if name in (levels or {}):
            axes.axhline(levels[name], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.set_title(name.replace(" ", "\n", 1).replace("-restricted", "-\nrestricted") if label in SET_STYLES else name)
        axes.set(ylim=(-0.03, 1.05), xlim=(0, table.index[-1]))
    for row, names in enumerate(rows):
        grid[row, 0].set_ylabel("accuracy" if names[0].partition(" ")[2] in SET_STYLES else "share")
        for axes in grid[row, len(names) :]:
            axes.axis("off")
    looks = {"median of the runs": (INK, 1.7, "-"), "the middle half of them": ("0.8", 7, "-"), "each run": ("0.72", 0.5, "-")}
    looks |= {words: ("0.2", 0.9, (0, (1, 1))) for words in (marked or {}).values()}
    looks |= {level: (INK, 0.8, (0, (4, 2)))} if levels else {}
    handles = {name: plt.Line2D([], [], color=c, linewidth=width, linestyle=line) for name, (c, width, line) in looks.items()}
    beside, below = {"loc": "upper right", "bbox_to_anchor": (1, 0.99)}, {"loc": "outside lower center", "ncols": len(handles)}
    figure.legend(handles.values(), handles, **(beside if len(rows[0]) < columns else below))
    for axes in grid[-1, : len(rows[-1])]:
        axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k")
    figure.supxlabel("training step")
    return figure
