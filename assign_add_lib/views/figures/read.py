"""Figures of part II, Read: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from .style import (
    GREY,
    INK,
    LAYER_COLOURS,
    LEFT_OUT,
    ROLES,
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
