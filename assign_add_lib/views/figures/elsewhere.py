"""Figures of part IV, Elsewhere: each takes plain values and returns a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .style import BLUE, GREY, INK, VERMILION, WIDTH


def computation_graph(
    names: Sequence[str],
    operands: Sequence[Sequence[int]],
    values: Sequence[int | None] | None = None,
    right: Sequence[int] | None = None,
) -> Figure:
    """Draw a graph of sums from left to right, each node one column after the last of its operands.

    Node i is called `names[i]` and adds the nodes `operands[i]`, all earlier; none for a leaf.  `values` stand in the nodes,
    None for what is not computed; where they are not those of `right`, the node is dashed and crossed out.
    """
    columns: list[int] = []
    for each in operands:
        columns.append(1 + max((columns[operand] for operand in each), default=-1))
    heights: dict[int, float] = {}  # of nodes in their columns, each near what it adds
    for column in range(max(columns) + 1):
        inside = [node for node, its in enumerate(columns) if its == column]
        inside.sort(key=lambda node: -sum(heights[each] for each in operands[node]) / max(len(operands[node]), 1))
        for row, node in enumerate(inside):
            heights[node] = (len(inside) - 1) / 2 - row + 0.3 * (column % 2)
    places = [(1.6 * column, heights[node]) for node, column in enumerate(columns)]
    height = max(columns.count(column) for column in columns)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 + 0.62 * height))
    arrow = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 13, "shrinkB": 14, "linewidth": 0.9}
    for node, each in enumerate(operands):
        for operand in each:  # the more columns it passes, the more it bends, around what stands there
            bend = {"connectionstyle": f"arc3,rad={0.09 * (columns[node] - columns[operand] - 1)}"}
            axes.annotate("", places[node], places[operand], zorder=1, arrowprops=arrow | bend)
    for node, (x, y) in enumerate(places):
        value = None if values is None else values[node]
        wrong = value is not None and right is not None and value != right[node]
        colour = VERMILION if wrong else BLUE if value is not None else GREY
        axes.scatter(x, y, s=560, facecolor="white" if value is None else "#fbe3d6" if wrong else "#dcebf5", edgecolor=colour,
                     linewidth=1.6 if value is not None else 0.9, linestyle="--" if wrong else "-", zorder=2)  # fmt: skip
        axes.text(x, y + 0.41, names[node], ha="center", va="center", fontsize=8, color=INK)
        if value is not None:
            axes.text(x, y - 0.01, f"{value}", ha="center", va="center", fontsize=11, color=INK, zorder=3)
        if wrong:
            axes.plot([x - 0.17, x + 0.17], [y - 0.17, y + 0.17], color=VERMILION, linewidth=1.2, zorder=4)
    axes.set(xlim=(-0.5, 1.6 * max(columns) + 0.5), ylim=(-height / 2, height / 2 + 0.4))
    axes.axis("off")
    return figure
