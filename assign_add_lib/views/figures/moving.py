"""Still pictures of the things to move: what a page shows on paper, and until scripts run."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from torch import Tensor

from .style import BLUE, GREEN, GREY, VERMILION, WIDTH, legible, name_cells


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
