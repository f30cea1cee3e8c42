"""Figures of part II, Read: each takes arrays and returns a matplotlib Figure."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ...task import STUDY, Task
from .style import BLUE, GREY, INK, LAYER_COLOURS, ROLES, SET_STYLES, VERMILION, WIDTH, YELLOW, box, name_cells, role


def score_table(scores: Tensor, regions: dict[str, tuple[slice, slice]], task: Task = STUDY) -> Figure:
    """Draw the layer-1 scores of all embeddings of a task for all, with regions (rows, columns) outlined by name.  Figure 6.

    Numbers are drawn narrow, and what stands alone (`+`, `=`, `PAD`, the last four positions) wide, so that all can be read.
    ValueError for scores of another size.
    """
    N, variables, positions, names = task.n_numbers, task.first_variable, task.d_vocab, task.variable_names
    if scores.shape != (positions + task.length,) * 2:
        raise ValueError(f"the scores of {task} are a square of {positions + task.length}, not {tuple(scores.shape)}")
    widths = np.repeat([0.45, 2.6, 1.0, 1.0, 2.6], [N, 3, len(names), task.room, 4])
    edges = np.concatenate([[0], widths.cumsum()])
    figure, axes = plt.subplots(figsize=(WIDTH, 6.5))
    image = axes.pcolormesh(edges, edges, scores.numpy(), cmap="RdBu_r", vmin=-8, vmax=8)
    groups = {f"numbers 0–{N - 1}": (0, N)} | {name: (N + k, N + k + 1) for k, name in enumerate(("+", "=", "PAD"))}
    groups |= {f"variables {names[0]}–{names[-1]}": (variables, positions)}
    groups |= {f"positions 0–{task.room - 1}": (positions, positions + task.room)}
    groups |= {f"position {p}": (positions + p, positions + p + 1) for p in range(task.room, task.length)}
    middles = [(edges[first] + edges[last]) / 2 for first, last in groups.values()]
    for first, _ in groups.values():
        for line in (axes.axhline, axes.axvline):
            line(edges[first], color=INK, linewidth=1.4 if first == positions else 0.5)
    for name, (rows, columns) in regions.items():
        left, right, top, bottom = (edges[k] for k in (columns.start, columns.stop, rows.start, rows.stop))
        place, width, height = (left, top), right - left, bottom - top
        axes.add_patch(plt.Rectangle(place, width, height, fill=False, edgecolor="black", linewidth=2.4, zorder=3))
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
    figure, axes = plt.subplots(figsize=(WIDTH, 6))
    axes.set_facecolor("0.88")
    image = axes.imshow(scores.masked_fill(scores.isinf(), torch.nan).numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
    for row, values in enumerate(scores):
        for column in values.isfinite().nonzero().flatten().tolist():
            value = float(values[column])
            colour = "white" if abs(value) > 0.65 * limit else "black"
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=8, color=colour)
        if values.isfinite().any():
            best = int(values.argmax())
            axes.add_patch(plt.Rectangle((best - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.8))
    name_cells(axes, names, names)
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
    ways: Mapping[int, str] | None = None,
    positions: Sequence[str] | None = None,
) -> Figure:
    """Draw the whole algorithm on one sequence: tokens, what two layers of attention move, the sum and the answer.

    `layer_1` and `layer_2` hold the pairs (query, key) of positions to join; an arrow runs from the key, which is read, to
    the query, which reads.  `carried` says by position what layer 1 has brought there; `total` is the sum in numbers;
    `ways` says by the key's position how layer 2 finds it; `positions` says what positions are called, as in `token_row`.
    """
    called = positions or range(len(names))
    figure, axes = plt.subplots(figsize=(WIDTH, 4.3))
    last, tokens, middle, mlp = len(names) - 1, 6.6, 4.1, 1.5  # the heights of the rows

    def arrow(start, end, colour, line="-", width=1.6):
        style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11, "connectionstyle": "arc3,rad=0"}
        axes.annotate("", end, start, arrowprops=style | {"color": colour, "linewidth": width, "linestyle": line}, zorder=4)

    for position, name in enumerate(names):
        faint = name == "PAD"
        colour, ink = ROLES[role(name)], GREY if faint else INK
        axes.plot([position] * 2, [tokens - 0.4, middle + 0.5], color="0.85", linewidth=1, zorder=1)
        axes.text(position, tokens + 0.62, called[position], ha="center", va="center", fontsize=7.5, color=GREY)
        for y, height in ((tokens, 0.8), (middle, 1.0)):
            box(axes, position - 0.44, y - height / 2, 0.88, height, colour, zorder=3)
            lift = 0.2 if y == middle and position in carried else 0
            axes.text(position, y + lift, name, ha="center", va="center", fontsize=6.5 if faint else 10.5, color=ink, zorder=5)
    for position, words in carried.items():
        axes.text(position, middle - 0.25, words, ha="center", va="center", fontsize=7.5, color=LAYER_COLOURS[1], zorder=5)
    for query, key in layer_1:
        arrow((key, tokens - 0.4), (query, middle + 0.5), LAYER_COLOURS[1])
    for _, key in layer_2:
        end = min(max(key, last - 2.7), last - 1)
        arrow((key, middle - 0.5), (end, mlp + 0.5), LAYER_COLOURS[2], line=(0, (4, 1.5)))
        x, y = (key + end) / 2 - 0.25, (middle + mlp) / 2 - 0.15
        axes.text(x, y, (ways or {}).get(key, ""), ha="right", va="top", fontsize=8.5, color=LAYER_COLOURS[2])
    arrow((last, middle - 0.5), (last, mlp + 0.5), "0.6", width=1)

    box(axes, last - 3.45, mlp - 0.5, 3.9, 1, "white", zorder=3)
    axes.text(last - 1.5, mlp, total, ha="center", va="center", fontsize=10.5, zorder=5)
    arrow((last - 1.5, mlp - 0.5), (last - 1.5, mlp - 1.2), INK, width=1.2)
    axes.text(last - 1.5, mlp - 1.5, answer, ha="center", va="center", fontsize=12, fontweight="bold")
    steps = (
        (tokens + 0.62, "position", GREY), (tokens, "tokens", INK), (middle, "after layer 1", INK),
        ((tokens + middle) / 2, "layer 1,\nmainly\nby position", LAYER_COLOURS[1]),
        ((middle + mlp) / 2, "layer 2" if ways else "layer 2,\nby content", LAYER_COLOURS[2]),
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
            axes.imshow(np.asarray(values), cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower", aspect="auto")
            axes.set_title(words, fontsize=8, loc="center", pad=2)
            axes.set(xticks=[], yticks=[])
        middle = column * width + side + 0.035
        figure.text(middle / WIDTH, (bottom + side + 0.2) / rows / height, title, fontsize=8.5, ha="center")
    return figure


def interference(parts: dict[int, Sequence[float]], total: Sequence[float], answer: int) -> Figure:
    """Draw the logit over q as one wave a frequency, one below the other on one scale, and their sum beneath."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(WIDTH, 6.2), sharex=True, height_ratios=(3.2, 1))
    parts, total = {k: np.asarray(wave) for k, wave in parts.items()}, np.asarray(total)
    height = 1.15 * 2 * max(np.abs(wave).max() for wave in parts.values())
    q = np.arange(len(total))
    for place, (k, wave) in enumerate(parts.items()):
        base = -place * height
        top.axhline(base, color="0.85", linewidth=0.7)
        top.plot(q, wave + base, color=BLUE, linewidth=1.2)
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
        axes.imshow(np.asarray(values), vmin=0, vmax=1, cmap="Blues", aspect="auto")
        for (row, column), value in np.ndenumerate(np.asarray(values)):
            if abs(value) >= 0.03:
                ink = "white" if value > 0.6 else INK
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
        axes.set(title=title)
        name_cells(axes, positions, sites)
        axes.set_xticks(np.arange(len(positions)) + 0.5, minor=True)
        axes.set_yticks(np.arange(len(sites)) + 0.5, minor=True)
        axes.grid(which="minor", color="0.88", linewidth=0.5)
        axes.tick_params(labelbottom=True)
    return figure


def seed_curves(
    runs: Sequence[pd.DataFrame],
    rows: Sequence[Sequence[str]],
    levels: dict[str, float] | None = None,
    level: str = "shortcut",
    marked: dict[int, str] | None = None,
) -> Figure:
    """Draw columns of many runs' metrics over training, a small panel each: median, middle half, and single runs faint.

    `rows` lays the panels out, by name of column; `levels` marks a height in a panel with a dashed line, which the key
    calls `level`; `marked` gives single runs, by their place in `runs`, a dark dotted line and words in the key.  The key
    stands in the room that a shorter first row leaves, or below.
    """
    columns, height = max(map(len, rows)), 1.55 * len(rows) + 0.5
    figure, grid = plt.subplots(len(rows), columns, figsize=(WIDTH, height), sharex=True, sharey=True, squeeze=False)
    for axes, name in (pair for panels, names in zip(grid, rows) for pair in zip(panels, names)):
        kind, _, label = name.partition(" ")
        colour, _ = SET_STYLES.get(label, (BLUE, "-"))
        table = pd.concat([metrics[name] for metrics in runs], axis=1)
        low, middle, high = (table.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
        single = axes.plot(table.index, table, color="0.72", linewidth=0.5)
        for place in marked or {}:
            single[place].set(color="0.2", linewidth=0.9, linestyle=(0, (1, 1)))
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
    looks |= {words: ("0.2", 0.9, (0, (1, 1))) for words in (marked or {}).values()}
    looks |= {level: (INK, 0.8, (0, (4, 2)))} if levels else {}
    handles = {name: plt.Line2D([], [], color=c, linewidth=width, linestyle=line) for name, (c, width, line) in looks.items()}
    beside, below = {"loc": "upper right", "bbox_to_anchor": (1, 0.99)}, {"loc": "outside lower center", "ncols": len(handles)}
    figure.legend(handles.values(), handles, **(beside if len(rows[0]) < columns else below))
    for axes in grid[-1, : len(rows[-1])]:
        axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k")
    figure.supxlabel("training step", fontsize=9)
    return figure
