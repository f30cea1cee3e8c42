"""Things to move: elements of a page in which the reader turns, drags and switches; no kernel stands behind them."""

import html
import json
from string import ascii_lowercase, digits

import torch
from IPython.display import HTML
from matplotlib.figure import Figure

from ..analysis.fourier import key_frequencies, number_table
from ..model import Weights
from ..model import run as forward
from ..task import STUDY, Problem
from ..training import Run
from . import figures
from .explorer import live, packed
from .page import data_element, img_element, is_static, picture_of

# of each element its modules, each after what it imports
MODULES = {
    "the-flow": (
        *("elements", "chance", "network", "problem", "interventions", "shelf", "explorable"),
        *("arrows", "flow"),
    ),
    "nine-clocks": ("elements", "network", "shelf", "explorable", "adder", "clocks"),
}


LIKELIEST = 5  # answers, of which a pass says how likely they are


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


def one_pass(weights: Weights, problem: Problem) -> dict:
    """What a network does on a problem, as a page is handed it: attention, the likeliest answers, active neurons.

    `layers` holds for each layer {query: weights (key,)} of each token but PAD, in layer 2 of the last alone; `odds` holds
    (answer, odds); both count in thousandths.  `neurons` has a digit to base 36 for each: its activation, 35 for the largest.
    """
    tokens = problem.tokens()
    with torch.no_grad():
        seen = forward(weights.to(torch.float), tokens[None])
    patterns = [seen[f"blocks.{layer}.attn.hook_pattern"][0, 0].mul(1000).round().int().tolist() for layer in (0, 1)]
    queries = [query for query, token in enumerate(tokens.tolist()) if token != problem.task.pad]
    layers = [{query: patterns[0][query][: query + 1] for query in queries}, {queries[-1]: patterns[1][-1]}]
    odds, answers = seen.logits[0].softmax(0).topk(LIKELIEST)
    active = seen["blocks.1.mlp.hook_post"].flatten()
    levels = (35 * active / active.max().clamp(min=1e-9)).round().int().tolist()
    thousandths = odds.mul(1000).round().int().tolist()
    neurons = "".join((digits + ascii_lowercase)[level] for level in levels)
    return {"layers": layers, "odds": list(zip(answers.tolist(), thousandths)), "neurons": neurons}


def the_flow(
    run: Run,
    problem: Problem | str = "c=1, b=17, a=42, b+19=?",
    caption: str = "Who attends to whom on your problem, in the trained network: an arrow is as thick as the attention it draws.",
) -> HTML:
    """What flows where in a network of the study's task on a problem that the reader may change, with arrows to cut."""
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    if run.task != STUDY:
        raise ValueError("the flow is drawn in the study's task only")
    seen = one_pass(run.weights(), problem)
    names = problem.task.names(problem.tokens())
    still = figures.flow(names, seen["layers"], seen["odds"])
    given = json.dumps(seen, separators=(",", ":"))
    return explorable("the-flow", still, _flow_in_words(names, seen), caption, run, problem=str(problem), **{"pass": given})


def _flow_in_words(names: list[str], seen: dict) -> str:
    """Who attends to whom, and what the network says."""
    last, reads = len(names) - 1, []
    numbers = [query for query in seen["layers"][0] if query < names.index("+") and names[query].isdigit()]
    for layer, query in (*((1, number) for number in numbers), (1, last), (2, last)):
        row = seen["layers"][layer - 1][query]
        most = sorted(range(len(row)), key=lambda key: -row[key])[:2]
        read = " and ".join(f"{names[key]} ({row[key] / 1000:.2f})" for key in most)
        reads.append(f"in layer {layer}, {names[query]} to {read}")
    return f"Arrows of attention on {' '.join(names)}: {'; '.join(reads)}. The network says {seen['odds'][0][0]}."
