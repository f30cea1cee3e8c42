"""Views a reader can play with, each with a form for the static page.

Where the environment says ASSIGN_ADD_RENDER=static, as when the book is executed, an output is small: its data,
a picture, and nothing that runs; the site's own scripts bring it to life.  In a live kernel (Jupyter, Colab) an output
carries all that it needs.
"""

import base64
import html
import io
import json
import os
from collections.abc import Callable, Sequence
from importlib.resources import files

import matplotlib.pyplot as plt
import torch
from IPython.display import HTML
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from .model import Weights, run
from .task import STUDY, Problem

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


def attention(source, problem: Problem | str, step: int | None = None) -> tuple[Tensor, list[str]]:
    """Attention patterns (layer, query, key) on one problem, and the names of its tokens.

    `source` is a `Run`, whose weights at `step` are used (the last where None), or a `Weights`.
    Raises ValueError for a bad problem, an unknown step, or a step asked of a `Weights`.
    """
    if isinstance(problem, str):
        problem = Problem.parse(problem, getattr(source, "task", STUDY))
    if not isinstance(source, Weights):
        source = source.weights(step)
    elif step is not None:
        raise ValueError(f"step {step}: these are the weights of a single step; pass the run they come from")
    tokens = problem.tokens()
    with torch.no_grad():
        return run(source, tokens[None]).pattern[0], problem.task.names(tokens)


def attention_figure(patterns: Tensor, names: Sequence[str], annotate_above: float = 0.1) -> Figure:
    """Draw the attention patterns (layer, query, key) of one problem side by side.

    A weight of `annotate_above` or more also stands in its cell as a number; what a query may not read is grey.
    """
    figure, panels = plt.subplots(1, len(patterns), figsize=(7.2, 4.2), sharey=True, layout="constrained")
    plt.close(figure)  # a notebook shows it because the cell returns it, and only once
    places = range(len(names))
    for layer, (pattern, axes) in enumerate(zip(patterns, panels), start=1):
        future = torch.ones_like(pattern).triu(1).bool()
        axes.set_facecolor("0.9")
        axes.imshow(pattern.masked_fill(future, torch.nan).numpy(), cmap="Blues", vmin=0, vmax=1)
        for query, key in ((~future) & (pattern >= annotate_above)).nonzero().tolist():
            weight = float(pattern[query, key])
            shown = f"{weight:.2f}".removeprefix("0") if weight < 0.995 else "1"
            axes.text(key, query, shown, ha="center", va="center", fontsize=6, color="white" if weight > 0.6 else "black")
        axes.set_title(f"layer {layer}")
        axes.set_xlabel("key (token that is read)")
        axes.set_xticks(places, names, rotation=90, fontsize=8)
        axes.set_yticks(places, names, fontsize=8)
        axes.tick_params(length=0)
        if layer == 1:
            axes.set_ylabel("query (token that reads)")
    return figure


def attention_in_words(patterns: Tensor, names: Sequence[str]) -> str:
    """Say what the last token reads most in each layer, for those who cannot see the picture."""
    layers = []
    for layer, pattern in enumerate(patterns, start=1):
        weights, keys = pattern[-1].topk(3)
        reads = ", ".join(f"{names[key]} at position {key} ({weight:.2f})" for weight, key in zip(weights, keys.tolist()))
        layers.append(f"in layer {layer}, {names[-1]} reads most {reads}")
    return f"Attention of both layers to {' '.join(names)}: {'; '.join(layers)}."


def attention_view(source, problem: Problem | str, step: int | None = None, caption: str = READING) -> HTML:
    """Show both layers' attention on one problem with CircuitsVis: point at a cell to read its weight.

    Takes and raises what `attention` does.  Where scripts are off, the output is `attention_figure`.
    """
    patterns, names = attention(source, problem, step)
    alt = attention_in_words(patterns, names)
    data = {"attention": [[_rounded(row) for row in pattern] for pattern in patterns.tolist()], "tokens": names}
    figure = _figure("attention-view", _picture(attention_figure(patterns, names), alt), "", caption, data)
    return HTML(figure if _static() else figure + _live_scripts())


def step_slider(
    draw: Callable[[int], Figure],
    steps: Sequence[int],
    caption: str,
    alt: str | Callable[[int], str],
    name: str = "step",
):
    """Show `draw(step)` at the step that a slider picks, the last one first.

    In a live kernel an ipywidgets slider draws each figure as it is asked for.  On the static page they are drawn
    beforehand, 10 to 20 kB each, and a range input picks one.  `alt` says what is seen, at each step if it is
    callable.  Raises ValueError without steps.
    """
    steps = list(steps)
    if not steps:
        raise ValueError("a slider needs at least one step")

    def frame(step):
        return _picture(draw(step), alt(step) if callable(alt) else f"{alt} ({name} {step})")

    if not _static():
        return _live_slider(frame, steps, caption, name)
    frames = [{"value": str(step), **frame(step)} for step in steps]
    last, shown = len(steps) - 1, html.escape(frames[-1]["value"])
    control = (
        f'<div class="control"><label>{html.escape(name)} <input type="range" min="0" max="{last}" value="{last}" '
        f'aria-valuetext="{shown}" autocomplete="off"></label> <output>{shown}</output></div>'
    )
    return HTML(_figure("step-slider", frames[-1], control, caption, frames))


def attention_slider(source, problem: Problem | str, steps: Sequence[int], caption: str = READING):
    """Show both layers' attention on one problem, at each of these steps of a run, behind a slider.

    Raises what `attention` and `step_slider` do.
    """
    return step_slider(
        lambda step: attention_figure(*attention(source, problem, step)),
        steps,
        caption,
        lambda step: f"Step {step}. {attention_in_words(*attention(source, problem, step))}",
    )


def _static() -> bool:
    """Whether outputs are for the static page."""
    return os.environ.get("ASSIGN_ADD_RENDER") == "static"


def _rounded(row: list[float]) -> list[float]:
    return [round(weight, 3) for weight in row]


def _picture(figure: Figure, alt: str) -> dict:
    """Draw a figure as the attributes of an img element; a lossless 64-colour WebP is the smallest that stays sharp."""
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=150)
    plt.close(figure)
    image = Image.open(raw).convert("RGB").quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    image.convert("RGB").save(packed, format="WEBP", lossless=True)
    source = "data:image/webp;base64," + base64.b64encode(packed.getvalue()).decode()
    return {"alt": alt, "src": source, "width": image.width, "height": image.height}


def _img(picture: dict) -> str:
    """The img element of a picture, as wide as its column at most."""
    attributes = (f'{name}="{html.escape(str(picture[name]))}"' for name in ("alt", "src", "width", "height"))
    return f'<img {" ".join(attributes)} style="max-width: 100%; height: auto; background: white">'


def _figure(kind: str, picture: dict, control: str, caption: str, data) -> str:
    """One figure element: a picture, what moves it, a caption, and the data from which scripts redraw it."""
    # a token such as "</script>" must not end the script element
    held = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure class="{kind}"><div class="view">{_img(picture)}</div>{control}'
        f'<figcaption>{html.escape(caption)}</figcaption><script type="application/json">{held}</script></figure>'
    )


def circuitsvis_script() -> str:
    """The browser code of the installed CircuitsVis, in this book's words and fit to stand in a script element."""
    script = (files("circuitsvis") / "dist" / "cdn" / "iife.js").read_text("utf-8")
    for theirs, ours in WORDING.items():
        script = script.replace(theirs, ours)
    return script.replace("</script", r"<\/script")


def _live_scripts() -> str:
    """All that draws an attention view: an output in Colab sees neither the site nor other outputs."""
    return f"<script>{circuitsvis_script()}{(files(__package__) / 'explore.js').read_text('utf-8')}</script>"


def _live_slider(frame: Callable[[int], dict], steps: list[int], caption: str, name: str):
    """The slider of a live kernel."""
    import ipywidgets

    slider = ipywidgets.SelectionSlider(options=steps, value=steps[-1], description=name, continuous_update=False)
    view = ipywidgets.HTML()

    def show(_=None):
        view.value = _img(frame(slider.value))

    slider.observe(show, "value")
    show()
    return ipywidgets.VBox([slider, view, ipywidgets.HTML(html.escape(caption))])
