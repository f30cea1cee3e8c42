"""The algorithm of the book as an explicit causal model, and what holds it against the network.

The model has the variables `names`, `asked`, `places`, `numbers` and `sum`, each computed from those before it.  An interchange
intervention sets one of them to its value in another problem, in the model, and one site to its content there, in the network;
the share of problems in which the two then agree is the interchange-intervention accuracy (Geiger et al. 2021).
`scrubbed` resamples everything that the model calls irrelevant (after Chan et al. 2022).  Layers are counted from 1.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from ..model import Activations, Weights, read_out, trace
from ..sampling import write
from ..task import Split, Task
from .interventions import Hook, answers, at, attention_hook, pattern_hook, put


class Story(NamedTuple):
    """The values of the causal model's variables on problems; -1 stands for what is undefined."""

    names: Tensor  # (batch, slots) the variable, as token id, that the k-th assigned number is bound to
    asked: Tensor  # (batch, 2) the variable that each operand asks for; -1 for an operand that is a number
    places: Tensor  # (batch, 2) where the two numbers to add stand
    numbers: Tensor  # (batch, 2) these two numbers
    sum: Tensor  # (batch,) the answer


def assigned_positions(tokens: Tensor, task: Task) -> Tensor:
    """Positions (batch, slots) of the assigned numbers in their order; past the last of them, any others."""
    return (~task.assigned_numbers(tokens)).int().argsort(dim=1, stable=True)[:, : task.slots]


def story(tokens: Tensor, task: Task, **given: Tensor) -> Story:
    """Run the causal model on problems (batch, pos); a variable that is given is set to that, whatever the problem says.

    >>> from assign_add_lib import Problem
    >>> tokens = Problem.parse("c=1, b=17, b+19=?").tokens()[None]
    >>> story(tokens, Task()).sum, story(tokens, Task(), asked=torch.tensor([[64, -1]])).sum
    (tensor([36]), tensor([20]))
    """
    held, own = assigned_positions(tokens, task), torch.tensor([task.left, task.right], device=tokens.device)
    is_assigned = task.assigned_numbers(tokens).gather(1, held)
    names = given.get("names", torch.where(is_assigned, tokens.gather(1, (held - 1).clamp(min=0)), -1))
    question = tokens[:, own]
    asked = given.get("asked", torch.where(question < task.first_variable, -1, question))
    match = (names[:, None] == asked[..., None]) & (asked >= 0)[..., None]  # (batch, 2, slots)
    found = torch.where(match.any(2), held.gather(1, match.int().argmax(2)), -1)
    places = given.get("places", torch.where(asked < 0, own, found))
    read = torch.where(places < 0, task.pad, tokens.gather(1, places.clamp(min=0)))
    numbers = given.get("numbers", torch.where(read < task.n_numbers, read, -1))
    total = torch.where((numbers < 0).any(1), -1, numbers.sum(1) % task.n_numbers)
    return Story(names, asked, places, numbers, given.get("sum", total))


VARIABLES = ("names", "asked", "places", "left number", "sum")


def counterfactual(base: Tensor, source: Tensor, variable: str, task: Task) -> Tensor:
    """What the causal model answers (batch,) on `base` with one variable as it is in `source`; -1 where that is undefined."""
    there = story(source, task)
    if variable == "left number":
        here = story(base, task).numbers
        return story(base, task, numbers=torch.stack([there.numbers[:, 0], here[:, 1]], 1)).sum
    return story(base, task, **{variable: getattr(there, variable)}).sum


def pairs(split: Split, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Problems and their donors, token ids (size, length) each, on which all variables of the causal model can be told apart.

    The two have the same kind, 1-var or 2-var, and the same three or more variables assigned, and nothing else in common: order,
    layout, numbers and operands are drawn anew.  Every counterfactual answer is defined, and no two of them agree with each
    other or with the problem's own.  ValueError for a task too small for that.
    """
    task, found, short = split.task, [], size
    for _ in range(200):
        both = torch.stack(_drawn(split, 8 * size, generator))
        told = [task.right_answers(both[0]), *(counterfactual(*both, name, task) for name in VARIABLES)]
        told = torch.stack(told).sort(0).values
        found.append(both[:, (told[0] >= 0) & (told[1:] > told[:-1]).all(0)][:, :short])
        short -= found[-1].shape[1]
        if not short:
            return tuple(torch.cat(found, 1))
    raise ValueError(f"a task of {task.slots} slots and {task.n_numbers} numbers has too few problems that tell the variables apart")


def _drawn(split: Split, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Problems with the same variables assigned and of the same kind, otherwise independent; operands stand where they may."""
    task = split.task
    V, slots, least = task.n_variables, task.slots, min(3, task.slots, task.n_variables)

    def below(high, *shape):
        return (torch.rand(size, *shape, generator=generator) * high).long()

    n = least + below(min(slots, V) - least + 1, 1)
    variables = torch.rand(size, V, generator=generator).argsort(1)[:, :slots]
    kind = below(3, 1)  # 1-var left, 1-var right, 2-var
    tokens, allowed = [], torch.ones(size, dtype=torch.bool)
    for _ in range(2):
        order = (torch.rand(size, slots, generator=generator) + (torch.arange(slots) >= n)).argsort(1)
        here, numbers = variables.gather(1, order), below(task.n_numbers, slots)
        # the operands' slots; the variables are in random order, so the first two are as good as any
        turn = (torch.rand(size, slots, generator=generator) + (torch.arange(slots) >= n)).argsort(1)
        question = []
        for side, (name, constant) in enumerate((("left", 1), ("right", 0))):
            operand = here.gather(1, turn[:, side : side + 1])
            allowed &= ((kind == constant) | torch.isin(operand, torch.tensor(split.variables(name))))[:, 0]
            question.append(torch.where(kind == constant, below(task.n_numbers, 1), task.first_variable + operand))
        tokens.append(write(task, here, numbers, n, *question, generator))
    return tokens[0][allowed], tokens[1][allowed]


# sites: what the network holds where a variable of the model is thought to stand

Site = Callable[[Weights, Activations, Tensor, Tensor], list[Hook]]


def _stream_after_layer_1(there: Activations) -> Tensor:
    return there.resid_pre + there.attn_out[:, 0]


def _layer_1_at(*positions: str) -> Site:
    def site(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
        where = torch.stack([at(base, getattr(w.task, name)) for name in positions]).any(0)
        return [put(attention_hook(1), where, there.attn_out[:, 0])]

    return site


def _layer_1_at_numbers(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
    """The k-th assigned number gets what the k-th one of the source got, wherever the two stand."""
    width = (-1, -1, w.d_model)
    theirs = there.attn_out[:, 0].gather(1, assigned_positions(source, w.task)[..., None].expand(width))
    ours = assigned_positions(base, w.task)[..., None].expand(width)
    content = torch.zeros_like(there.resid_pre).scatter(1, ours, theirs)
    return [put(attention_hook(1), w.task.assigned_numbers(base), content)]


def _query(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
    query = _stream_after_layer_1(there)[:, w.task.last] @ w.W_Q[1]

    def act(held: Tensor, hook) -> Tensor:
        held = held.clone()
        held[:, w.task.last, 0] = query
        return held

    return [("blocks.1.attn.hook_q", act)]


def _pattern(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
    def act(held: Tensor, hook) -> Tensor:
        held = held.clone()
        held[:, 0, w.task.last] = there.pattern[:, 1, w.task.last]
        return held

    return [(pattern_hook(2), act)]


def _value_at(which: Callable[[Tensor, Task], Tensor]) -> Site:
    def site(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
        row = torch.arange(len(base), device=base.device)
        value = _stream_after_layer_1(there)[row, w.task.value_positions(source)[:, 0]] @ w.W_V[1]

        def act(held: Tensor, hook) -> Tensor:
            held = held.clone()
            held[row, which(base, w.task), 0] = value
            return held

        return [("blocks.1.attn.hook_v", act)]

    return site


def _left_place(tokens: Tensor, task: Task) -> Tensor:
    return task.value_positions(tokens)[:, 0]


def _unread_place(tokens: Tensor, task: Task) -> Tensor:
    """The first assigned number that is not to be added."""
    free = task.assigned_numbers(tokens).scatter(1, task.value_positions(tokens), False)
    return free.int().argmax(1)


def _attention_output(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
    return [put(attention_hook(2), at(base, w.task.last), there.attn_out[:, 1])]


def _mlp_output(w: Weights, there: Activations, base: Tensor, source: Tensor) -> list[Hook]:
    return [put("blocks.1.hook_mlp_out", at(base, w.task.last), there.mlp_out)]


# site -> the variable that the model says it holds ("nothing": a wrong site), and the intervention
SITES: dict[str, tuple[str, Site]] = {
    "layer 1's output at the assigned numbers": ("names", _layer_1_at_numbers),
    "layer 1's output at =": ("asked", _layer_1_at("last")),
    "layer 2's query at =": ("asked", _query),
    "layer 2's attention pattern at =": ("places", _pattern),
    "layer 2's value at the left number": ("left number", _value_at(_left_place)),
    "layer 2's attention output at =": ("sum", _attention_output),
    "the MLP's output at =": ("sum", _mlp_output),
    "wrong site: layer 1's output at +": ("nothing", _layer_1_at("room")),
    "wrong site: layer 1's output at 13 and 14": ("nothing", _layer_1_at("left", "right")),
    "wrong site: layer 2's value at a distractor": ("nothing", _value_at(_unread_place)),
}


@torch.no_grad()
def interchanged(lens, weights: Weights, base: Tensor, source: Tensor, site: str, donor: Tensor | None = None) -> Tensor:
    """The network's answers (batch,) on `base` with one site of `SITES` as it is on `source`, or on another `donor`."""
    donor = source if donor is None else donor
    return answers(lens, base, SITES[site][1](weights, trace(weights, donor), base, donor))


@torch.no_grad()
def interchange_table(
    lens, weights: Weights, base: Tensor, source: Tensor, sites: Collection[str] = tuple(SITES), donor: Tensor | None = None
) -> pd.DataFrame:
    """Interchange-intervention accuracy of each site (rows) for each variable of the causal model (columns).

    An entry is the share of problems in which the network answers as the model does with this variable as in `source`; `nothing`
    is the share that keeps its own right answer.  With a `donor`, the site comes from there instead, and the table is a control.
    """
    task, rows = weights.task, {}
    told = {"nothing": task.right_answers(base), **{name: counterfactual(base, source, name, task) for name in VARIABLES}}
    for site in sites:
        given = interchanged(lens, weights, base, source, site, donor)
        rows[site] = {name: (given == expected).double().mean().item() for name, expected in told.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["nothing", *VARIABLES])
