"""Training runs as curves over what was changed in them."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .style import INK


def run_curves(
    curves: Mapping[str, Mapping[float, float]], xlabel: str, ends: tuple[str, str], marked: str = "seed-42"
) -> Figure:
    """Draw a curve for each run: share of right answers, from 0 to 1, by what was changed; the marked run is black.

    `ends` says in words what goes wrong at the left and at the right end.
    """
    figure, axes = plt.subplots(figsize=(5.2, 3.2))
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
