"""Still pictures of the scoreboard: claims as rows of marks, and the values of one beside its level."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .runs import spread_out
from .style import BLUE, GREY, INK, PALE, VERMILION, WIDTH

NAME, LEFT = 24, -25  # letters of a row's name that have room beside its marks, and where it begins, in marks


def _mark(axes: Axes, claim: Mapping, run: int, x: float, y: float, size: float) -> None:
    """A dot where a run bears the claim out, a cross where not; in grey where its value was known when the level was set."""
    value, least = claim["values"][run], claim["least"]
    number = float("inf") if value == "never" else value
    good = not isinstance(number, str) and (number >= claim["level"] if least else number <= claim["level"])
    colour = GREY if run in claim["seen"] else BLUE if good else VERMILION
    axes.plot(x, y, "o" if good else "x", color=colour, ms=size, mew=1.4 if not good else 0)


def claim_rows(sides: Mapping[str, Mapping[str, Sequence[Mapping]]]) -> Figure:
    """Draw claims as named rows of marks in two columns: whose they are, and by verdict within."""
    lines = []  # of a column one below the other: a heading or a part of a name, and a claim where its marks stand
    for whose, groups in sides.items():
        lines += [(whose, "bold", None)]
        for verdict, rows in groups.items():
            lines += [(f"{verdict}: {len(rows)}", "bold", None)]
            for row in rows:
                *above, last = wrap(row["name"], NAME, break_on_hyphens=False)
                lines += [*((part, "normal", None) for part in above), (last, "normal", row)]
    half = next(at for at in range(len(lines) // 2, len(lines) + 1) if lines[at - 1][2])  # behind a claim
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, 0.155 * half))
    for axes, column in zip(panels, (lines[:half], lines[half:])):
        for y, (words, weight, claim) in enumerate(column):
            axes.text(LEFT, y, words, va="center", color=INK, weight=weight)
            for run, value in enumerate(claim["values"] if claim else ()):
                if value is not None:
                    _mark(axes, claim, run, run, y, 3.5)
        axes.set(xlim=(LEFT, 9.6), ylim=(half - 0.5, -0.7))
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
