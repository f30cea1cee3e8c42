"""The book's style: one palette, and one look for one thing in every figure."""

from collections.abc import Mapping, Sequence

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from ..page import DENSITY, INCH

# Okabe and Ito's palette, which colour-blind readers can tell apart
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442",
)  # fmt: skip

GREY, INK = "#757575", "#222222"

WIDTH, LETTERS = 4.9, 9  # inches, and points of the smallest letters: on a phone these are 9 pixels high
PALE, LEFT_OUT = "#b9c4cc", "0.88"  # bars beside those that count; cells without a value

STYLE = {
    "figure.figsize": (WIDTH, 2.9),
    "figure.dpi": DENSITY * INCH,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.bbox": None,
    "font.size": LETTERS,
    "axes.titlesize": 9.5,
    "figure.labelsize": LETTERS,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.prop_cycle": matplotlib.cycler(color=[BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY]),
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "image.cmap": "Blues",
    "image.interpolation": "nearest",
}


def use_style() -> None:
    """Draw all that follows in the book's style."""
    plt.rcParams.update(STYLE)


def legible(colour: str) -> tuple[float, ...]:
    """A colour for words on white: darkened until its contrast is 4.5, which WCAG 2 (1.4.3) asks for."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))

    def contrast(rgb):
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05)

    return tuple(next(shade for shade in np.linspace(rgb, 0, 101) if contrast(shade) >= 4.5))


def name_cells(axes: Axes, columns: Sequence, rows: Sequence, **looks) -> None:
    """Name the columns and rows of a map, or of the cells in it, without marks; `looks` are those of the names."""
    axes.set_xticks(range(len(columns)), columns, **looks)
    axes.set_yticks(range(len(rows)), rows, **looks)
    axes.tick_params(which="both", length=0)


def box(axes: Axes, left: float, bottom: float, width: float, height: float, colour: str, line: str = INK, **looks) -> None:
    """Draw a box of this colour with a thin edge."""
    axes.add_patch(plt.Rectangle((left, bottom), width, height, facecolor=colour, edgecolor=line, linewidth=0.8, **looks))


# one colour for one thing, in every figure of the book
KIND_COLOURS = {"0-var": GREY, "1-var": ORANGE, "2-var": SKY}

LAYER_COLOURS = {1: "#5b3a8c", 2: "#8c510a"}

# pale, so that words on them are read, in the dark theme as well
ROLES = {"variable": "#a9d8f3", "number": "#dddddd", "PAD": "white", "+": YELLOW, "=": "#f6cb75"}


def role(name: str) -> str:
    """What a token is, by its name: a key of `ROLES`."""
    return "number" if name.isdigit() else name if name in ROLES else "variable"


# how a set of problems is drawn, in every figure: solid as in training, dashed or dotted for what training never showed
SET_STYLES = {
    "train": (BLUE, "-"),
    "add-restricted": (VERMILION, "--"),
    "var-restricted": (GREEN, ":"),
    "var-restricted (1)": (GREEN, ":"),
    "var-restricted (2)": (PURPLE, "-."),
    "var-restricted (3)": (ORANGE, "-."),
    "unasked": (ORANGE, "--"),
    "unseen": (SKY, ":"),
}


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move places apart until neighbours, in order, are at least a gap from each other."""
    moved = dict.fromkeys(range(len(places)))
    height = -np.inf
    for index in sorted(range(len(places)), key=lambda index: places[index]):
        height = moved[index] = max(places[index], height + gap)
    excess = max(0.0, height - max(1.05, *places))
    return [moved[index] - excess for index in range(len(places))]


def name_ends(axes: Axes, ends: Mapping[str, tuple[float, str]], gap: float = 0.09) -> None:
    """Write beside the right edge what the curves are: `ends` holds each one's (height, colour), by name."""
    places = spread([height for height, _ in ends.values()], gap)
    for (name, (_, colour)), place in zip(ends.items(), places):
        axes.annotate(name, (1.02, place), xycoords=("axes fraction", "data"), va="center", color=legible(colour))
