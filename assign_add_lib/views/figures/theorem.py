"""The figures of the gradient theorem."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from torch import Tensor

from ...task import Task
from ...theory import coordinates
from .learn import block_matrix
from .style import GREY, KIND_COLOURS, WIDTH, name_ends

LOOKS = {"0-var": "--", "1-var": "-", "2-var": "-."}
ENTRIES = {"signal": "-", "all assigned numbers": "--", "variables": "-.", "left operand": ":"}


def update_blocks(task: Task, update: Tensor) -> Figure:
    """Draw what a step (D, D) adds to the scores, rows the key, columns the query, with the blocks of the theorem outlined."""
    at = coordinates(task)
    p, span = at["position"].start, {name: range(block.start, block.stop) for name, block in at.items()}
    rows = [  # name, coordinates, how wide each is drawn
        ("number slots", range(p + 1, p + task.room, 2), 0.9),
        ("other slots", range(p, p + task.room, 2), 0.35),
        *((str(t), [p + t], 2.4) for t in range(task.room, task.length)),
        ("variables", span["variable"], 0.6),
        ("numbers", span["number"], 0.06),
        ("+ = PAD", [task.plus, task.equal, task.pad], 0.6),
        ("moved\nvariables", span["moved variable"], 0.6),
        ("moved\nnumbers", span["moved number"], 0.06),
    ]
    columns = [
        (always := f"{task.last} and =", [p + task.last, task.equal], 3.5),
        ("moved variables", span["moved variable"], 0.9),
        ("moved numbers", span["moved number"], 0.1),
    ]
    outlines = {
        "S": ("moved\nvariables", "moved variables"),
        "operand": (str(task.left), always),
        "all assigned": ("moved\nvariables", always),
        "slots": ("number slots", always),
        "all variables": ("variables", always),
        "asked variable": ("variables", "moved variables"),
        "1/N": ("numbers", always),
    }
    return block_matrix(update, rows, columns, outlines)


def outcomes_by_step(shares: Sequence[float], results: dict[str, list[tuple[dict, dict]]]) -> Figure:
    """Draw accuracy above and attention below by kind of problem over `shares` of the balanced step, a column for each result."""
    figure, panels = plt.subplots(2, len(results), figsize=(WIDTH, 3.6), sharex=True, sharey=True, squeeze=False)
    for column, (title, rows) in enumerate(results.items()):
        for row, words in enumerate(("accuracy", "attention on both")):
            for kind, look in LOOKS.items():
                values = [each[row][kind] for each in rows]
                panels[row, column].plot(shares, values, look, color=KIND_COLOURS[kind], label=kind)
            panels[row, 0].set_ylabel(words)
        panels[0, column].set_title(title)
        panels[1, column].set_xlabel("h / h*")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def entries_by_step(readings: dict[str, pd.DataFrame], changes: dict[str, int]) -> Figure:
    """Draw accuracies above and entries of W below over the steps, a column for each table; `changes` get a dotted line."""
    figure, panels = plt.subplots(2, len(readings), figsize=(WIDTH, 3.7), sharex=True, sharey="row", squeeze=False)
    for column, (name, table) in enumerate(readings.items()):
        for kind, look in LOOKS.items():
            panels[0, column].plot(table[kind], look, color=KIND_COLOURS[kind], label=kind)
        for entry, look in ENTRIES.items():
            panels[1, column].plot(table[entry], look, label=entry)
        if name in changes:
            for axes in panels[:, column]:
                axes.axvline(changes[name], color=GREY, linewidth=0.8, linestyle=":")
        panels[0, column].set_title(name)
        panels[1, column].set_xlabel("step")
    kinds = {kind: (table[kind].iloc[-1], KIND_COLOURS[kind]) for kind in LOOKS}
    entries = {entry.removesuffix(" numbers"): (table[entry].iloc[-1], f"C{place}") for place, entry in enumerate(ENTRIES)}
    name_ends(panels[0, -1], kinds, 0.17)
    name_ends(panels[1, -1], entries, 0.5)
    panels[0, 0].set_ylabel("accuracy")
    panels[1, 0].set_ylabel("entry of W")
    return figure
