"""Figures that more than one chapter draws: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

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


# one colour for one thing, in every figure of the book
KIND_COLOURS = {"0-var": GREY, "1-var": ORANGE, "2-var": SKY}
LAYER_COLOURS = {1: "#5b3a8c", 2: "#8c510a"}
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


def pair_map(train_pairs: Tensor) -> Figure:
    """Draw the ordered pairs (x, y) of numbers: light for training, dark for held out."""
    figure, axes = plt.subplots(figsize=(WIDTH, 4.6))
    axes.imshow(~train_pairs, cmap=matplotlib.colors.ListedColormap(["#e8eef4", BLUE]), origin="lower")
    axes.set(xlabel="y, the right number", ylabel="x, the left number")
    held_out = int((~train_pairs).sum())
    for colour, words in (("#e8eef4", f"{train_pairs.numel() - held_out} training pairs"), (BLUE, f"{held_out} held-out pairs")):
        axes.plot([], [], "s", color=colour, markeredgecolor=INK, markersize=8, label=words)
    figure.legend(loc="outside right upper")
    return figure


def form_grid(allowed: Tensor, names: Sequence[str]) -> Figure:
    """Draw which operands training puts together: `allowed` (V + 1, V + 1), the last row and column for a constant."""
    labels = [*names, "number"]
    figure, axes = plt.subplots(figsize=(WIDTH, 4.7))
    axes.imshow(allowed, cmap=matplotlib.colors.ListedColormap(["white", "#a8cbe6"]), vmin=0, vmax=1)
    for row, left in enumerate(labels):
        for column, right in enumerate(labels):
            barred = left == right and left != "number"
            mark = "–" if barred else "" if allowed[row, column] else "×"
            axes.text(column, row, mark, ha="center", va="center", fontsize=10, color=GREY if barred else VERMILION)
    ticks = range(len(labels))
    axes.set_xticks(ticks, labels)
    axes.set_yticks(ticks, labels)
    axes.set_xticks([t - 0.5 for t in ticks[1:]], minor=True)
    axes.set_yticks([t - 0.5 for t in ticks[1:]], minor=True)
    axes.grid(which="minor", color="0.85", linewidth=0.6)
    axes.tick_params(which="both", length=0)
    axes.get_xticklabels()[-1].set_rotation(90)
    axes.set(xlabel="right operand (position 14)", ylabel="left operand (position 13)")
    key = (
        ("s", "#a8cbe6", "training asks it"),
        ("x", VERMILION, "only tests ask it"),
        ("_", GREY, "never asked"),
    )
    for marker, colour, words in key:
        axes.plot([], [], marker, color=colour, markersize=8, label=words)
    figure.legend(loc="outside right upper")
    return figure


def curves(table: pd.DataFrame, levels: dict[str, float] | None = None) -> Figure:
    """Draw each column of a table over its index, training steps, with its name at its end and levels as grey lines."""
    figure, axes = plt.subplots()
    ends = _spread(list(table.iloc[-1]), 0.07)
    for index, (name, end) in enumerate(zip(table.columns, ends)):
        line = axes.plot(table.index, table[name], ("-", "--", ":", "-.")[index % 4])[0]
        axes.annotate(name, (1.01, end), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=line.get_color())
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GREY, linewidth=0.9)
        axes.text(table.index[-1], level - 0.02, name, ha="right", va="top", fontsize=7.5, color="#555555")
    axes.set(xlabel="training step", ylabel="accuracy", ylim=(-0.02, 1.05), xlim=(table.index[0], table.index[-1]))
    return figure


# how a set of problems is drawn, in every figure: solid as in training, dashed or dotted for what training never showed
SET_STYLES = {
    "train": (BLUE, "-"),
    "add-restricted": (VERMILION, "--"),
    "var-restricted": (GREEN, ":"),
    "var-restricted (1)": (GREEN, ":"),
    "var-restricted (2)": (PURPLE, "-."),
}


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Move places apart until neighbours, in order, are at least a gap from each other."""
    moved = dict.fromkeys(range(len(places)))
    height = -np.inf
    for index in sorted(range(len(places)), key=lambda index: places[index]):
        height = moved[index] = max(places[index], height + gap)
    excess = max(0.0, height - 1.05)
    return [moved[index] - excess for index in range(len(places))]


def accuracy_curves(
    metrics: pd.DataFrame,
    phases: Sequence[tuple[str, int, int]] = (),
    baselines: dict[str, dict[str, float]] | None = None,
    others: Sequence[pd.DataFrame] = (),
) -> Figure:
    """Draw the nine accuracies over training, one panel for each number of variables.  Figure 2.

    `phases` shades spans (name, first step, last step); `baselines` gives, by panel (`1-var`), levels to mark by name;
    `others` are the metrics of other runs, drawn faint behind.
    """
    figure, panels = plt.subplots(3, 1, figsize=(WIDTH, 6.6), sharex=True)
    for axes, kind in zip(panels, ("0-var", "1-var", "2-var")):
        for index, (_, first, last) in enumerate(phases):
            axes.axvspan(first, last, color="0.96" if index % 2 else "0.91", linewidth=0)
        for name, level in (baselines or {}).get(kind, {}).items():
            axes.axhline(level, color=GREY, linewidth=0.9)
            axes.text(metrics.index[-1], level - 0.02, name, ha="right", va="top", fontsize=7.5, color="#555555")
        names = [name for name in metrics.columns if name.startswith(kind)]
        ends = _spread([metrics[name].iloc[-1] for name in names], 0.115)
        for name, end in zip(names, ends):
            label = name.removeprefix(kind + " ")
            colour, line = SET_STYLES[label]
            for other in others:
                axes.plot(other.index, other[name], color=colour, linewidth=0.4, alpha=0.3)
            axes.plot(metrics.index, metrics[name], line, color=colour, linewidth=1.4)
            axes.annotate(f"{label}", (1.01, end), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=colour)
        axes.set(title=f"{kind} problems", ylim=(-0.02, 1.05), xlim=(0, metrics.index[-1]))
        axes.set_ylabel("accuracy")
    for name, first, last in phases:
        panels[0].text((first + last) / 2, 0.06, name, ha="center", va="bottom", fontsize=8.5)
    panels[-1].set_xlabel("training step")
    return figure


def score_table(scores: Tensor, regions: dict[str, tuple[slice, slice]]) -> Figure:
    """Draw the layer-1 scores (90, 90) of all embeddings for all, with regions (rows, columns) outlined by name.  Figure 6.

    Numbers are drawn narrow, and what stands alone (`+`, `=`, `PAD`, positions 12 to 15) wide, so that all can be read.
    """
    widths = np.repeat([0.45, 2.6, 1.0, 1.0, 2.6], [59, 3, 12, 12, 4])
    edges = np.concatenate([[0], widths.cumsum()])
    figure, axes = plt.subplots(figsize=(WIDTH, 6.5))
    image = axes.pcolormesh(edges, edges, scores.numpy(), cmap="RdBu_r", vmin=-8, vmax=8)
    groups = {"numbers 0–58": (0, 59), "+": (59, 60), "=": (60, 61), "PAD": (61, 62), "variables a–l": (62, 74)}
    groups |= {"positions 0–11": (74, 86)} | {f"position {p}": (74 + p, 75 + p) for p in range(12, 16)}
    middles = [(edges[first] + edges[last]) / 2 for first, last in groups.values()]
    for first, _ in groups.values():
        width = 1.4 if first == 74 else 0.5
        axes.axhline(edges[first], color=INK, linewidth=width)
        axes.axvline(edges[first], color=INK, linewidth=width)
    for name, (rows, columns) in regions.items():
        left, right, top, bottom = (edges[k] for k in (columns.start, columns.stop, rows.start, rows.stop))
        box = plt.Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor="black", linewidth=2.4, zorder=3)
        axes.add_patch(box)
        spot = {"facecolor": YELLOW, "edgecolor": INK, "pad": 1.6}
        axes.text(left, top, name, ha="center", va="center", fontsize=9, fontweight="bold", bbox=spot, zorder=4)
    axes.set_xticks(middles, groups, rotation=90)
    axes.set_yticks(middles, groups)
    axes.tick_params(length=0)
    axes.set(xlabel="key (what is read)", ylabel="query (what reads)", aspect="equal")
    axes.invert_yaxis()
    figure.colorbar(image, label="score", shrink=0.7, extend="both")
    return figure


def score_block(scores: Tensor, names: Sequence, limit: float, query: str = "query", key: str = "key") -> Figure:
    """Draw a square block of scores with its values written in; the largest of each row is ringed, masked ones are grey.

    A masked entry is minus infinity.  Colours saturate at `limit`.  Figure 7.
    """
    figure, axes = plt.subplots(figsize=(5.6, 4.7))
    axes.set_facecolor("0.88")
    image = axes.imshow(scores.masked_fill(scores.isinf(), torch.nan).numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
    for row, values in enumerate(scores):
        for column in values.isfinite().nonzero().flatten().tolist():
            value = float(values[column])
            colour = "white" if abs(value) > 0.65 * limit else "black"
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6.5, color=colour)
        if values.isfinite().any():
            best = int(values.argmax())
            axes.add_patch(plt.Rectangle((best - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.8))
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.set(xlabel=key, ylabel=query)
    figure.colorbar(image, label="score", shrink=0.8)
    return figure


def algorithm(
    names: Sequence[str],
    layer_1: Sequence[tuple[int, int]],
    layer_2: Sequence[tuple[int, int]],
    carried: dict[int, str],
    total: str,
    answer: str,
) -> Figure:
    """Draw the whole algorithm on one sequence: tokens, what two layers of attention move, the sum and the answer.

    `layer_1` and `layer_2` hold the pairs (query, key) of positions to join; an arrow runs from the key, which is read, to
    the query, which reads.  `carried` says by position what layer 1 has brought there; `total` is the sum in numbers.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 4.3))
    last, tokens, middle, mlp = len(names) - 1, 6.6, 4.1, 1.5  # the heights of the rows

    def box(x, y, width, height, colour, line=INK):
        corner = (x - width / 2, y - height / 2)
        axes.add_patch(plt.Rectangle(corner, width, height, facecolor=colour, edgecolor=line, linewidth=0.8, zorder=3))

    def arrow(start, end, colour, bend=0.0, line="-", width=1.6):
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "linestyle": line, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=style | {"connectionstyle": f"arc3,rad={bend}", "mutation_scale": 11}, zorder=4)

    for position, name in enumerate(names):
        faint = name == "PAD"
        colour, ink = ROLES[_role(name)], GREY if faint else INK
        axes.plot([position] * 2, [tokens - 0.4, middle + 0.5], color="0.85", linewidth=1, zorder=1)
        axes.text(position, tokens + 0.62, position, ha="center", va="center", fontsize=7.5, color=GREY)
        for y, height in ((tokens, 0.8), (middle, 1.0)):
            box(position, y, 0.88, height, colour)
            lift = 0.2 if y == middle and position in carried else 0
            axes.text(position, y + lift, name, ha="center", va="center", fontsize=6.5 if faint else 10.5, color=ink, zorder=5)
    for position, words in carried.items():
        axes.text(position, middle - 0.25, words, ha="center", va="center", fontsize=7.5, color=LAYER_COLOURS[1], zorder=5)
    for query, key in layer_1:
        arrow((key, tokens - 0.4), (query, middle + 0.5), LAYER_COLOURS[1])
    for _, key in layer_2:
        arrow((key, middle - 0.5), (min(max(key, last - 2.7), last - 1), mlp + 0.5), LAYER_COLOURS[2], line=(0, (4, 1.5)))
    arrow((last, middle - 0.5), (last, mlp + 0.5), "0.6", width=1)

    box(last - 1.5, mlp, 3.9, 1.0, "white")
    axes.text(last - 1.5, mlp, total, ha="center", va="center", fontsize=10.5, zorder=5)
    arrow((last - 1.5, mlp - 0.5), (last - 1.5, mlp - 1.2), INK, width=1.2)
    axes.text(last - 1.5, mlp - 1.5, answer, ha="center", va="center", fontsize=12, fontweight="bold")
    steps = (
        (tokens + 0.62, "position", GREY), (tokens, "tokens", INK), (middle, "after layer 1", INK),
        ((tokens + middle) / 2, "layer 1,\nby position", LAYER_COLOURS[1]),
        ((middle + mlp) / 2, "layer 2,\nby content", LAYER_COLOURS[2]),
        (mlp, "MLP", INK), (mlp - 1.5, "answer", INK),
    )  # fmt: skip
    for y, words, colour in steps:
        axes.text(-0.7, y, words, ha="right", va="center", fontsize=8.5, color=colour)
    axes.set(xlim=(-3.1, last + 0.6), ylim=(mlp - 1.9, tokens + 0.9))
    axes.axis("off")
    return figure


def spectra(
    shares: dict[str, Sequence[float]], marked: Sequence[int], control: dict[str, Sequence[float]] | None = None
) -> Figure:
    """Draw spectra (K + 1,) one above the other: marked frequencies dark with their names, a control as a grey line."""
    figure, panels = plt.subplots(len(shares), 1, figsize=(WIDTH, 1.45 * len(shares) + 0.5), sharex=True, squeeze=False)
    for axes, (name, heights) in zip(panels[:, 0], shares.items()):
        k = np.arange(len(heights))
        axes.bar(k, heights, color=[BLUE if each in marked else "#b9c4cc" for each in k], width=0.75)
        for each in marked:
            axes.text(each, heights[each] + 0.003, each, ha="center", va="bottom", fontsize=7.5)
        if name in (control or {}):
            axes.step(k, control[name], where="mid", color=INK, linewidth=1, linestyle="--")
        axes.set(title=name, ylabel="share", ylim=(0, 1.2 * max(heights)), xlim=(-0.7, len(heights) - 0.3))
    panels[-1, 0].set_xlabel("frequency k (0: the constant)")
    return figure


def neuron_grid(pairs: Sequence[tuple[str, Tensor, Tensor]]) -> Figure:
    """Draw neurons over all (x, y), each beside its fit: (title, measured (N, N), fitted (N, N)).  Figure 11."""
    columns, dpi = 3, plt.rcParams["figure.dpi"]
    rows, side, width = -(-len(pairs) // columns), 2 * len(pairs[0][1]) / dpi, WIDTH / columns  # two pixels a cell
    height = side + 0.42
    figure = plt.figure(figsize=(WIDTH, rows * height), layout="none")
    for place, (title, measured, fitted) in enumerate(pairs):
        row, column = divmod(place, columns)
        bottom, limit = (rows - 1 - row) * height + 0.05, float(measured.abs().max())
        for half, (values, words) in enumerate(((measured, "neuron"), (fitted, "fit"))):
            left = column * width + half * (side + 0.07)
            axes = figure.add_axes((left / WIDTH, bottom / rows / height, side / WIDTH, side / rows / height))
            axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower", aspect="auto")
            axes.set_title(words, fontsize=8, loc="center", pad=2)
            axes.set(xticks=[], yticks=[])
        middle = column * width + side + 0.035
        figure.text(middle / WIDTH, (bottom + side + 0.2) / rows / height, title, fontsize=8.5, ha="center")
    return figure


def interference(parts: dict[int, Sequence[float]], total: Sequence[float], answer: int) -> Figure:
    """Draw the logit over q as one wave a frequency, one below the other on one scale, and their sum beneath."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(WIDTH, 6.2), sharex=True, height_ratios=(3.2, 1))
    height = 1.15 * 2 * max(float(np.abs(wave).max()) for wave in parts.values())
    q = np.arange(len(total))
    for place, (k, wave) in enumerate(parts.items()):
        base = -place * height
        top.axhline(base, color="0.85", linewidth=0.7)
        top.plot(q, np.asarray(wave) + base, color=BLUE, linewidth=1.2)
        top.plot(answer, wave[answer] + base, "o", color=VERMILION, markersize=4)
        top.text(-1, base, f"k = {k}", ha="right", va="center", fontsize=8.5)
    top.set(yticks=[], title="the part of each frequency, all on one scale")
    top.spines["left"].set_visible(False)
    bottom.bar(q, total, color=["#b9c4cc" if each != answer else VERMILION for each in q], width=0.75)
    bottom.set(title="the logit", xlabel="answer q", ylabel="logit", xlim=(-0.8, len(q) - 0.2))
    for axes in (top, bottom):
        axes.axvline(answer, color=VERMILION, linewidth=0.8, linestyle="--", zorder=0)
    return figure


def patch_maps(maps: dict[str, Tensor], sites: Sequence[str], positions: Sequence[str]) -> Figure:
    """Draw recovered logit differences, a panel for each change: rows are hook sites, columns positions."""
    height = 0.24 * len(sites) * len(maps) + 0.75 * len(maps)
    figure, panels = plt.subplots(len(maps), 1, figsize=(WIDTH, height), sharex=True)
    for axes, (title, values) in zip(np.atleast_1d(panels), maps.items()):
        axes.imshow(values, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        for (row, column), value in np.ndenumerate(np.asarray(values)):
            if abs(value) >= 0.03:
                ink = "white" if value > 0.6 else INK
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
        axes.set(title=title)
        axes.set_yticks(range(len(sites)), sites)
        axes.set_xticks(range(len(positions)), positions)
        axes.set_xticks(np.arange(len(positions)) + 0.5, minor=True)
        axes.set_yticks(np.arange(len(sites)) + 0.5, minor=True)
        axes.grid(which="minor", color="0.88", linewidth=0.5)
        axes.tick_params(which="both", length=0, labelbottom=True)
    return figure


def accuracy_intervals(tables: dict[str, pd.DataFrame]) -> Figure:
    """Draw shares with 95% intervals (columns share, low, high), a row for each table and a panel for each kind of set."""
    figure, panels = plt.subplots(1, 3, figsize=(WIDTH, 0.42 * len(tables) + 1.3), sharex=True, sharey=True)
    for axes, kind in zip(panels, ("0-var", "1-var", "2-var")):
        names = [name for name in next(iter(tables.values())).index if name.startswith(kind)]
        for place, name in enumerate(names):
            label = name.removeprefix(kind + " ")
            rows = np.arange(len(tables)) + 0.17 * (place - (len(names) - 1) / 2)
            found = np.array([table.loc[name, ["share", "low", "high"]] for table in tables.values()], dtype=float)
            axes.hlines(rows, found[:, 1], found[:, 2], color=SET_STYLES[label][0], linewidth=1.2)
            axes.plot(found[:, 0], rows, SET_MARKERS[label], color=SET_STYLES[label][0], markersize=4.5, label=label)
        axes.set(title=f"{kind} problems", xlim=(-0.03, 1.03), xlabel="accuracy")
        axes.grid(axis="x", color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_yticks(range(len(tables)), list(tables))
    panels[0].invert_yaxis()
    handles = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


SET_MARKERS = {"train": "o", "add-restricted": "s", "var-restricted": "^", "var-restricted (1)": "^", "var-restricted (2)": "D"}


def seed_curves(
    runs: Sequence[pd.DataFrame], rows: Sequence[Sequence[str]], levels: dict[str, float] | None = None, level: str = "shortcut"
) -> Figure:
    """Draw columns of many runs' metrics over training, a small panel each: median, middle half, and single runs faint.

    `rows` lays the panels out, by name of column; `levels` marks a height in a panel with a dashed line, which the key
    calls `level`.  The key stands in the room that a shorter first row leaves, or below.
    """
    columns = max(map(len, rows))
    figure, grid = plt.subplots(len(rows), columns, figsize=(WIDTH, 1.55 * len(rows) + 0.5), sharex=True, sharey=True)
    grid = np.reshape(grid, (len(rows), columns))
    for axes, name in ((grid[row, place], name) for row, names in enumerate(rows) for place, name in enumerate(names)):
        kind, _, label = name.partition(" ")
        colour, _ = SET_STYLES.get(label, (BLUE, "-"))
        table = pd.concat([metrics[name] for metrics in runs], axis=1)
        low, middle, high = (table.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
        axes.plot(table.index, table, color="0.72", linewidth=0.5)
        axes.fill_between(table.index, low, high, color=colour, alpha=0.3, linewidth=0)
        axes.plot(table.index, middle, color=colour, linewidth=1.7)
        if name in (levels or {}):
            axes.axhline(levels[name], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.set_title(f"{kind}\n{label}" if label in SET_STYLES else name, fontsize=8.5)
        axes.set(ylim=(-0.03, 1.05), xlim=(0, table.index[-1]))
        axes.tick_params(labelsize=8)
    for row, names in enumerate(rows):
        grid[row, 0].set_ylabel("accuracy" if names[0].partition(" ")[2] in SET_STYLES else "share")
        for axes in grid[row, len(names) :]:
            axes.axis("off")
    looks = {"median of the runs": (INK, 1.7, "-"), "the middle half of them": ("0.8", 7, "-"), "each run": ("0.72", 0.5, "-")}
    looks |= {level: (INK, 0.8, (0, (4, 2)))} if levels else {}
    handles = {name: plt.Line2D([], [], color=c, linewidth=width, linestyle=line) for name, (c, width, line) in looks.items()}
    place = {"loc": "outside lower center", "ncols": len(handles)}
    if len(rows[0]) < columns:
        place = {"loc": "upper right", "bbox_to_anchor": (1, 0.99)}
    figure.legend(handles.values(), handles, **place)
    for axes in grid[-1, : len(rows[-1])]:
        axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k")
    figure.supxlabel("training step", fontsize=9)
    return figure


def held(names: Sequence[str], moved: dict[int, Sequence[str]], attention: Sequence[float]) -> Figure:
    """Draw what each position holds when layer 2 reads: its position, its token, what layer 1 moved there, attention on top."""
    figure, (top, axes) = plt.subplots(2, 1, figsize=(WIDTH, 3.1), sharex=True, height_ratios=(1, 2.6))
    top.bar(range(len(names)), attention, color=LAYER_COLOURS[2], width=0.6)
    top.set(ylabel="attention\nof =", ylim=(0, 0.6), yticks=[0, 0.5])
    for position, name in enumerate(names):
        parts = [(f"$p_{{{position}}}$", "white", INK), (name, ROLES[_role(name)], GREY if name == "PAD" else INK)]
        parts += [(rf"$\hat{{{each}}}$", "white", LAYER_COLOURS[1]) for each in moved.get(position, ())]
        for height, (words, colour, ink) in enumerate(parts):
            box = plt.Rectangle((position - 0.44, height + 0.05), 0.88, 0.9, facecolor=colour, edgecolor=ink, linewidth=0.8)
            axes.add_patch(box)
            size = 6.5 if words == "PAD" else 9.5
            axes.text(position, height + 0.5, words, ha="center", va="center", fontsize=size, color=ink)
    axes.set(xlim=(-0.6, len(names) - 0.4), ylim=(-0.05, 4.1), yticks=[0.5, 1.5, 2.5], xticks=[])
    axes.set_yticklabels(["position", "token", "moved by\nlayer 1"])
    for each in (top, axes):
        each.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    return figure


def block_matrix(
    values: Tensor,
    rows: Sequence[tuple[str, Sequence[int], float]],
    columns: Sequence[tuple[str, Sequence[int], float]],
    outlines: dict[str, tuple[str, str]],
) -> Figure:
    """Draw blocks of a matrix on a logarithmic scale of colours, blue below zero; white is less than a hundredth.

    `rows` and `columns` list (name, coordinates, width of each); `outlines` frames a block (row, column) under a letter.
    """

    def edges(groups):
        ends = np.concatenate([[0], np.concatenate([np.full(len(part), width) for _, part, width in groups]).cumsum()])
        stops = np.cumsum([len(part) * width for _, part, width in groups])
        spans = {name: (stop - len(part) * width, stop) for (name, part, width), stop in zip(groups, stops)}
        return ends, np.concatenate([part for _, part, _ in groups]), spans

    (across, at_columns, column_span), (down, at_rows, row_span) = edges(columns), edges(rows)
    figure, axes = plt.subplots(figsize=(WIDTH, 6.6))
    norm = matplotlib.colors.SymLogNorm(0.01, vmin=-20, vmax=20)
    image = axes.pcolormesh(across, down, np.asarray(values)[np.ix_(at_rows, at_columns)], cmap="RdBu_r", norm=norm)
    for spans, line in ((row_span, axes.axhline), (column_span, axes.axvline)):
        for _, stop in spans.values():
            line(stop, color="0.8", linewidth=0.6)
    for label, (row, column) in outlines.items():
        (top, bottom), (left, right) = row_span[row], column_span[column]
        axes.add_patch(plt.Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=INK, linewidth=1.6))
        style = {"ha": "center", "va": "center", "fontsize": 9.5, "fontweight": "bold", "color": INK}
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": INK, "linewidth": 0.6}
        axes.text(0.2 * left + 0.8 * right, 0.72 * top + 0.28 * bottom, label, bbox=box, **style)
    axes.set_xticks([sum(span) / 2 for span in column_span.values()], column_span)
    axes.set_yticks([sum(span) / 2 for span in row_span.values()], row_span)
    axes.tick_params(length=0, pad=3)
    axes.set(ylim=(down[-1], 0), xlabel="what the query holds", ylabel="what the key holds")
    axes.spines[["top", "right"]].set_visible(True)
    bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=[-10, -1, -0.1, 0, 0.1, 1, 10])
    bar.ax.set_yticklabels(["−10", "−1", "−0.1", "0", "0.1", "1", "10"])
    return figure
