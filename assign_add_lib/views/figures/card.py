"""The picture that stands beside a link to the book elsewhere."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

GROUND, PAPER, QUIET = "#0f1722", "#f4f1e8", "#8d9aab"
LAYERS = {1: "#a487f0", 2: "#f2a33a"}
SIZE = 1200, 630  # pixels, as those who show such pictures ask for
FAINT = 0.05  # of attention, which is not drawn


def card(names: Sequence[str], patterns: Tensor, question: str, answer: str, title: str, words: str) -> Figure:
    """Draw what flows to the answer of one problem through two layers, `patterns` (layer, query, key), beside the title."""
    figure = plt.figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=GROUND, layout="none")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.set_axis_off()
    shown = [position for position, name in enumerate(names) if name != "PAD"]
    across = {position: 80 + 1040 * index / (len(shown) - 1) for index, position in enumerate(shown)}
    heights, last = (75, 225, 375), len(names) - 1
    readers = [position for position in shown if names[position].isdigit() and position < names.index("+")]
    bright = [position for position in shown if names[position].isdigit()] + [last]
    for layer, queries in ((1, [*readers, last]), (2, [last])):
        bottom, top = heights[layer - 1] + 38, heights[layer] - 36
        middle = (bottom + top) / 2
        for query in queries:
            for key in shown:
                weight = float(patterns[layer - 1, query, key])
                if weight > FAINT:
                    ways = [(across[key], bottom), (across[key], middle), (across[query], middle), (across[query], top)]
                    looks = {"ec": LAYERS[layer], "lw": 20 * weight, "alpha": 0.35 + 0.6 * weight, "capstyle": "round"}
                    axes.add_patch(PathPatch(Path(ways, [1, 4, 4, 4]), fill=False, **looks))
    for position, x in across.items():
        for height in heights[: 3 if position == last else 2]:
            colour = PAPER if height == heights[0] or position in bright else QUIET
            axes.text(x, height, names[position], ha="center", va="center", fontsize=25, color=colour)
    axes.annotate("", (across[last], 470), (across[last], 405), arrowprops={"arrowstyle": "-|>", "color": PAPER, "lw": 2.5})
    axes.text(across[last], 515, answer, ha="center", va="center", fontsize=48, weight="bold", color=LAYERS[2])
    axes.text(60, 525, title, va="center", fontsize=50, weight="bold", color=PAPER)
    axes.text(60, 445, words, va="center", fontsize=20, color=QUIET)
    axes.text(60, 375, question, va="center", fontsize=20, color=LAYERS[1], family="monospace")
    return figure
