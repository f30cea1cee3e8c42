"""Things to move: elements of a page in which the reader turns, drags and switches; no kernel stands behind them."""

import html

import torch
from IPython.display import HTML
from matplotlib.figure import Figure

from ..analysis.fourier import key_frequencies, number_table
from ..training import Run
from . import figures
from .explorer import live, packed
from .page import data_element, img_element, is_static, picture_of

# of each element its modules, each after what it imports
MODULES = {
    "nine-clocks": ("elements", "network", "shelf", "explorable", "adder", "clocks"),
}


def explorable(tag: str, still: Figure, alt: str, caption: str, run: Run, step: int | None = None, **settings) -> HTML:
    """One element with its settings, and the weights of a run at a step, by default the last.

    `still` stands in its place on paper and until scripts run.  On the site the weights are fetched; a notebook gets them.
    """
    step = run.steps[-1] if step is None else step
    attributes = "".join(
        f' {name}="{html.escape(_said(value))}"' for name, value in {"run": run.name, "step": step, **settings}.items()
    )
    data = "" if is_static() else data_element({run.name: {step: packed(run.weights(step).to(torch.half).tensors())}})
    figure = (
        f'<figure class="explorer-view explorable"><{tag}{attributes}>{img_element(picture_of(still, alt))}{data}</{tag}>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )
    return HTML(figure if is_static() else figure + live(MODULES[tag], "explorable"))


def _said(value) -> str:
    return str(value) if isinstance(value, str | int | float) else " ".join(map(str, value))


def nine_clocks(
    run: Run, x: int = 17, y: int = 19, caption: str = "Turn x and y; then look for an answer that all clocks vote for."
) -> HTML:
    """A clock for each key frequency of a network's adder, with hands for two numbers and their sum."""
    ks, N = key_frequencies(number_table(run.weights())), run.config.task.n_numbers
    alt = (
        f"{len(ks)} clocks, of the frequencies {', '.join(map(str, ks))}. On each a hand for x = {x}, one for y = {y}, and one "
        f"for their sum, {(x + y) % N}: as far round as the two others together."
    )
    return explorable("nine-clocks", figures.clocks(N, ks, x, y), alt, caption, run, ks=ks, x=x, y=y)
