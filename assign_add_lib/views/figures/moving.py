"""Still pictures of the things to move: what a page shows on paper, and until scripts run."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from .style import BLUE, GREEN, GREY, INK, KIND_COLOURS, LAYER_COLOURS, VERMILION, WIDTH, legible, role

LEAST = 40  # thousandths of attention that an arrow shows


def clocks(N: int, ks: Sequence[int], x: int, y: int) -> Figure:
    """Draw a clock for each frequency k of ks, round which N numbers run k times, with hands for x, y and their sum."""
    columns = min(len(ks), 5)
    rows = math.ceil(len(ks) / columns)
    figure, faces = plt.subplots(rows, columns, figsize=(WIDTH, 1.55 * rows), squeeze=False)
    hands = (("x", x, 0.6, BLUE, "--", 1.8), ("y", y, 0.75, GREEN, ":", 1.8), ("x+y", (x + y) % N, 1, VERMILION, "-", 2.6))
    for face, k in zip(faces.flat, ks):
        face.add_patch(plt.Circle((0, 0), 1, fill=False, edgecolor=GREY, linewidth=1))
        for name, number, length, colour, line, width in hands:
            angle = 2 * math.pi * k * number / N
            tip = length * math.sin(angle), length * math.cos(angle)
            face.plot([0, tip[0]], [0, tip[1]], line, color=colour, linewidth=width, solid_capstyle="round")
            place = (1.2 if name == "x+y" else length - 0.22) / length
            face.text(place * tip[0], place * tip[1], name, ha="center", va="center", color=legible(colour), fontsize=8.5)
        face.set_title("once round" if k == 1 else f"{k} times round", loc="center", fontsize=8.5)
    for face in faces.flat:
        face.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
        face.set_axis_off()
    return figure


def flow(names: Sequence[str], layers: Sequence[Mapping[int, Sequence[int]]], odds: Sequence[tuple[int, int]]) -> Figure:
    """Draw who attends to whom, from the tokens at the bottom to the answer on top: arrows as thick as the attention.

    `layers` holds {query: weights (key,)}, `odds` holds (answer, odds), both in thousandths.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 4.6))
    draw_flow(axes, names, layers, odds)
    return figure


def draw_flow(
    axes: Axes, names: Sequence[str], layers: Sequence[Mapping[int, Sequence[int]]], odds: Sequence[tuple[int, int]]
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
    for place, name in enumerate(names):
        faint = role(name) == "PAD"
        for height in heights[: 1 if faint else 3 if place == last else 2]:
            axes.text(place, height, name, ha="center", va="center", fontsize=6.5 if faint else 11, color=GREY if faint else INK)
    axes.text(last, 5.6, odds[0][0], ha="right", va="center", fontsize=22, fontweight="bold", color=legible(VERMILION))
    axes.annotate("", (last, 5.2), (last, 4.3), arrowprops={"arrowstyle": "-|>", "color": INK})
    for words, height in (("layer 1", 1), ("layer 2", 3), ("neurons", 4.75), ("answer", 5.6)):
        axes.text(-1.6, height, words, va="center", color=GREY)
    axes.set(xlim=(-1.7, last + 0.6), ylim=(-0.4, 6))
    axes.set_axis_off()


def film(curves: Mapping[str, pd.Series], names: Sequence[str], frames: Mapping[int, tuple]) -> Figure:
    """Draw accuracy curves, by kind over steps, and below them a `flow` for each step of frames: its layers and odds."""
    figure, (top, *below) = plt.subplots(
        1 + len(frames), figsize=(WIDTH, 1.8 + 3.1 * len(frames)), height_ratios=[1.8, *[3.1] * len(frames)]
    )
    for (kind, curve), line in zip(curves.items(), (":", "-", "--")):
        top.plot(curve.index[1:], curve[1:], line, color=KIND_COLOURS[kind] if kind == "0-var" else INK, label=kind)
    top.set(xscale="log", xlabel="step", ylabel="accuracy")
    top.legend()
    for axes, (step, (layers, odds)) in zip(below, frames.items()):
        draw_flow(axes, names, layers, odds)
        axes.set_title(f"step {step}")
    return figure
