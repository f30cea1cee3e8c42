"""Still pictures of the things to move: what a page shows on paper, and until scripts run."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor

from .style import BLUE, GREEN, GREY, VERMILION, WIDTH, legible


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


def boards(right: dict[str, Tensor]) -> Figure:
    """Draw boards of all sums x + y, by title, with a cell filled where `right` (x, y) is true."""
    figure, panels = plt.subplots(1, len(right), figsize=(WIDTH, WIDTH / len(right) + 0.35), sharey=True)
    for axes, (title, cells) in zip(panels, right.items()):
        axes.imshow(cells.T.numpy(), origin="lower", cmap=ListedColormap(["#eeeeee", VERMILION]), vmin=0, vmax=1)
        axes.set_title(title, loc="center", fontsize=8.5)
        axes.set(xlabel="x", xticks=[0, len(cells) - 1])
    panels[0].set(ylabel="y", yticks=[0, len(cells) - 1])
    return figure


def wall(tiles: dict[int, Tensor], columns: int = 18) -> Figure:
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
