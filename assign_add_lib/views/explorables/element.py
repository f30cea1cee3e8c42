"""What all things to move share: an element with its still picture, its settings and what it is handed."""

import html
from collections.abc import Mapping, Sequence

import torch
from IPython.display import HTML
from matplotlib.figure import Figure

from ...model import Weights
from ...task import Problem
from ...training import Run
from ..explorer import BY_HAND, live, packed
from ..page import data_element, img_element, is_static, picture_of

# of each element its modules, each after what it imports
ASKED = ("elements", "chance", "network", "problem", "interventions", "shelf", "explorable")
MODULES = {
    "the-flow": (*ASKED, "field", "passes", "arrows", "flow"),
    "learning-film": (*ASKED, "passes", "arrows", "film"),
    "nine-clocks": ("elements", "network", "shelf", "explorable", "adder", "clocks"),
    "name-badges": ("elements", "chance", "network", "problem", "shelf", "explorable", "field", "carry", "badges"),
    "transplant-bench": ("elements", "chance", "network", "problem", "shelf", "explorable", "bench"),
    "set-weights": ("elements", "chance", "network", "problem", "shelf", "explorable", "byhand"),
    "clock-board": ("elements", "network", "shelf", "explorable", "adder", "canvas", "board"),
    "neuron-wall": ("elements", "network", "shelf", "explorable", "adder", "canvas", "tiles", "votes", "wall"),
    "train-here": ("elements", "chance", "network", "shelf", "explorable", "adder", "trainer", "train_here"),
    "one-head": ("elements", "network", "shelf", "explorable", "one_head"),
    "is-it-new": ("elements", "chance", "network", "problem", "shelf", "explorable", "field", "is_it_new"),
    "worlds-fell": ("elements", "network", "shelf", "explorable", "worlds_fell"),
    "sum-graph": ("elements", "network", "shelf", "explorable", "sum_graph"),
    "module-pairs": ("elements", "network", "shelf", "explorable", "module_pairs"),
    "claim-board": ("elements", "network", "shelf", "explorable", "claims"),
    "break-it": ("elements", "chance", "network", "problem", "shelf", "explorable", "field", "descent", "break_it"),
    "one-step": ("elements", "network", "shelf", "explorable", "one_step"),
}


def explorable(
    tag: str,
    still: Figure,
    alt: str,
    caption: str,
    run: Run | Weights | None = None,
    step: int | None = None,
    data: Mapping | None = None,
    also: Sequence[Run] = (),
    **settings,
) -> HTML:
    """One element with its settings, and what it is handed: `data`, or the weights of a run at a step, by default the last.

    `also` are runs whose weights at that step a reader may ask instead.  `still` stands in its place on paper and until
    scripts run.  On the site weights are fetched; a notebook gets them.
    """
    held = "" if data is None else data_element(data)
    if run:
        by_hand = isinstance(run, Weights)
        name, step = (BY_HAND, 0) if by_hand else (run.name, run.steps[-1] if step is None else step)
        settings = {"run": name, "step": step, **settings}
        if not is_static():
            weights = {name: run if by_hand else run.weights(step)} | {each.name: each.weights(step) for each in also}
            held = data_element({name: {step: packed(each.to(torch.half).tensors())} for name, each in weights.items()})
    attributes = "".join(f' {key}="{html.escape(_said(value))}"' for key, value in settings.items())
    figure = (
        f'<figure class="explorer-view explorable"><{tag}{attributes}>{img_element(picture_of(still, alt))}{held}</{tag}>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )
    return HTML(figure if is_static() else figure + live(MODULES[tag], "explorable"))


def _said(value) -> str:
    return str(value) if isinstance(value, str | int | float | Problem) else " ".join(map(str, value))
