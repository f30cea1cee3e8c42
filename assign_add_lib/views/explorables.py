"""Things to move: elements of a page in which the reader turns, drags and switches; no kernel stands behind them."""

import html
import inspect
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from IPython.display import HTML
from matplotlib.figure import Figure
from torch import Tensor

from .. import handmade
from ..analysis.fourier import amplitudes_and_phases, keep, key_frequencies, number_table, pair_accuracy, pair_logits, spectrum
from ..analysis.interventions import Recovery, answers, attend_in_layer_2, output_of, patched, variables_read
from ..model import Weights
from ..model import run as forward_pass
from ..sampling import Population, forms
from ..task import KINDS, Problem, Task
from ..theory import Setting, balance, coordinates, exact, sweeps
from ..training import Run
from . import figures, small_adder
from .explorer import BY_HAND, live, packed
from .page import data_element, img_element, is_static, picture_of

# of each element its modules, each after what it imports
MODULES = {
    "nine-clocks": ("elements", "network", "shelf", "explorable", "adder", "clocks"),
    "name-badges": ("elements", "chance", "network", "problem", "shelf", "explorable", "carry", "badges"),
    "transplant-bench": ("elements", "chance", "network", "problem", "shelf", "explorable", "bench"),
    "set-weights": ("elements", "chance", "network", "problem", "shelf", "explorable", "byhand"),
    "clock-board": ("elements", "network", "shelf", "explorable", "adder", "canvas", "board"),
    "neuron-wall": ("elements", "network", "shelf", "explorable", "adder", "canvas", "tiles", "votes", "wall"),
    "train-here": ("elements", "chance", "network", "shelf", "explorable", "adder", "trainer", "train_here"),
    "one-step": ("elements", "network", "shelf", "explorable", "one_step"),
}


def explorable(
    tag: str, still: Figure, alt: str, caption: str, run: Run | Weights | None = None, step: int | None = None, **settings
) -> HTML:
    """One element with its settings, and the weights that it shows, if any: of a run, by default at its last step, or by hand.

    `still` stands in its place on paper and until scripts run.  On the site the weights are fetched; a notebook gets them.
    """
    data = ""
    if run:
        name, step, weights = BY_HAND, 0, run
        if not isinstance(run, Weights):
            name, step = run.name, run.steps[-1] if step is None else step
            weights = run.weights(step)
        settings = {"run": name, "step": step, **settings}
        data = "" if is_static() else data_element({name: {step: packed(weights.to(torch.half).tensors())}})
    attributes = "".join(f' {key}="{html.escape(_said(value))}"' for key, value in settings.items())
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


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 9) + 0.0 for value in values.tolist()]


def train_here(
    p: int = 29,
    share: int = 80,
    decay: float = 1,
    caption: str = "Press Train: which line rises first? This adder has {width} dimensions and {neurons} neurons, where the "
    "book's network has {model} and {mlp}, and it learns nothing but sums.",
) -> HTML:
    """A small adder that the reader trains in the page on a share of all pairs modulo p, in percent, with a weight decay."""
    generator = torch.Generator().manual_seed(0)
    start, pairs = small_adder.untrained(p, generator), small_adder.pairs_of(p)
    seen = torch.rand(len(pairs), generator=generator).argsort().argsort() < share / 100 * len(pairs)
    history, (table, into, _) = small_adder.train(start, seen, decay, 500)
    new, power = history["new"], spectrum(table @ into)[1:]
    first = (history["seen"] == 1).idxmax()
    large = [str(k) for k, part in enumerate(power, 1) if part > 1.5 * power.mean()]
    alt = (
        f"Two curves over {len(history)} steps of training. All pairs that are seen in training are right after {first} steps, "
        f"when of the new pairs {new[first]:.0%} are; these rise later, to {new.iloc[-1]:.0%}. Below, bars for the frequencies "
        f"in what the neurons get: {', '.join(large)} stand out."
    )
    book = inspect.signature(Weights.init).parameters
    width, neurons = small_adder.WIDTH, small_adder.NEURONS
    caption = caption.format(width=width, neurons=neurons, model=book["d_model"].default, mlp=book["d_mlp"].default)
    settings = {"p": p, "share": share, "decay": decay, "seed": 1, "width": width, "neurons": neurons}
    return explorable("train-here", figures.growth(history, power), alt, caption, **settings)


def one_step(
    problem: str = "c=1, b=17, a=42, b+19=?",
    lam: float = 24.0,
    stride: float = 0.01,
    size: int = 1000,
    caption: str = "One gradient step in the theorem's simplified network. Lengthen it: the diagonal, the look-up, grows. "
    "When do answers come, and when do they go?",
) -> HTML:
    """One gradient step of the theorem's network, of any length, on one problem with a variable and on `size` others.

    The variable may stand on either side in training, the outputs are small, and an operand starts with the score `lam`.
    """
    setting = Setting(lam=lam, gamma=1e-11)
    task, at, asked = setting.task, coordinates(setting.task)["moved variable"], Problem.parse(problem)
    block = (setting.step_size * exact(setting))[at, at]
    lengths = [stride * i for i in range(round(1.5 * balance(setting) / stride) + 1)]
    right = sweeps.along(setting, lengths, sweeps.fresh_problems(size)["1-var"])
    scores, added = (each[0] for each in sweeps.scores_along(setting, asked.tokens()[None]))
    window = [balance(setting) * (1 + sign * math.log(2) / lam) for sign in (-1, 1)]
    best = max(range(len(right)), key=right.__getitem__)
    alt = (
        f"Left, a table of {len(block)} letters by {len(block)} after a step of length {lengths[best]:.2f}: each letter scores "
        f"{lengths[best] * block[0, 0]:.1f} for itself and {lengths[best] * block[0, 1].abs():.1f} for all others. Right, "
        f"accuracy over the length of the step: near zero but for a narrow peak of {right[best]:.2f} there."
    )
    x, y = asked.values
    settings = {
        "letters": [task.token_name(task.first_variable + v) for v in range(task.n_variables)],
        "tokens": task.names(asked.tokens()),
        "block": _rounded(block.flatten()),
        "scores": _rounded(scores),
        "added": _rounded(added),
        "right": right,
    }
    settings |= {"stride": stride, "window": window, "N": task.n_numbers, "x": x, "y": y}
    still = figures.look_up_peak(lengths[best] * block, settings["letters"], lengths, right)
    return explorable("one-step", still, alt, caption, **settings)
