"""Figures of part IV, Elsewhere: each takes plain values and returns a matplotlib Figure."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.path import Path

from .style import BLUE, GREY, INK, LAYER_COLOURS, ROLES, VERMILION, WIDTH, box, legible


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
    columns, heights = graph_places(operands)
    rim = 0.17 * (1.6 * max(columns) + 1) / WIDTH  # of a node, whose radius is 0.16 inches
    tall = max(heights.values()) - min(heights.values()) + 1
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 + 0.5 * tall))
    for node, each in enumerate(operands):
        for operand in each:  # one way for all that leaves a node, around what stands in the columns between
            way = [(1.6 * column, heights[operand, column]) for column in range(columns[operand], columns[node])]
            axes.add_patch(_arrow([*way, (1.6 * columns[node], heights[node, columns[node]])], rim))
    places = [(1.6 * column, heights[node, column]) for node, column in enumerate(columns)]
    for node, (x, y) in enumerate(places):
        value = None if values is None else values[node]
        wrong = value is not None and right is not None and value != right[node]
        colour = VERMILION if wrong else BLUE if value is not None else GREY
        axes.scatter(x, y, s=560, facecolor="white" if value is None else "#fbe3d6" if wrong else "#dcebf5", edgecolor=colour,
                     linewidth=1.6 if value is not None else 0.9, linestyle="--" if wrong else "-", zorder=2)  # fmt: skip
        axes.text(x, y + 0.41, names[node], ha="center", va="center", color=INK)
        if value is not None:
            axes.text(x, y - 0.01, f"{value}", ha="center", va="center", fontsize=11, color=INK, zorder=3)
        if wrong:
            axes.plot([x - 0.17, x + 0.17], [y - 0.17, y + 0.17], color=VERMILION, linewidth=1.2, zorder=4)
    axes.set(xlim=(-0.5, 1.6 * max(columns) + 0.5), ylim=(min(heights.values()) - 0.5, max(heights.values()) + 0.6))
    axes.axis("off")
    return figure


def one_round(
    tokens: Sequence[str],
    layer_1: Sequence[tuple[int, int]],
    layer_2: Sequence[tuple[int, int]],
    counted: Sequence[int],
    brought: Mapping[int, str],
    total: str,
) -> Figure:
    """Draw one round of the loop on the tokens of a few equations, whose sum stands at the last token.

    `layer_1` and `layer_2` hold the pairs (query, key) of places to join, an arrow from the key, which is read, to the query,
    which reads; `counted` the places that a head reads to count; `brought` what stands at a place after layer 1, in words;
    `total` what the MLP makes of the sum.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2))
    upper, lower, last = 4.4, 2.2, len(tokens) - 1
    size = plt.rcParams["font.size"] * min(1, 9 / len(tokens))  # or words are wider than their boxes
    for place, name in enumerate(tokens):
        kind = {"ADD": "+", "=": "=", "[sep]": "number"}.get(name, "variable")
        for height in (upper, lower):
            box(axes, place - 0.46, height - 0.3, 0.92, 0.6, ROLES[kind], zorder=3)
        for height, words in ((upper, name), (lower, brought.get(place, name))):
            axes.text(place, height, words, ha="center", va="center", fontsize=size, zorder=5)
    style = {"arrowstyle": "-|>", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11}
    for query, key in layer_1:
        axes.annotate("", (query, lower + 0.3), (key, upper - 0.3), arrowprops=style | {"color": LAYER_COLOURS[1]}, zorder=4)
    ways = [(key, (0, (4, 1.5))) for _, key in layer_2] + [(key, (0, (1, 1.5))) for key in counted]
    for number, (key, line) in enumerate(sorted(ways)):
        end = last - 0.42 + 0.84 * number / max(len(ways) - 1, 1)
        axes.annotate("", (end, 0.32), (key, lower - 0.3), arrowprops=style | {"color": LAYER_COLOURS[2], "ls": line}, zorder=4)
    around = {"boxstyle": "square,pad=0.4", "facecolor": "white", "edgecolor": INK, "linewidth": 0.8}
    axes.text(last + 0.46, 0, total, ha="right", va="center", bbox=around, zorder=5)
    rows = {upper: "tokens", (upper + lower) / 2: "layer 1", lower: "after layer 1", 1.25: "layer 2", 0: "MLP"}
    for height, words in rows.items():
        axes.text(-0.8, height, words, ha="right", va="center", color=INK)
    axes.set(xlim=(-2.6, last + 0.7), ylim=(-0.55, upper + 0.5))
    axes.axis("off")
    return figure


def places_back(rows: Mapping[str, Sequence[str]], back: int) -> Figure:
    """Draw rows of tokens, named in words, that end in one column, and an arrow from each last token to one so many places back.

    What stands before the last [sep] of a row is pale: it belongs to an equation before.
    """
    longest = max(map(len, rows.values()))
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 + 0.8 * len(rows)))
    for number, (words, tokens) in enumerate(rows.items(), start=1):
        height = 1.65 * (len(rows) - number)
        last = len(tokens) - 1
        own = max(place for place in range(last) if tokens[place] == "[sep]")
        for place, name in enumerate(tokens):
            met = place == last - back
            kind = {"ADD": "+", "=": "=", "[sep]": "number"}.get(name, "PAD" if name.isdigit() else "variable")
            colour = ROLES[kind] if place > own or met else "white"
            box(axes, place - last - 0.44, height - 0.32, 0.88, 0.64, colour, zorder=3)
            axes.text(place - last, height, name, ha="center", va="center", color=INK if place > own or met else GREY, zorder=5)
            if met:
                axes.add_patch(
                    Rectangle((-back - 0.48, height - 0.36), 0.96, 0.72, fill=False, edgecolor=VERMILION, linewidth=2.2, zorder=4)
                )
        way = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.2", "mutation_scale": 14, "linewidth": 1.8}
        way |= {"color": VERMILION, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (-back, height + 0.4), (0, height + 0.34), arrowprops=way, zorder=6)
        axes.text(-longest + 0.3, height, words, ha="right", va="center", color=INK)
    for distance in range(1, back + 1):
        axes.text(
            -distance, -0.72, f"{distance}", ha="center", va="center", color=legible(VERMILION) if distance == back else GREY
        )
    axes.text(0, -0.72, "answer", ha="center", va="center", color=INK)
    axes.text(-longest + 0.3, -0.72, "places back", ha="right", va="center", color=GREY)
    axes.set(xlim=(-longest - 2.1, 0.6), ylim=(-1, 1.65 * len(rows) - 0.45))
    axes.axis("off")
    return figure


def graph_places(operands: Sequence[Sequence[int]]) -> tuple[list[int], dict[tuple[int, int], float]]:
    """The column of each node, and the height of each node, and of the way that leaves it, by (node, column)."""
    columns: list[int] = []
    for each in operands:
        columns.append(1 + max((columns[operand] for operand in each), default=-1))
    last = list(columns)  # the column where the way from a node ends
    for node, each in enumerate(operands):
        for operand in each:
            last[operand] = max(last[operand], columns[node] - 1)
    heights: dict[tuple[int, int], float] = {}
    for column in range(max(columns) + 1):
        inside = [node for node, start in enumerate(columns) if start <= column <= last[node]]
        wish = {}  # where what comes from the left stands
        for node in inside:
            before = [node] if columns[node] < column else operands[node]
            wish[node] = sum(heights[each, column - 1] for each in before) / max(len(before), 1)
        inside.sort(key=lambda node: -wish[node])
        sizes = [1.0 if columns[node] == column else 0.35 for node in inside]
        edge = sum(sizes) / 2 + (sum(wish.values()) / len(inside) if column else 0)
        for node, size in zip(inside, sizes):
            heights[node, column] = edge - size / 2
            edge -= size
    return columns, heights


def _arrow(points: Sequence[tuple[float, float]], rim: float) -> FancyArrowPatch:
    """An arrow through points from left to right, level at each of them, from the rim of a node to that of another."""
    ways, codes = [(points[0][0] + rim, points[0][1])], [Path.MOVETO]
    for here, there in zip(points, points[1:]):
        end = there[0] - rim if there == points[-1] else there[0]
        middle = (ways[-1][0] + end) / 2
        ways += [(middle, here[1]), (middle, there[1]), (end, there[1])]
        codes += [Path.CURVE4] * 3
    return FancyArrowPatch(path=Path(ways, codes), arrowstyle="-|>", color=GREY, linewidth=0.9, mutation_scale=10, zorder=1)
