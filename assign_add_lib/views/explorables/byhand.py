"""The network written by hand, with a knob for each thing that its attention reads by."""

import itertools
import json
from collections.abc import Mapping
from typing import NamedTuple

import torch
from IPython.display import HTML

from ... import handmade
from ...analysis.interventions import answers
from ...model import Weights
from ...sampling import Population, forms
from ...task import KINDS, Task
from .. import figures
from .element import explorable


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


def strengthened(weights: Weights, strengths: Mapping[Knob, float]) -> Weights:
    """The same weights with the block of each knob multiplied by its strength."""
    W_Q = weights.W_Q.clone()
    for knob, strength in strengths.items():
        W_Q[knob.layer - 1, slice(*knob.rows), slice(*knob.columns)] *= strength
    return weights.replace(W_Q=W_Q)


def set_weights(
    size: int = 500,
    caption: str = "A network written by hand, its scores all 0. Turn them up, part by part. When do all sums come right?",
) -> HTML:
    """The network written by hand with a knob for each thing that its attention reads by, asked `size` problems of all kinds."""
    weights = handmade.weights()
    all_knobs = knobs(weights.task)
    *names, places, match, _ = all_knobs
    settings = {"all off": [], "places": [places], "letters": [*names, match], "both": all_knobs}
    rows = {
        name: by_kind(strengthened(weights, {knob: float(knob in on) for knob in all_knobs}), size)
        for name, on in settings.items()
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
