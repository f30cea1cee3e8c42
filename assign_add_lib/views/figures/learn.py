"""Figures of part III, Learn: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from .style import GREY, INK, LAYER_COLOURS, LETTERS, ROLES, WIDTH, box, name_cells, role

LARGE = 12  # points of the letters in boxes and cells


def held(names: Sequence[str], moved: dict[int, Sequence[str]], attention: Sequence[float], start: Sequence[float]) -> Figure:
    """Draw what each token holds when layer 2 reads: its place, itself, and the notes that layer 1 moved there.

    Attention stands on top, that of the theorem's start in outline.  Neighbouring PADs share one column.
    """
    columns: list[list[int]] = []
    for position, name in enumerate(names):
        if columns and name == names[columns[-1][0]] == "PAD":
            columns[-1].append(position)
        else:
            columns.append([position])
    figure, (top, axes) = plt.subplots(2, 1, figsize=(WIDTH, 3.1), sharex=True, height_ratios=(1, 2.2))
    for shares, looks in (
        (attention, {"color": LAYER_COLOURS[2], "width": 0.6}),
        (start, {"fill": False, "edgecolor": INK, "linewidth": 1, "linestyle": "--", "width": 0.8}),
    ):
        top.bar(range(len(columns)), [sum(float(shares[position]) for position in each) for each in columns], **looks)
    top.set_ylabel("attention\nof =", fontsize=LARGE)
    top.set(ylim=(0, 0.6), yticks=[0, 0.5])
    for column, each in enumerate(columns):
        name, place = names[each[0]], f"{each[0]}" if len(each) == 1 else f"{each[0]}–{each[-1]}"
        parts = [(place, "white", INK), (name, ROLES[role(name)], GREY if name == "PAD" else INK)]
        parts += [(note, "white", LAYER_COLOURS[1]) for note in moved.get(each[0], ())]
        for height, (words, colour, ink) in enumerate(parts):
            box(axes, column - 0.46, height + 0.05, 0.92, 0.9, colour, ink)
            size = LARGE if len(words) < 3 else LETTERS + 1
            axes.text(column, height + 0.5, words, ha="center", va="center", color=ink, fontsize=size)
    axes.set(xlim=(-0.6, len(columns) - 0.4), ylim=(-0.05, 4.1), xticks=[])
    axes.set_yticks([0.5, 1.5, 2.5], ["place", "token", "notes"])
    for each in (top, axes):
        each.tick_params(length=0, labelsize=LARGE)
    axes.spines[["left", "bottom"]].set_visible(False)
    return figure


def block_matrix(
    values: Tensor,
    rows: Sequence[tuple[str, Sequence[int], float]],
    columns: Sequence[tuple[str, Sequence[int], float]],
    outlines: dict[str, tuple[str, str]],
) -> Figure:
    """Draw blocks of a matrix on a logarithmic scale of colours, blue below zero; white is less than a hundredth.

    `rows` and `columns` list (name, coordinates, width of each); `outlines` frames a block (row, column) under a name.
    """

    def edges(groups):
        ends = np.concatenate([[0], np.concatenate([np.full(len(part), width) for _, part, width in groups]).cumsum()])
        stops = np.cumsum([len(part) * width for _, part, width in groups])
        spans = {name: (stop - len(part) * width, stop) for (name, part, width), stop in zip(groups, stops)}
        return ends, np.concatenate([part for _, part, _ in groups]), spans

    (across, at_columns, column_span), (down, at_rows, row_span) = edges(columns), edges(rows)
    figure, axes = plt.subplots(figsize=(WIDTH, 3.7))
    norm = matplotlib.colors.SymLogNorm(0.01, vmin=-20, vmax=20)
    image = axes.pcolormesh(across, down, np.asarray(values)[np.ix_(at_rows, at_columns)], cmap="RdBu_r", norm=norm)
    for spans, line in ((row_span, axes.axhline), (column_span, axes.axvline)):
        for _, stop in spans.values():
            line(stop, color="0.8", linewidth=0.6)
    for label, (row, column) in outlines.items():
        (top, bottom), (left, right) = row_span[row], column_span[column]
        axes.add_patch(plt.Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=INK, linewidth=1.6))
        style = {"ha": "center", "va": "center", "fontweight": "bold", "color": INK}
        around = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": INK, "linewidth": 0.6}
        axes.text((left + right) / 2, 0.72 * top + 0.28 * bottom, label, bbox=around, **style)
    axes.set_xticks([sum(span) / 2 for span in column_span.values()], column_span)
    axes.set_yticks([sum(span) / 2 for span in row_span.values()], row_span)
    axes.tick_params(length=0, pad=3)
    axes.set(ylim=(down[-1], 0), xlabel="what the query holds", ylabel="what the key holds")
    axes.spines[["top", "right"]].set_visible(True)
    figure.colorbar(image, ax=axes, shrink=0.6).set_ticks([-10, -1, -0.1, 0, 0.1, 1, 10], labels="−10 −1 −0.1 0 0.1 1 10".split())
    return figure


def vote_grids(grids: dict[str, Tensor], weights: Sequence[str]) -> Figure:
    """Draw tables of votes (x, y), one for each kind of pair, with their weights above and their sums below."""
    figure, panels = plt.subplots(1, len(grids), figsize=(WIDTH, 3.1), sharey=True)
    for axes, (name, grid), weight in zip(panels, grids.items(), weights):
        axes.imshow(grid, cmap="RdBu_r", vmin=-2, vmax=2)
        for (x, y), vote in np.ndenumerate(np.asarray(grid)):
            words = f"{'+' if vote > 0 else '−'}{abs(round(3 * vote))}/3"
            axes.text(y, x, words, ha="center", va="center", fontsize=LARGE)
        total = round(3 * float(grid.sum())) / 3
        axes.set_title(f"{name}\n{weight}", fontsize=LARGE)
        axes.set_xlabel(f"y\nin all {total:g}", fontsize=LARGE)
        name_cells(axes, range(len(grid)), range(len(grid)))
        axes.tick_params(labelsize=LARGE)
    panels[0].set_ylabel("x", fontsize=LARGE)
    return figure
