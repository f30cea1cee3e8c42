"""Views of attention: who reads whom, drawn, in words, and as something to point at."""

from collections.abc import Sequence
from importlib.resources import files

import matplotlib.pyplot as plt
import torch
from IPython.display import HTML
from matplotlib.figure import Figure
from torch import Tensor

from ..model import Weights, trace
from ..task import Problem
from ..training import Run
from .figures.style import name_cells
from .page import figure_element, is_static, picture_of

# what CircuitsVis writes -> what this book writes, small enough for 16 tokens beside each other
WORDING = {
    "Source Token": "key",
    "Destination Token": "query",
    "Src: ": "key: ",
    "Dest: ": "query: ",
    "Val: ": "weight: ",
    'size:12,style:"normal"': 'size:10,style:"normal"',
}
READING = "Each row is a query, the token that reads; each column is a key, a token that it may read."


def attention(source: Run | Weights, problem: Problem | str, step: int | None = None) -> tuple[Tensor, list[str]]:
    """Attention patterns (layer, query, key) on one problem, and the names of its tokens.

    `source` is a `Run`, whose weights at `step` are used (the last where None), or a `Weights`.
    Raises ValueError for a bad problem, an unknown step, a step asked of a `Weights`, several heads, or
    attention that is not finite.
    """
    if isinstance(problem, str):
        problem = Problem.parse(problem, source.task)
    if problem.task != source.task:
        raise ValueError("the problem and the network are of different tasks")
    if isinstance(source, Run):
        source = source.weights(step)
    elif step is not None:
        raise ValueError(f"step {step}: these are the weights of a single step; pass the run they come from")
    if (heads := source.by_head("W_Q").shape[1]) > 1:
        raise ValueError(f"attention is shown for one head a layer, and this network has {heads}")
    tokens = problem.tokens()
    with torch.no_grad():
        patterns = trace(source, tokens[None]).pattern[0]
    if not patterns.isfinite().all():
        raise ValueError("the attention of this network is not finite; its weights are damaged or far too large")
    return patterns, problem.task.names(tokens)


def attention_figure(patterns: Tensor, names: Sequence[str], annotate_above: float = 0.15) -> Figure:
    """Draw the attention patterns (layer, query, key) of one problem, one layer below the other.

    A weight of `annotate_above` or more also stands in its cell, in percent; what a query may not read is grey.
    """
    size = 4, 3.9 * len(patterns)
    figure, panels = plt.subplots(len(patterns), figsize=size, layout="constrained", squeeze=False)
    plt.close(figure)  # a notebook shows it because the cell returns it, and only once
    for layer, (pattern, axes) in enumerate(zip(patterns, panels[:, 0]), start=1):
        future = torch.ones_like(pattern).triu(1).bool()
        axes.set_facecolor("0.9")
        shown = pattern.masked_fill(future, torch.nan).float().numpy()
        axes.imshow(shown, cmap="Blues", vmin=0, vmax=2)  # pale below the numbers
        for query, key in ((~future) & (pattern >= annotate_above)).nonzero().tolist():
            axes.text(key, query, f"{100 * pattern[query, key]:.0f}", ha="center", va="center")
        axes.set(title=f"layer {layer}", xlabel="key (token that is read)", ylabel="query (token that reads)")
        name_cells(axes, names, names)
        axes.tick_params(axis="x", rotation=90)
    return figure


def attention_in_words(patterns: Tensor, names: Sequence[str]) -> str:
    """Say what the last token reads most in each layer, for those who cannot see the picture."""
    layers = []
    for layer, pattern in enumerate(patterns, start=1):
        weights, keys = pattern[-1].topk(3)
        reads = ", ".join(f"{names[key]} at position {key} ({weight:.2f})" for weight, key in zip(weights, keys.tolist()))
        layers.append(f"in layer {layer}, {names[-1]} reads most {reads}")
    return f"Attention of both layers to {' '.join(names)}: {'; '.join(layers)}."


def attention_view(source: Run | Weights, problem: Problem | str, step: int | None = None, caption: str = READING) -> HTML:
    """Show both layers' attention on one problem: point at a cell to read its weight.

    A live kernel draws it with CircuitsVis, the site with a table of its own, which keys and screen readers reach.
    Takes and raises what `attention` does.  Where scripts are off, the output is `attention_figure`.
    """
    patterns, names = attention(source, problem, step)
    alt = attention_in_words(patterns, names)
    data = {"attention": _rounded(patterns), "tokens": names}
    figure = figure_element("attention-view", picture_of(attention_figure(patterns, names), alt), "", caption, data)
    return HTML(figure if is_static() else figure + _live_scripts())


def _rounded(patterns: Tensor) -> list[list[list[float]]]:
    return [[[round(weight, 4) for weight in row] for row in pattern] for pattern in patterns.tolist()]


def circuitsvis_script() -> str:
    """The browser code of the installed CircuitsVis, in this book's words and fit to stand in a script element."""
    script = (files("circuitsvis") / "dist" / "cdn" / "iife.js").read_text("utf-8")
    for theirs, ours in WORDING.items():
        script = script.replace(theirs, ours)
    return script.replace("</script", r"<\/script")


def _live_scripts() -> str:
    """All that draws an attention view: an output in Colab sees neither the site nor other outputs."""
    return f"<script>{circuitsvis_script()}{(files(__package__) / 'circuitsvis.js').read_text('utf-8')}</script>"
