"""Things to move: elements of a page in which the reader turns, drags and switches; no kernel stands behind them."""

import html

import torch
from IPython.display import HTML
from matplotlib.figure import Figure

from ..analysis.fourier import key_frequencies, number_table
from ..analysis.interventions import variables_read
from ..model import run as forward_pass
from ..task import Problem
from ..training import Run
from . import figures
from .explorer import live, packed
from .page import data_element, img_element, is_static, picture_of

# of each element its modules, each after what it imports
MODULES = {
    "nine-clocks": ("elements", "network", "shelf", "explorable", "adder", "clocks"),
    "name-badges": ("elements", "chance", "network", "problem", "shelf", "explorable", "badges"),
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
    return str(value) if isinstance(value, str | int | float | Problem) else " ".join(map(str, value))


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


def name_badges(
    run: Run,
    problem: Problem | str = "c=1, b=17, a=42, b+19=?",
    caption: str = "Drag a badge onto another number: the two exchange their badges. Which number will be added?",
) -> HTML:
    """The assigned numbers of a problem with the names that layer 1 notes at them, which the reader exchanges or blends."""
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    w, task, tokens = run.weights(), run.task, problem.tokens()[None]
    seen = forward_pass(w, tokens, whole=True)
    places = [place for place in range(task.length) if tokens[0, place] < task.n_numbers]
    read = variables_read(seen.attention(1), tokens, task)[0]  # (pos, V)
    badges = [task.variable_names[read[place].argmax()] if place < task.room else "" for place in places]
    numbers, shares = tokens[0, places].tolist(), seen.attention(2)[0, -1, places].tolist()
    wears = ", ".join(f"{number} wears {badge}" for number, badge in zip(numbers, badges) if badge)
    pays = ", ".join(f"{number} gets {share:.0%}" for number, share in zip(numbers, shares))
    alt = f"The numbers of {problem} as cards: {wears}. Of the attention of = in layer 2, {pays}. The answer is {seen.answers.item()}."
    asked = [each for each in (problem.left, problem.right) if isinstance(each, str)]
    return explorable("name-badges", figures.badges(numbers, badges, asked, shares), alt, caption, run, problem=problem)
