"""Figures that more than one chapter draws: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can tell apart
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442",
)  # fmt: skip
GREY, INK = "#777777", "#222222"
WIDTH = 7.2  # inches, the width of a page's column

STYLE = {
    "figure.figsize": (WIDTH, 3.4),
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.bbox": None,
    "font.size": 9,
    "axes.titlesize": 9.5,
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


ROLES = {"variable": SKY, "number": "#dddddd", "PAD": "white", "+": YELLOW, "=": ORANGE}


def _role(name: str) -> str:
    return "number" if name.isdigit() else name if name in ROLES else "variable"


def token_row(names: Sequence[str], answer: str | None = None, notes: dict[tuple[int, int], str] | None = None) -> Figure:
    """Draw a sequence as a row of boxes, one a token, with positions below and the answer read at the end.  Figure 1.

    `notes` puts a bracket with words above a span of positions (first, last).
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 1.75))
    for position, name in enumerate(names):
        box = plt.Rectangle((position + 0.04, 0), 0.92, 1, facecolor=ROLES[_role(name)], edgecolor=INK, linewidth=0.8)
        axes.add_patch(box)
        faint = name == "PAD"
        axes.text(position + 0.5, 0.5, name, ha="center", va="center", fontsize=8 if faint else 11, color=GREY if faint else INK)
        axes.text(position + 0.5, -0.32, position, ha="center", va="center", fontsize=8, color=GREY)
    for (first, last), words in (notes or {}).items():
        axes.plot([first + 0.06, first + 0.06, last + 0.94, last + 0.94], [1.12, 1.22, 1.22, 1.12], color=GREY, linewidth=0.9)
        axes.text((first + last + 1) / 2, 1.3, words, ha="center", va="bottom", fontsize=8.5)
    if answer is not None:
        end = len(names) - 0.5
        axes.annotate(answer, (end, -0.45), (end, -1.35), ha="center", va="center", fontsize=11, fontweight="bold",
                      arrowprops={"arrowstyle": "<-", "color": INK})  # fmt: skip
        axes.text(end - 0.6, -1.35, "answer", ha="right", va="center", fontsize=8.5)
    axes.text(-0.1, -0.32, "position", ha="right", va="center", fontsize=8, color=GREY)
    axes.set(xlim=(-1.3, len(names)), ylim=(-1.6 if answer else -0.6, 1.85))
    axes.axis("off")
    return figure
