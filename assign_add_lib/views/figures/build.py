"""Figures of part I, Build: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from .style import BLUE, GREY, INK, ROLES, SET_STYLES, VERMILION, WIDTH, box, legible, name_cells, name_ends, role


def _mark(axes: Axes, levels: dict[str, float], end: float) -> None:
    """Mark levels by a grey line, with their names at its right end."""
    for name, level in levels.items():
        axes.axhline(level, color=GREY, linewidth=0.9)
        axes.text(end, level - 0.02, name, ha="right", va="top", color="#555555")


def token_row(
    names: Sequence[str],
    answer: str | None = None,
    notes: dict[tuple[int, int], str] | None = None,
) -> Figure:
    """Draw a sequence as a row of boxes, one a token, with positions below and the answer read at the end.  Figure 1.

    `notes` puts a bracket with words above a span of positions (first, last).
    """
    bottom, top = -1.6 if answer else -0.6, 1.85 if notes else 1.1
    figure, axes = plt.subplots(figsize=(WIDTH, 0.45 * (top - bottom)))
    for position, name in enumerate(names):
        box(axes, position + 0.04, 0, 0.92, 1, ROLES[role(name)])
        faint = name == "PAD"
        looks = {"fontsize": 9, "color": GREY, "rotation": 90} if faint else {"fontsize": 11, "color": INK}
        axes.text(position + 0.5, 0.5, name, ha="center", va="center", **looks)
        axes.text(position + 0.5, -0.32, position, ha="center", va="center", color=GREY)
    for (first, last), words in (notes or {}).items():
        axes.plot([first + 0.06, first + 0.06, last + 0.94, last + 0.94], [1.12, 1.22, 1.22, 1.12], color=GREY, linewidth=0.9)
        axes.text((first + last + 1) / 2, 1.3, words, ha="center", va="bottom")
    if answer is not None:
        end = len(names) - 0.5
        axes.annotate(answer, (end, -0.45), (end, -1.35), ha="center", va="center", fontsize=11, fontweight="bold",
                      arrowprops={"arrowstyle": "<-", "color": INK})  # fmt: skip
        axes.text(end - 0.6, -1.35, "answer", ha="right", va="center")
    axes.text(-0.1, -0.32, "position", ha="right", va="center", color=GREY)
    axes.set(xlim=(-2, len(names)), ylim=(bottom, top))
    axes.axis("off")
    return figure


def pair_map(train_pairs: Tensor) -> Figure:
    """Draw the ordered pairs (x, y) of numbers: pale for training, in colour for held out."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6))
    axes.imshow((~train_pairs).numpy(), cmap=matplotlib.colors.ListedColormap(["#e8eef4", BLUE]), origin="lower")
    axes.set(xlabel="y, the right number", ylabel="x, the left number")
    held_out = int((~train_pairs).sum())
    for colour, words in (("#e8eef4", f"{train_pairs.numel() - held_out} training pairs"), (BLUE, f"{held_out} held-out pairs")):
        axes.plot([], [], "s", color=colour, markeredgecolor=INK, markersize=8, label=words)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def form_grid(allowed: Tensor, names: Sequence[str]) -> Figure:
    """Draw which operands training puts together: `allowed` (V + 1, V + 1), the last row and column for a constant."""
    labels = [*names, "number"]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.9))
    axes.imshow(allowed.numpy(), cmap=matplotlib.colors.ListedColormap(["white", "#a8cbe6"]), vmin=0, vmax=1)
    for row, left in enumerate(labels):
        for column, right in enumerate(labels):
            barred = left == right and left != "number"
            mark = "–" if barred else "" if allowed[row, column] else "×"
            axes.text(column, row, mark, ha="center", va="center", fontsize=10, color=legible(GREY if barred else VERMILION))
    name_cells(axes, labels, labels)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([t + 0.5 for t in range(len(names))], minor=True)
    axes.grid(which="minor", color="0.85", linewidth=0.6)
    axes.get_xticklabels()[-1].set_rotation(90)
    axes.set(xlabel="right operand", ylabel="left operand")
    for marker, colour, words in (
        ("s", "#a8cbe6", "training asks it"), ("x", VERMILION, "only tests ask it"), ("_", GREY, "never asked"),
    ):  # fmt: skip
        axes.plot([], [], marker, color=colour, markersize=8, label=words)
    figure.legend(loc="outside upper center", ncols=3, columnspacing=1)
    return figure


def curves(table: pd.DataFrame, levels: dict[str, float] | None = None) -> Figure:
    """Draw each column of a table over its index, training steps, with its name at its end; levels are grey lines with names."""
    figure, axes = plt.subplots()
    lines = {name: axes.plot(table[name], ("-", "--", ":", "-.")[index % 4])[0] for index, name in enumerate(table)}
    name_ends(axes, {name: (table[name].iloc[-1], line.get_color()) for name, line in lines.items()})
    for name, level in (levels or {}).items():
        axes.axhline(level, color="0.45", linewidth=1, zorder=0)
        axes.text(0.01, level + 0.02, name, transform=axes.get_yaxis_transform(), color="0.35")
    axes.set(xlabel="training step", ylabel="right answers", ylim=(-0.02, 1.05), xlim=(table.index[0], table.index[-1]))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return figure


def accuracy_curves(
    metrics: pd.DataFrame,
    phases: Sequence[tuple[str, int, int]] = (),
    baselines: dict[str, dict[str, float]] | None = None,
    others: Sequence[pd.DataFrame] = (),
) -> Figure:
    """Draw the accuracies over training, one panel for each kind of problem, such as `1-var`.  Figure 2.

    `phases` shades spans (name, first step, last step); `baselines` gives, by panel (`1-var`), levels to mark by name;
    `others` are the metrics of other runs, drawn faint behind.
    """
    kinds: dict[str, list[str]] = {}
    for kind, label in (name.split(" ", 1) for name in metrics.columns if "-var " in name):
        kinds.setdefault(f"{kind} chain" if label.startswith("chain ") else kind, []).append(f"{kind} {label}")
    figure, panels = plt.subplots(len(kinds), 1, figsize=(WIDTH, 1.25 * len(kinds)), sharex=True)
    for axes, (kind, names) in zip(panels, kinds.items()):
        for index, (_, first, last) in enumerate(phases):
            axes.axvspan(first, last, color="0.96" if index % 2 else "0.91", linewidth=0)
        _mark(axes, (baselines or {}).get(kind, {}), metrics.index[-1])
        labels = [name.removeprefix(kind + " ") for name in names]
        for name, (colour, line) in zip(names, (SET_STYLES[label] for label in labels)):
            for other in others:
                axes.plot(other.index, other[name], color=colour, linewidth=0.4, alpha=0.3)
            axes.plot(metrics.index, metrics[name], line, color=colour, linewidth=1.4)
        name_ends(axes, {label: (metrics[name].iloc[-1], SET_STYLES[label][0]) for name, label in zip(names, labels)}, 0.16)
        axes.set(title=f"{kind} problems", ylim=(-0.02, 1.05), xlim=(0, metrics.index[-1]), ylabel="accuracy")
    for name, first, last in phases:
        panels[0].text((first + last) / 2, 0.06, name, ha="center", va="bottom")
    panels[-1].set_xlabel("training step")
    return figure
