"""Still pictures of the things to move: what a page shows on paper, and until scripts run."""

import itertools
import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from .style import BLUE, GREEN, GREY, INK, KIND_COLOURS, LAYER_COLOURS, PALE, VERMILION, WIDTH, legible, name_cells, role


def clocks(N: int, ks: Sequence[int], x: int, y: int) -> Figure:
    """Draw a clock for each frequency k of ks, round which N numbers run k times, with hands for x, y and their sum.

    Fewer than ten numbers stand round the clock.
    """
    columns = min(len(ks), 3)
    rows = math.ceil(len(ks) / columns)
    figure, faces = plt.subplots(rows, columns, figsize=(WIDTH, 1.75 * rows), squeeze=False)
    hands = (("x", x, 0.6, BLUE, "--", 1.8), ("y", y, 0.75, GREEN, ":", 1.8), ("x+y", (x + y) % N, 1, VERMILION, "-", 2.6))
    for face, k in zip(faces.flat, ks):
        face.add_patch(plt.Circle((0, 0), 1, fill=False, edgecolor=GREY, linewidth=1))
        for name, number, length, colour, line, width in hands:
            angle = 2 * math.pi * k * number / N
            tip = length * math.sin(angle), length * math.cos(angle)
            face.plot([0, tip[0]], [0, tip[1]], line, color=colour, linewidth=width, solid_capstyle="round")
            place = ((0.62 if N < 10 else 1.2) if name == "x+y" else length - 0.22) / length
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            face.text(place * tip[0], place * tip[1], name, ha="center", va="center", color=legible(colour), bbox=ground)
        for number in range(N if N < 10 else 0):
            angle = 2 * math.pi * k * number / N
            face.text(1.22 * math.sin(angle), 1.22 * math.cos(angle), number, ha="center", va="center", color=GREY)
        face.set_title("once round" if k == 1 else f"{k} times round", loc="center")
    for face in faces.flat:
        face.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
        face.set_axis_off()
    return figure


def turn_and_vote(N: int, ks: Sequence[int], shown: Sequence[int], x: int, y: int) -> Figure:
    """Draw how clocks add: hands of the clocks `shown`, turned from x by y, above their votes; last, the votes of all ks."""
    figure, axes = plt.subplots(2, len(shown) + 1, figsize=(WIDTH, 2.7), height_ratios=(1.5, 1))
    answers, total = np.arange(N), (x + y) % N
    votes = {k: np.cos(2 * math.pi * k * (answers - total) / N) for k in ks}
    for face, curve, k in zip(*axes, shown):
        face.add_patch(plt.Circle((0, 0), 1, fill=False, edgecolor=GREY, linewidth=1))
        start, end = (2 * math.pi * k * number / N for number in (x, x + y))
        turn = np.linspace(start, end, 100)
        face.plot(0.55 * np.sin(turn), 0.55 * np.cos(turn), ":", color=GREEN)
        for number, angle, colour, line in ((x, start, BLUE, "--"), (total, end, VERMILION, "-")):
            face.plot([0, math.sin(angle)], [0, math.cos(angle)], line, color=colour, solid_capstyle="round")
            face.text(1.25 * math.sin(angle), 1.25 * math.cos(angle), number, ha="center", va="center", color=legible(colour))
        face.text(0, 1.25, 0, ha="center", va="center", color=GREY)
        face.set_title("once round" if k == 1 else f"{k} times round", loc="center")
        curve.plot(answers, votes[k], color=GREY)
    axes[0, -1].text(0, 0, f"all {len(ks)}\ntogether", ha="center", va="center")
    axes[1, -1].plot(answers, sum(votes.values()), color=GREY)
    for face in axes[0]:
        face.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
        face.set_axis_off()
    for curve in axes[1]:
        curve.axhline(0, color="0.85", lw=0.8, zorder=0)
        curve.plot(total, curve.lines[0].get_ydata().max(), "o", color=VERMILION, ms=5)
        curve.set(xticks=[0, total, N - 1], yticks=[])
        curve.spines["left"].set_visible(False)
    axes[1, 0].set_ylabel("votes")
    figure.supxlabel("answer")
    return figure


def badges(numbers: Sequence[int], names: Sequence[str], asked: Sequence[str], shares: Sequence[float]) -> Figure:
    """Draw numbers as cards that wear names, those asked for in colour, above bars of the attention that each gets."""
    figure, axes = plt.subplots(figsize=(WIDTH, 2.1))
    for at, (number, name, share) in enumerate(zip(numbers, names, shares)):
        axes.add_patch(FancyBboxPatch((at - 0.25, 0.25), 0.5, 0.6, "round,pad=0.08", facecolor="white", edgecolor=GREY))
        axes.text(at, 0.68, str(number), ha="center", va="center", fontsize=16)
        looks = dict(facecolor=BLUE if name in asked else "white", edgecolor=INK, boxstyle="round,pad=0.35")
        colour = "white" if name in asked else INK
        axes.text(at, 0.25, name or "typed", ha="center", va="center", color=colour, weight="bold", bbox=looks if name else None)
        axes.bar(at, -share, 0.4, color=VERMILION)
        axes.text(at, -share - 0.05, f"{share:.0%}", ha="center", va="top")
    axes.set(xlim=(-0.6, len(numbers) - 0.4), ylim=(-max(shares) - 0.3, 1))
    axes.set_axis_off()
    return figure


def bench(names: Sequence[Sequence[str]], recovered: Mapping[str, Sequence[float]]) -> Figure:
    """Draw two problems above each other, and below them by site the shares recovered at their positions, or at the last."""
    columns = len(names[0])
    figure, axes = plt.subplots(figsize=(WIDTH, 0.4 * (len(recovered) + 2.2)))
    for side, row in enumerate(names):
        axes.text(-0.8, side, "AB"[side], ha="right", va="center", weight="bold")
        for at, name in enumerate(row):
            differs = names[0][at] != names[1][at]
            axes.text(at, side, name, ha="center", va="center", weight="bold" if differs else "normal")
    for down, (name, shares) in enumerate(recovered.items(), 2):
        axes.text(-0.8, down, name, ha="right", va="center")
        wide = len(shares) == 1 and "attention" in name
        for at, share in enumerate(shares, columns - len(shares)):
            left, width = (-0.45, columns - 0.1) if wide else (at - 0.45, 0.9)
            shade = plt.get_cmap("Oranges")(0.4 * min(max(share, 0), 1))
            axes.add_patch(plt.Rectangle((left, down - 0.4), width, 0.8, facecolor=shade, edgecolor=GREY))
            axes.text(left + width / 2, down, f"{share:.0%}".replace("-0%", "0%"), ha="center", va="center")
    axes.set(xlim=(-3.6, columns), ylim=(len(recovered) + 1.6, -0.6))
    axes.set_axis_off()
    return figure


def by_kind(rows: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw for each setting a panel with the accuracy on each kind of problem, as rows[setting][kind]."""
    figure, panels = plt.subplots(1, len(rows), figsize=(WIDTH, 1.7), sharey=True)
    for panel, (setting, shares) in zip(panels, rows.items()):
        panel.barh(list(shares), list(shares.values()), color=VERMILION)
        for at, share in enumerate(shares.values()):
            panel.text(min(share, 0.62) + 0.04, at, f"{share:.0%}", va="center", color="white" if share > 0.62 else INK)
        panel.set(xlim=(0, 1), xticks=(0, 1), xticklabels=("0", "1"), title=setting)
        panel.tick_params(axis="y", length=0)
    panels[0].invert_yaxis()
    return figure


def boards(right: dict[str, Tensor]) -> Figure:
    """Draw boards of all sums x + y, by title, with a cell filled where `right` (x, y) is true."""
    figure, panels = plt.subplots(1, len(right), figsize=(WIDTH, WIDTH / len(right) + 0.35), sharey=True)
    for axes, (title, cells) in zip(panels, right.items()):
        axes.imshow(cells.T.numpy(), origin="lower", cmap=ListedColormap(["#eeeeee", VERMILION]), vmin=0, vmax=1)
        axes.set_title(title, loc="center")
        axes.set(xlabel="x", xticks=[0, len(cells) - 1])
    panels[0].set(ylabel="y", yticks=[0, len(cells) - 1])
    return figure


def wall(tiles: dict[int, Tensor], columns: int = 17) -> Figure:
    """Draw the first neurons of each group over all pairs: `tiles` holds activations (x, y, neurons) by the group's frequency."""
    N, gap = next(iter(tiles.values())).shape[0], 5
    mosaic = np.full((len(tiles) * (N + gap), columns * (N + gap)), np.nan)  # a pixel for each pair
    for row, group in enumerate(tiles.values()):
        for column, tile in enumerate(group[..., :columns].unbind(2)):
            shown = (tile / tile.max()).T.flip(0).numpy()  # y goes up
            mosaic[row * (N + gap) :, column * (N + gap) :][:N, :N] = shown
    dpi, left = plt.rcParams["figure.dpi"], 60
    height, width = mosaic.shape
    figure = plt.figure(figsize=((left + width) / dpi, height / dpi), layout="none")
    shades = plt.get_cmap("Blues", 6)  # few, so that the picture stays small
    figure.figimage(shades(np.ma.masked_invalid(mosaic), bytes=True), xo=left, origin="upper")
    for row, k in enumerate(tiles):
        figure.text(
            0.7 * left / (left + width), 1 - ((row + 0.5) * (N + gap) - gap / 2) / height, str(k), ha="right", va="center"
        )
    return figure


def growth(history: pd.DataFrame, power: Tensor) -> Figure:
    """Draw what is right of the `seen` and the `new` pairs over the steps, and how large each frequency 1, 2, ... is."""
    figure, (curves, bars) = plt.subplots(2, 1, figsize=(WIDTH, 4), height_ratios=(3, 1.3))
    for name, colour, look in (("seen", BLUE, "--"), ("new", VERMILION, "-")):
        curves.plot(history[name], look, color=colour)
        place = (history[name] > 0.5).idxmax()
        curves.text(place + 6, 0.5, f"{name} pairs", color=legible(colour))
    curves.set(xlabel="step", ylabel="right answers", ylim=(0, 1.03))
    k, share = np.arange(1, len(power) + 1), (power / power.sum()).numpy()
    bars.bar(k, share, color=np.where(share > 1.5 * share.mean(), VERMILION, GREY))
    bars.set(xlabel="frequency in what the neurons get", ylabel="share", xticks=k)
    return figure


def look_up_peak(block: Tensor, letters: Sequence[str], lengths: Sequence[float], right: Sequence[float]) -> Figure:
    """Draw what letters score for letters (V, V), and beside it the share of right answers over the lengths of a step."""
    figure, (table, curve) = plt.subplots(1, 2, figsize=(WIDTH, 3.2))
    table.imshow(block.numpy(), vmin=0)
    name_cells(table, letters, letters)
    table.set(xlabel="letter that is asked", ylabel="letter of a number")
    curve.plot(lengths, right, color=VERMILION)
    curve.set(xlabel="length of the step", ylabel="right answers", ylim=(0, 1.03))
    return figure


LEAST = 40  # thousandths of attention that an arrow shows


def flow(
    names: Sequence[str],
    layers: Sequence[Mapping[int, Sequence[int]]],
    odds: Sequence[tuple[int, int]],
    steps: bool = False,
) -> Figure:
    """Draw who attends to whom, from the tokens at the bottom to the answer on top: arrows as thick as the attention.

    `layers` holds {query: weights (key,)}, `odds` holds (answer, odds), both in thousandths.  With `steps`, those of the
    algorithm are numbered.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 3.9))
    draw_flow(axes, names, layers, odds, steps)
    return figure


def draw_flow(
    axes: Axes,
    names: Sequence[str],
    layers: Sequence[Mapping[int, Sequence[int]]],
    odds: Sequence[tuple[int, int]],
    steps: bool = False,
) -> None:
    """Draw a `flow` into axes."""
    last, heights = len(names) - 1, (0, 2, 4)
    numbers = [query for query in layers[0] if query < names.index("+") and names[query].isdigit()]
    for layer, query in (*((1, number) for number in numbers), (1, last), (2, last)):
        bottom, top = heights[layer - 1] + 0.3, heights[layer] - 0.3
        for key, weight in enumerate(layers[layer - 1][query]):
            if weight >= LEAST:
                middle = (bottom + top) / 2
                curve = Path([(key, bottom), (key, middle), (query, middle), (query, top)], [1, 4, 4, 4])
                looks = {"ec": LAYER_COLOURS[layer], "lw": max(1, weight / 80), "alpha": 0.7}
                axes.add_patch(PathPatch(curve, fill=False, **looks))
        axes.plot(query, top + 0.05, "^", color=INK, ms=9)
        if steps:
            axes.text(query - 0.55, top, 3 if layer == 2 else 2 if query == last else 1, ha="center", va="center", weight="bold")
    for place, name in enumerate(names):
        faint = role(name) == "PAD"
        for height in heights[: 1 if faint else 3 if place == last else 2]:
            axes.text(place, height, name, ha="center", va="center", fontsize=9 if faint else 11, color=GREY if faint else INK)
    axes.text(last, 5.6, odds[0][0], ha="right", va="center", fontsize=22, fontweight="bold", color=legible(VERMILION))
    axes.annotate("", (last, 5.2), (last, 4.3), arrowprops={"arrowstyle": "-|>", "color": INK})
    for words, height, step in (("layer 1", 1, ""), ("layer 2", 3, ""), ("neurons", 4.75, "4 "), ("answer", 5.6, "5 ")):
        axes.text(-2.6, height, step * steps + words, va="center", color=GREY)
    axes.set(xlim=(-2.7, last + 0.6), ylim=(-0.4, 6))
    axes.set_axis_off()


def film(curves: Mapping[str, pd.Series], names: Sequence[str], frames: Mapping[int, tuple]) -> Figure:
    """Draw accuracy curves, by kind over steps, and below them a `flow` for each step of frames: its layers and odds."""
    figure, (top, *below) = plt.subplots(
        1 + len(frames), figsize=(WIDTH, 1.8 + 2.6 * len(frames)), height_ratios=[1.8, *[2.6] * len(frames)]
    )
    for (kind, curve), line in zip(curves.items(), (":", "-", "--")):
        top.plot(curve.index[1:], curve[1:], line, color=KIND_COLOURS[kind] if kind == "0-var" else INK, label=kind)
    top.set(xscale="log", xlabel="step", ylabel="accuracy")
    top.legend()
    for axes, (step, (layers, odds)) in zip(below, frames.items()):
        draw_flow(axes, names, layers, odds)
        axes.set_title(f"step {step}")
    return figure


def head(values: Sequence[float], scores: Sequence[float], weights: Sequence[float], mix: float) -> Figure:
    """Draw the attention weights of keys with these scores, and on a line of numbers their values and the average."""
    figure, (bars, line) = plt.subplots(2, 1, figsize=(WIDTH, 2.8), height_ratios=(len(values), 1))
    bars.barh([f"{value:g}, score {score:g}" for value, score in zip(values, scores)], weights, color=BLUE)
    for at, weight in enumerate(weights):
        bars.text(weight + 0.01, at, f"{weight:.0%}", va="center")
    bars.set(xlim=(0, 1), xticks=[])
    bars.invert_yaxis()
    line.hlines(0, 0, max(values), color=GREY)
    line.scatter(values, [0] * len(values), s=[200 * weight for weight in weights], color=BLUE)
    for value in values:
        line.text(value, -1.1, f"{value:g}", ha="center", va="center")
    line.plot(mix, 0.5, "v", color=VERMILION, ms=9)
    line.text(mix, 1.2, f"{mix:.1f}", ha="center", va="center", color=legible(VERMILION), weight="bold")
    line.set(ylim=(-1.5, 1.6))
    line.set_axis_off()
    return figure


def pairs(held: Tensor, x: int, y: int) -> Figure:
    """Draw all pairs (x, y), those of `held` (x, y) filled, and a ring round one."""
    figure, axes = plt.subplots(figsize=(4.2, 4.2))
    axes.imshow(held.T.numpy(), origin="lower", cmap=ListedColormap(["#f4f4f4", "#8c9bb0"]), vmin=0, vmax=1)
    axes.plot(x, y, "o", ms=11, mfc="none", mec=VERMILION, mew=2.5)
    axes.set(xlabel="x", ylabel="y", xticks=[0, len(held) - 1], yticks=[0, len(held) - 1])
    return figure


def fallen(seeds: Sequence[float], untrained: float, level: float, least: bool) -> Figure:
    """Draw the shares of trained networks on a line from 0 to 1, that of an untrained one, and shade what was predicted."""
    figure, axes = plt.subplots(figsize=(WIDTH, 1.3))
    axes.axvspan(level if least else 0, 1 if least else level, color="#dddddd", zorder=0)
    axes.hlines(0, 0, 1, color=INK)
    axes.plot(untrained, 0, "|", color=INK, ms=14)
    axes.plot(seeds, [0] * len(seeds), "o", color=VERMILION, ms=9, alpha=0.7)
    axes.set(xlim=(-0.02, 1.02), ylim=(-1, 1), yticks=[], xticks=[0, 0.5, 1], xlabel="share of problems")
    return figure


def module_pairs(trained: Sequence[tuple[int, int]], scores: Mapping[str, Sequence[float]]) -> Figure:
    """Draw all pairs of eight modules as cells, filled where trained; beside them, of one pair, the scores of each kind."""
    figure, (cells, lines) = plt.subplots(1, 2, figsize=(WIDTH, 2.4), width_ratios=(1, 1.5))
    for one, other in itertools.combinations(range(8), 2):
        known = (one, other) in trained
        place = (other - 0.4, one - 0.4)
        cells.add_patch(
            plt.Rectangle(place, 0.8, 0.8, facecolor=PALE if known else "none", edgecolor=INK, ls="-" if known else ":")
        )
        cells.text(other, one, "" if known else "?", ha="center", va="center")
    cells.set(xlim=(0.5, 7.5), ylim=(6.5, -0.5), xticks=range(1, 8), yticks=range(7), aspect="equal")
    for row, (mark, shares) in enumerate(zip("os^", scores.values())):
        lines.plot(shares, [row] * len(shares), mark, color=(BLUE, VERMILION, GREEN)[row], ms=7)
    lines.set(xlim=(0, 1.02), ylim=(len(scores) - 0.5, -0.5), xlabel="score")
    lines.set_yticks(range(len(scores)), scores)
    lines.xaxis.set_major_formatter(PercentFormatter(1))
    return figure


def context_margins(drawn: Tensor, found: float, question: str) -> Figure:
    """Draw the margins (contexts,) of random contexts of a question as a histogram, beside that of a context that was found."""
    figure, axes = plt.subplots(figsize=(WIDTH, 1.9))
    axes.axvspan(found - 3, 0, color="#eeeeee", zorder=0)
    axes.hist(drawn.numpy(), np.arange(math.floor(drawn.min()), math.ceil(drawn.max()) + 1), color=BLUE)
    top = axes.get_ylim()[1]
    axes.plot(found, 0.05 * top, "D", color=VERMILION, ms=7)
    axes.text(found, 0.15 * top, f"found:\n{found:.1f}".replace("-", "−"), ha="center", color=legible(VERMILION))
    axes.text(drawn.mean(), 1.03 * top, f"{len(drawn)} random contexts", ha="center", color=legible(BLUE))
    axes.text(found / 2, 0.95 * top, "wrong", ha="center", va="top")
    axes.set(xlabel=f"margin of {question}", ylabel="contexts", ylim=(0, 1.15 * top), xlim=(found - 3, None))
    return figure
