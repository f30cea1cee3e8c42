"""Things to move: elements of a page in which the reader turns, drags and switches; no kernel stands behind them."""

import html
import itertools
import json
from collections.abc import Mapping, Sequence
from string import ascii_lowercase, digits
from typing import NamedTuple

import torch
from IPython.display import HTML
from matplotlib.figure import Figure

from .. import handmade
from ..analysis.fourier import amplitudes_and_phases, keep, key_frequencies, number_table, pair_accuracy, pair_logits, spectrum
from ..analysis.interventions import Recovery, answers, attend_in_layer_2, output_of, patched, variables_read
from ..model import Weights
from ..model import run as forward_pass
from ..sampling import Population, forms
from ..task import KINDS, Problem, Task
from ..training import Run
from . import figures
from .explorer import BY_HAND, live, packed, refuse_others
from .page import data_element, img_element, is_static, picture_of

# of each element its modules, each after what it imports
MODULES = {
    "the-flow": (
        *("elements", "chance", "network", "problem", "interventions", "shelf", "explorable"),
        *("passes", "arrows", "flow"),
    ),
    "learning-film": (
        *("elements", "chance", "network", "problem", "interventions", "shelf", "explorable"),
        *("passes", "arrows", "film"),
    ),
    "nine-clocks": ("elements", "network", "shelf", "explorable", "adder", "clocks"),
    "name-badges": ("elements", "chance", "network", "problem", "shelf", "explorable", "carry", "badges"),
    "transplant-bench": ("elements", "chance", "network", "problem", "shelf", "explorable", "bench"),
    "set-weights": ("elements", "chance", "network", "problem", "shelf", "explorable", "byhand"),
    "clock-board": ("elements", "network", "shelf", "explorable", "adder", "canvas", "board"),
    "neuron-wall": ("elements", "network", "shelf", "explorable", "adder", "canvas", "tiles", "votes", "wall"),
}


LIKELIEST = 5  # answers, of which a pass says how likely they are


def explorable(tag: str, still: Figure, alt: str, caption: str, run: Run | Weights, step: int | None = None, **settings) -> HTML:
    """One element with its settings, and the weights of a run at a step, by default the last, or those written by hand.

    `still` stands in its place on paper and until scripts run.  On the site the weights are fetched; a notebook gets them.
    """
    if isinstance(run, Weights):
        name, step, weights = BY_HAND, 0, run
    else:
        name, step = run.name, run.steps[-1] if step is None else step
        weights = run.weights(step)
    data = "" if is_static() else data_element({name: {step: packed(weights.to(torch.half).tensors())}})
    return _element(tag, still, alt, caption, data, {"run": name, "step": step, **settings})


def _element(tag: str, still: Figure, alt: str, caption: str, data: str, settings: Mapping) -> HTML:
    """One element with its still picture, its data and its settings."""
    attributes = "".join(f' {name}="{html.escape(_said(value))}"' for name, value in settings.items())
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


def one_pass(weights: Weights, problem: Problem) -> dict:
    """What a network does on a problem, as a page is handed it: attention, the likeliest answers, active neurons.

    `layers` holds for each layer {query: weights (key,)} of each token but PAD, in layer 2 of the last alone; `odds` holds
    (answer, odds); both count in thousandths.  `neurons` has a digit to base 36 for each: its activation, 35 for the largest.
    """
    tokens = problem.tokens()
    with torch.no_grad():
        seen = forward_pass(weights.to(torch.float), tokens[None])
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
    refuse_others(run)
    problem = Problem.parse(problem) if isinstance(problem, str) else problem
    seen = one_pass(run.weights(), problem)
    names = problem.task.names(problem.tokens())
    still = figures.flow(names, seen["layers"], seen["odds"])
    given = json.dumps(seen, separators=(",", ":"))
    return explorable("the-flow", still, _flow_in_words(names, seen), caption, run, problem=str(problem), **{"pass": given})


def learning_film(
    run: Run,
    problems: Sequence[str] = ("c=1, b=17, a=42, b+19=?", "k=5, c=20, 30+k=?"),
    steps: Sequence[int] = (),
    caption: str = "Move through training: how many answers are right, and who attends to whom on one problem.",
) -> HTML:
    """A film of a run of the study's task: accuracies, and what flows where on problems at kept steps, by default at all."""
    refuse_others(run)
    steps, asked = list(steps or run.steps), [Problem.parse(text) for text in problems]
    curves = {kind: run.metrics[f"{kind} train"] for kind in ("0-var", "1-var", "2-var")}
    data = {
        "steps": steps,
        "measured": run.metrics.index.tolist(),
        "curves": {kind: curve.mul(1000).round().astype(int).tolist() for kind, curve in curves.items()},
        "problems": list(map(str, asked)),
        "frames": [[one_pass(run.weights(step), problem) for step in steps] for problem in asked],
    }
    names = asked[0].task.names(asked[0].tokens())
    frames = {steps[at]: data["frames"][0][at] for at in (len(steps) // 5, len(steps) - 1)}
    still = figures.film(curves, names, {step: (frame["layers"], frame["odds"]) for step, frame in frames.items()})
    says = "; ".join(f"at step {step} the network says {frame['odds'][0][0]}" for step, frame in frames.items())
    alt = f"Accuracies over the steps of training, and arrows of attention on {asked[0]}: {says}."
    return _element("learning-film", still, alt, caption, data_element(data), {})


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
    alt = f"The numbers of {problem} as cards: {wears}. Of the attention of =, {pays}. The answer is {seen.answers.item()}."
    asked = [each for each in (problem.left, problem.right) if isinstance(each, str)]
    return explorable("name-badges", figures.badges(numbers, badges, asked, shares), alt, caption, run, problem=problem)


def transplant_bench(
    run: Run,
    problem: str = "c=1, b=17, a=42, b+19=?",
    others: Mapping[str, str] = {
        "another value": "c=1, b=30, a=42, b+19=?",
        "other names": "b=1, c=17, a=42, b+19=?",
        "another letter asked": "c=1, b=17, a=42, c+19=?",
        "another typed number": "c=1, b=17, a=42, b+30=?",
    },
    caption: str = "Choose a socket: A gets what the network holds there on B. What will A answer? Where does the difference go?",
) -> HTML:
    """Activation patching by hand: what a network holds on one of `others`, by name, is put into its pass on `problem`."""
    base, pairs = Problem.parse(problem), {name: Problem.parse(other) for name, other in others.items()}
    name, other = next(iter(pairs.items()))
    places, recovered = carried(run.weights(), base, other)
    names = [[run.task.names(each.tokens())[place] for place in places] for each in (base, other)]
    found = "; ".join(f"{row}, {_most(shares, names[0][-len(shares) :])}" for row, shares in recovered.items())
    alt = f"What {other} leaves in the network is put into {base}, socket by socket. Of the logit difference there come: {found}."
    listed = "; ".join(f"{name}: {other}" for name, other in pairs.items())
    return explorable("transplant-bench", figures.bench(names, recovered), alt, caption, run, problem=base, others=listed)


def _most(shares: Sequence[float], names: Sequence[str]) -> str:
    """The shares that are not nearly zero, in words, each with the name of its place."""
    return ", ".join(f"{share:.0%} at {name}" for share, name in zip(shares, names) if abs(share) > 0.03) or "nothing"


@torch.no_grad()
def carried(weights: Weights, base: Problem, other: Problem) -> tuple[list[int], dict[str, list[float]]]:
    """The positions of `base` without PAD, and by site the recovered logit differences of activation patching from `other`."""
    task, (there, here) = weights.task, (each.tokens()[None] for each in (other, base))
    places = [place for place in range(task.length) if here[0, place] != task.pad]
    sites = {"tokens": "hook_embed", "layer 1's output": output_of(1)}
    last = {"what = holds": "blocks.1.hook_resid_mid", "neurons": "blocks.1.mlp.hook_post"}
    shares = dict(zip([*sites, *last], patched(weights, there, here, [*sites.values(), *last.values()])[0]))
    attention = attend_in_layer_2(forward_pass(weights, there).attention(2)[:, -1])
    rows = {row: shares[row][places].tolist() for row in sites}
    rows["layer 2's attention"] = Recovery(weights, there, here)(attention).tolist()
    return places, rows | {row: [shares[row][task.last].item()] for row in last}


class Knob(NamedTuple):
    """A block of W_Q of one layer, from 1 on, that a reader makes weaker or stronger: its first row and column, and the ends."""

    name: str
    layer: int
    rows: tuple[int, int]
    columns: tuple[int, int]


def knobs(task: Task) -> list[Knob]:
    """What the network written by hand reads by, each a block of its scores."""
    at = handmade.residual_blocks(task=task)
    place, moved, mark = ((at[name].start, at[name].stop) for name in ("position", "moved", "is number"))
    equal = (place[1] - 1, place[1])
    return [
        Knob("Layer 1: a number reads the letter before it", 1, (place[0], place[1] - 1), place),
        Knob("Layer 1: = reads both operands", 1, equal, place),
        Knob("Layer 2: = looks where the operands stand", 2, equal, place),
        Knob("Layer 2: = looks for the letters it has read", 2, moved, moved),
        Knob("Layer 2: = looks for numbers", 2, equal, mark),
    ]


def turned(weights: Weights, strengths: Mapping[Knob, float]) -> Weights:
    """The same weights with the block of each knob multiplied by its strength."""
    W_Q = weights.W_Q.clone()
    for knob, strength in strengths.items():
        W_Q[knob.layer - 1, slice(*knob.rows), slice(*knob.columns)] *= strength
    return weights.replace(W_Q=W_Q)


def set_weights(
    size: int = 500,
    caption: str = "A network written by hand, with its attention off. Turn it up, part by part. When do all sums come right?",
) -> HTML:
    """The network written by hand with a knob for each thing that its attention reads by, asked `size` problems of all kinds."""
    weights = handmade.weights()
    all_knobs = knobs(weights.task)
    *names, places, match, _ = all_knobs
    settings = {"all off": [], "places": [places], "letters": [*names, match], "both": all_knobs}
    rows = {
        name: by_kind(turned(weights, {knob: float(knob in on) for knob in all_knobs}), size) for name, on in settings.items()
    }
    alt = "Accuracy of the network written by hand by kind of sum. " + "; ".join(
        f"{name}: " + ", ".join(f"{kind} {share:.0%}" for kind, share in shares.items()) for name, shares in rows.items()
    )
    listed = json.dumps([knob._asdict() for knob in all_knobs])
    return explorable("set-weights", figures.by_kind(rows), alt + ".", caption, weights, knobs=listed, size=size)


@torch.no_grad()
def by_kind(weights: Weights, size: int) -> dict[str, float]:
    """The accuracy on each of `KINDS`, of `size` problems drawn by the law of training, though of all pairs of numbers."""
    task, generator = weights.task, torch.Generator().manual_seed(0)
    pairs, letters, found = torch.ones(task.n_numbers, task.n_numbers), range(task.n_variables), {}
    for kind, (right, left) in zip(KINDS, itertools.product((None, letters), repeat=2)):
        batch = Population(task, forms(task, left, right), pairs).sample(size, generator)
        found[kind] = (answers(weights, batch.tokens) == batch.answers).float().mean().item()
    return found


def clock_board(
    run: Run,
    x: int = 17,
    y: int = 19,
    caption: str = "Each switch is a clock. A cell is filled where the adder, with these clocks alone, gets x + y right. "
    "How few will do?",
) -> HTML:
    """Switches for the key frequencies of a network's adder, and a board of the sums that it gets right with these alone."""
    w = run.weights()
    h, out, ks = number_table(w) @ w.W_in, w.W_out @ w.W_U, key_frequencies(number_table(w))
    strongest = sorted(ks, key=lambda k: -spectrum(h)[k])
    right, shares = {}, []
    for many in sorted({1, min(3, len(ks)), min(5, len(ks)), len(ks)}):
        part = keep(h, [0, *strongest[:many]])
        logits = pair_logits(part, part, out)
        sums = torch.arange(len(h))
        right["1 clock" if many == 1 else f"{many} clocks"] = logits.argmax(2) == (sums[:, None] + sums) % len(h)
        shares.append(f"{pair_accuracy(logits):.1%}")
    alt = (
        f"Boards of all sums x + y. The adder gets {', '.join(shares)} of them right with {', '.join(right)}, "
        f"the strongest first, of the frequencies {', '.join(map(str, strongest))}."
    )
    return explorable("clock-board", figures.boards(right), alt, caption, run, ks=ks, x=x, y=y)


def neuron_wall(
    run: Run,
    x: int = 17,
    y: int = 19,
    caption: str = "Each tile is a neuron, over all x and y. Move x and y: active ones light up and vote. "
    "How many groups can you silence before the answer falls?",
) -> HTML:
    """All neurons of a network's adder over all pairs (x, y), by frequency, and their votes for the answer to one pair."""
    h = number_table(run.weights()) @ run.weights().W_in  # (N, neurons)
    amplitudes = amplitudes_and_phases(h)[0]  # (frequency, neurons)
    best, strongest = amplitudes[1:].argmax(0) + 1, amplitudes[1:].max(0).values.argsort(descending=True)
    groups = {k: strongest[best[strongest] == k] for k in sorted(set(best.tolist()))}
    tiles = {k: (h[:, None, each] + h[:, each]).relu() for k, each in groups.items()}  # (x, y, neurons of the group)
    sizes = ", ".join(f"{k} with {len(each)} neurons" for k, each in groups.items())
    alt = f"Neurons of the adder, the strongest of each group, by activation over all x and y. The groups by frequency: {sizes}."
    return explorable("neuron-wall", figures.wall(tiles), alt, caption, run, x=x, y=y)
