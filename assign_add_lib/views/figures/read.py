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
    GREY,
    INK,
    LAYER_COLOURS,
    LEFT_OUT,
    PALE,
    ROLES,
    SET_STYLES,
    VERMILION,
    WIDTH,
    box,
    name_cells,
    role,
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


def algorithm(
    names: Sequence[str],
    layer_1: Sequence[tuple[int, int]],
    layer_2: Sequence[tuple[int, int]],
    carried: Mapping[int, str],
    ways: Mapping[int, str],
    total: str,
    answer: str,
) -> Figure:
    """Draw the whole algorithm on one sequence, without its PADs: what two layers of attention move, the sum and the answer.

    `layer_1` and `layer_2` hold the pairs (query, key) of positions to join; an arrow runs from the key, which is read, to
    the query, which reads.  `carried` says by position what layer 1 has brought there, `ways` by the key's position how
    layer 2 finds it; `total` is the sum in numbers.
    """
    shown = [position for position, name in enumerate(names) if name != "PAD"]
    place = {position: index for index, position in enumerate(shown)}
    figure, axes = plt.subplots(figsize=(WIDTH, 3.9))
    last, tokens, middle, mlp = len(shown) - 1, 6.6, 4.1, 1.5  # the heights of the rows

    def arrow(start, end, colour, line="-", width=1.6):
        style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11, "connectionstyle": "arc3,rad=0"}
        axes.annotate("", end, start, arrowprops=style | {"color": colour, "linewidth": width, "linestyle": line}, zorder=4)

    def write(x, y, words, colour=INK, **looks):
        axes.text(x, y, words, **{"ha": "center", "va": "center", "color": colour, "zorder": 5} | looks)

    for position, x in place.items():
        axes.plot([x] * 2, [tokens - 0.4, middle + 0.5], color="0.85", linewidth=1, zorder=1)
        write(x, tokens + 0.62, position, GREY)
        for y, height in ((tokens, 0.8), (middle, 1.0)):
            box(axes, x - 0.44, y - height / 2, 0.88, height, ROLES[role(names[position])], zorder=3)
            write(x, y + 0.2 * (y == middle and position in carried), names[position], fontsize=10.5)
    for position, words in carried.items():
        write(place[position], middle - 0.25, words, LAYER_COLOURS[1])
    for query, key in layer_1:
        arrow((place[key], tokens - 0.4), (place[query], middle + 0.5), LAYER_COLOURS[1])
    for _, key in layer_2:
        end = min(max(place[key], last - 2.4), last - 1)
        arrow((place[key], middle - 0.5), (end, mlp + 0.5), LAYER_COLOURS[2], line=(0, (4, 1.5)))
        write((place[key] + end) / 2 - 0.2, (middle + mlp) / 2 - 0.15, ways[key], LAYER_COLOURS[2], ha="right", va="top")
    arrow((last, middle - 0.5), (last, mlp + 0.5), "0.6", width=1)

    box(axes, last - 2.75, mlp - 0.5, 3.2, 1, "white", zorder=3)
    write(last - 1.1, mlp, total, fontsize=10.5)
    arrow((last - 1.1, mlp - 0.5), (last - 1.1, mlp - 1.2), INK, width=1.2)
    write(last - 1.1, mlp - 1.5, answer, fontsize=12, fontweight="bold")
    steps = (
        (tokens + 0.62, "position", GREY), (tokens, "tokens", INK), (middle, "after layer 1", INK),
        ((tokens + middle) / 2, "layer 1,\nmainly\nby position", LAYER_COLOURS[1]),
        ((middle + mlp) / 2, "layer 2", LAYER_COLOURS[2]), (mlp, "MLP", INK), (mlp - 1.5, "answer", INK),
    )  # fmt: skip
    for y, words, colour in steps:
        write(-0.6, y, words, colour, ha="right")
    axes.set(xlim=(-2.4, last + 0.6), ylim=(mlp - 1.9, tokens + 0.9))
    axes.axis("off")
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
