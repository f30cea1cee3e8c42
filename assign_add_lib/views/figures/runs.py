"""Training runs as dots, on strips under one another, and as curves."""

from collections.abc import Mapping, Sequence
from itertools import count, cycle
from math import hypot
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .style import BLUE, GREEN, INK, PURPLE, VERMILION, WIDTH, legible

LABELS, EDGE, DOT = 1.4, 0.25, 0.045  # inches
STRIP = WIDTH - LABELS - EDGE
MARKS = (("o", BLUE), ("s", VERMILION), ("^", GREEN), ("v", PURPLE))  # of the strips of a group, in their order


def run_dots(
    strips: Mapping[str, Sequence[float] | Mapping[str, Sequence[float]]],
    xlabel: str,
    limits: tuple[float, float] = (0, 100),
    marked: int = -1,
    marked_name: str = "seed 42",
    tall: float = 0.2,
    dot: float = DOT,
) -> Figure:
    """Draw a strip for each label: a dot for each run at its share, in percent; runs that are alike stand over one another.

    `strips` is label -> shares from 0 to 1, or label -> {name: shares} for strips that belong together, such as before and
    after.  The run at the place `marked` is a black diamond, called `marked_name`.  `limits` are the ends of the axis in
    percent; ValueError for a share beyond them.  A strip is at least `tall` inches high, a dot `dot` inches wide.
    """
    groups = {label: each if isinstance(each, Mapping) else {"": each} for label, each in strips.items()}
    rows, height = [], 0.0  # (label, name, mark, percents, the strip's middle and its dots below the top, in inches)
    for label, group in groups.items():
        height += 0.06
        for name, (mark, shares) in zip(group, zip(cycle(MARKS), group.values())):
            percents = 100 * np.asarray(shares, float)
            if not ((limits[0] <= percents) & (percents <= limits[1])).all():
                raise ValueError(f"{label} {name}: a share lies beyond the axis, {limits[0]} to {limits[1]} percent")
            offsets = spread_out(percents * STRIP / (limits[1] - limits[0]), dot, marked)
            room = max(tall, 0.08 + 2 * np.abs(offsets).max())
            middle = height + room / 2
            rows.append((label if name == next(iter(group)) else "", name, mark, percents, middle, middle + offsets))
            height += room
    whole = height + 0.75
    figure = plt.figure(figsize=(WIDTH, whole), layout="none")
    axes = figure.add_axes((LABELS / WIDTH, 0.5 / whole, STRIP / WIDTH, height / whole))
    for label, name, (mark, colour), percents, middle, heights in rows:
        others = np.arange(len(percents)) != marked % len(percents)
        axes.axhline(middle, color="0.88", linewidth=0.8, zorder=0)
        style = {"ls": "", "markeredgecolor": "white", "markeredgewidth": 0.5, "clip_on": False}
        axes.plot(percents[others], heights[others], mark, color=colour, ms=72 * dot, **style)
        diamond = axes.plot(percents[~others], heights[~others], "D", color=INK, ms=72 * dot + 0.7, label=marked_name, **style)
        words = axes.get_yaxis_transform()  # from the left end of the strips, which is 0
        axes.text(-LABELS / STRIP + 0.02, middle, fill(label, 12 if name else 18), transform=words, va="center", color=INK)
        axes.text(-0.07, middle, name, transform=words, ha="right", va="center", color=legible(colour))
    axes.set(xlim=limits, ylim=(height, 0), yticks=[], xlabel=xlabel)
    axes.xaxis.set_major_formatter("{x:g}%")
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.spines["left"].set_visible(False)
    figure.legend(handles=diamond, loc="upper right", bbox_to_anchor=(1, 1), handletextpad=0.1, borderaxespad=0.2)
    return figure


def spread_out(places: Sequence[float], width: float, first: int = 0) -> np.ndarray:
    """How far each dot of this width goes up or down, as little as it must, so that none covers another; the first stays."""
    offsets, placed = np.zeros(len(places)), []
    for index in sorted(range(len(places)), key=lambda index: (index != first % len(places), places[index])):
        ways = (sign * step * width / 4 for step in count() for sign in (1, -1))
        free = (way for way in ways if all(hypot(places[index] - x, way - y) >= 0.99 * width for x, y in placed))
        offsets[index] = next(free)
        placed.append((places[index], offsets[index]))
    return offsets


def run_curves(
    curves: Mapping[str, Mapping[float, float]], xlabel: str, ends: tuple[str, str], marked: str = "seed-42"
) -> Figure:
    """Draw a curve for each run: share of right answers, from 0 to 1, by what was changed; the marked run is black.

    `ends` says in words what goes wrong at the left and at the right end.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 2.9))
    for name, curve in sorted(curves.items(), key=lambda each: each[0] == marked):
        style = {"color": INK, "lw": 2, "marker": "D", "ms": 4} if name == marked else {"color": "0.62", "lw": 1}
        axes.plot(list(curve), [100 * share for share in curve.values()], **style)
    factors = list(curves[marked])
    for x, words, side in zip((factors[0], factors[-1]), ends, ("left", "right")):
        axes.text(x, 104, words, ha=side, va="bottom", color=INK)
    last = list(curves[marked].items())[len(factors) * 3 // 4]
    axes.annotate(
        marked.replace("-", " "), (last[0], 100 * last[1]), xytext=(-6, -4), textcoords="offset points", ha="right", va="top"
    )
    axes.axvline(1, color="0.8", lw=0.8, zorder=0)
    axes.set(xlabel=xlabel, ylabel="right answers", ylim=(0, 102))
    axes.yaxis.set_major_formatter("{x:g}%")
    return figure
