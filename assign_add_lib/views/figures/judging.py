"""Still pictures of the scoreboard: claims as rows of marks, and the values of one beside its level."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .runs import spread_out
from .style import BLUE, GREY, INK, PALE, VERMILION, WIDTH


def _mark(axes: Axes, claim: Mapping, run: int, x: float, y: float, size: float) -> None:
    """A dot where a run bears the claim out, a cross where not; in grey where its value was known when the level was set."""
    value, least = claim["values"][run], claim["least"]
    number = float("inf") if value == "never" else value
    good = not isinstance(number, str) and (number >= claim["level"] if least else number <= claim["level"])
    colour = GREY if run in claim["seen"] else BLUE if good else VERMILION
    axes.plot(x, y, "o" if good else "x", color=colour, ms=size, mew=1.4 if not good else 0)


def claim_rows(sides: Mapping[str, Mapping[str, Sequence[Mapping]]]) -> Figure:
    """Draw claims as rows of marks: whose they are, and by verdict within; the longer side in two columns."""
    columns = []  # of lines, each a heading or a claim
    for whose, groups in sides.items():
        lines = [line for name, rows in groups.items() for line in (f"{name}: {len(rows)}", *rows)]
        half = len(lines) if len(lines) < 30 else (len(lines) + 1) // 2
        columns += [[whose, *lines[:half]], *([["", *lines[half:]]] if lines[half:] else [])]
    figure, panels = plt.subplots(1, len(columns), figsize=(WIDTH, 0.15 * max(map(len, columns))))
    for axes, lines in zip(panels, columns):
        for y, line in enumerate(lines):
            if isinstance(line, str):
                axes.text(0, y, line, va="center", color=INK, weight="normal" if y else "bold")
            for run, value in enumerate(() if isinstance(line, str) else line["values"]):
                if value is not None:
                    _mark(axes, line, run, run, y, 4.5)
        axes.set(xlim=(-0.6, 9.6), ylim=(max(map(len, columns)) - 0.5, -0.7))
        axes.axis("off")
    return figure


def level_line(claim: Mapping) -> Figure:
    """Draw the values of a claim on a line, with its level, and shade the side on which it holds."""
    figure, axes = plt.subplots(figsize=(WIDTH, 1.4))
    known = [(run, value) for run, value in enumerate(claim["values"]) if isinstance(value, float)]
    numbers = [value for _, value in known]
    low, high = min(*numbers, claim["level"]), max(*numbers, claim["level"])
    edge = 0.12 * (high - low or 1)
    for (run, value), up in zip(known, spread_out([5 * (value - low) / (high - low or 1) for value in numbers], 0.12)):
        _mark(axes, claim, run, value, up, 7)
    ends = (claim["level"], high + edge) if claim["least"] else (low - edge, claim["level"])
    axes.axvspan(*ends, color=PALE, alpha=0.4, lw=0)
    axes.axvline(claim["level"], color=INK)
    axes.set(xlim=(low - edge, high + edge), ylim=(-0.6, 0.6), yticks=[])
    axes.spines["left"].set_visible(False)
    return figure
