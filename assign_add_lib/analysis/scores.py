"""Scores: which part of an attention score finds the key that is attended to, in layer 1 and for `=` in layer 2.

A score is a sum, so it can be split by its key: into what the key's token and what its position brings in layer 1, and
into sources in layer 2 (`circuits.layer_2_terms`).  A change is added to the scores (`interventions.add_to_scores`).  A part
that is made constant over the keys is out of the choice, since the softmax forgets what is the same for all keys.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..circuits import layer_1_terms, layer_2_terms, qk_table, variable_identity
from ..model import Weights, trace
from ..task import Task


def number_table(weights: Weights) -> tuple[Tensor, Tensor]:
    """Layer-1 score of the average number at each place, for every token (room, d_vocab) and every place (room, room)."""
    task, S = weights.task, qk_table(weights)
    places = slice(task.d_vocab, task.d_vocab + task.room)
    table = S[: task.n_numbers].mean(0) + S[places]
    return table[:, : task.d_vocab], table[:, places]


def place_and_distance(position: Tensor) -> tuple[Tensor, Tensor]:
    """Split position scores (n, n) into a part of the key's place (n,) and a part of its distance from the query (n,).

    Least squares over the entries that a query after the first may see, beside a constant for each query, which the
    softmax forgets.  A straight line in the distance is, but for such a constant, one in the place: the place gets it.
    """
    n, dtype = len(position), position.dtype
    query, key = torch.tril_indices(n, n)[:, 1:]
    parts = torch.cat([one_hot(index, n) for index in (query, key, query - key)], 1).to(dtype)
    bent = torch.zeros(2, 3 * n, dtype=dtype)  # no level and no line for the distance
    bent[0, 2 * n :], bent[1, 2 * n :] = 1, torch.arange(n, dtype=dtype) - (n - 1) / 2
    left = torch.cat([parts, 1e3 * bent]).double()
    right = torch.cat([position[query, key], position.new_zeros(2)]).double()
    fitted = torch.linalg.lstsq(left, right[:, None], driver="gelsd").solution[:, 0].to(dtype)
    place = fitted[n : 2 * n]
    return place - place[0], fitted[2 * n :]


class Prices(NamedTuple):
    """What decides whom an assigned number reads, in units of the score."""

    variable: float  # by how much a variable's token leads PAD
    number: float  # by how much a number's token leads PAD; negative
    place: float  # what a key gains for each place that it stands further right


def prices(weights: Weights) -> Prices:
    """The three prices of an assigned number in layer 1: means over its places, and the slope over all keys but the last."""
    task, (token, position) = weights.task, number_table(weights)
    token = token[1:].mean(0)
    place = place_and_distance(position)[0][:-1]
    x = torch.arange(len(place), dtype=place.dtype) - (len(place) - 1) / 2
    variable, number = token[task.first_variable :].mean() - token[task.pad], token[: task.n_numbers].mean() - token[task.pad]
    return Prices(float(variable), float(number), float((x * place).sum() / (x * x).sum()))


def layer_1_changes(weights: Weights, tokens: Tensor) -> dict[str, Tensor]:
    """Changes (batch, query, key) of the layer-1 scores of assigned numbers, by what they take away or put in place.

    The *line* is the part of the key's place, the *straight line* its slope alone, the *wave* the part of the key's
    distance (`place_and_distance`).  *Not itself* keeps a number from reading itself.  *Prices alone* puts the three
    `prices` in place of every entry.
    """
    task, w, length = weights.task, weights, weights.task.length
    terms = layer_1_terms(w, tokens)
    token, position = terms[:, [0, 2]].sum(1), terms[:, [1, 3]].sum(1)
    visible = token.new_ones(length, length).tril()

    def out(part):  # constant over the keys that a query sees
        return (part * visible).sum(-1, keepdim=True) / visible.sum(-1, keepdim=True) - part

    place, distance = place_and_distance(number_table(w)[1])
    room, p = task.room, torch.arange(task.room)
    line, wave = token.new_zeros(length, length), token.new_zeros(length, length)
    line[:, :room] = place
    wave[:room, :room] = torch.where(p <= p[:, None], distance[(p[:, None] - p).clamp(min=0)], 0)
    itself = -1e4 * torch.eye(length, dtype=token.dtype)
    price = prices(w)
    number, variable = tokens < task.n_numbers, tokens >= task.first_variable
    levels = price.variable * variable + price.number * number  # (batch, key)
    priced = levels[:, None] + price.place * torch.arange(length, dtype=token.dtype)
    changes = {
        "no token part": out(token),
        "no token part, not itself": out(token) + itself,
        "no position part": out(position),
        "no line": -line.expand_as(token),
        "no straight line": (-price.place * torch.arange(length, dtype=token.dtype)).expand_as(token),
        "no wave": -wave.expand_as(token),
        "no wave, no token part": out(token) - wave,
        "no wave, no token part, not itself": out(token) - wave + itself,
        "prices alone": priced - token - position,
    }
    return {name: change * task.assigned_numbers(tokens)[:, :, None] for name, change in changes.items()}


def shares_read(pattern: Tensor, tokens: Tensor, task: Task) -> dict[str, float]:
    """Of assigned numbers: how many attend most to the place before, how many to themselves, and the mean weight of the former.

    `pattern` (batch, query, key) is that of layer 1.
    """
    problem, place = task.assigned_numbers(tokens).nonzero(as_tuple=True)
    rows = pattern[problem, place]
    best, before = rows.argmax(1), rows.gather(1, place[:, None] - 1)
    found = {"place before": best == place - 1, "itself": best == place, "weight": before}
    return {name: each.to(rows.dtype).mean().item() for name, each in found.items()}


def gapped(task: Task, place: int, back: int, rival: str = "PAD", at: int = 1) -> Tensor:
    """Problems (N, length) with one assigned number, at `place`, and its variable `back` places before it; PADs elsewhere.

    A `rival` other than PAD, a "variable" or a "number", stands `at` places before the number.  The variable is the left
    operand.  ValueError for what does not fit.
    """
    if not 0 <= place - max(back, at) <= place < task.room or rival not in ("PAD", "variable", "number") or min(back, at) < 1:
        raise ValueError(f"no {rival} {at} places and variable {back} places before a number at {place}")
    if at == back and rival != "PAD":
        raise ValueError("the rival stands where the variable does")
    N, V = task.n_numbers, task.n_variables
    number, variable = torch.arange(N), torch.arange(N) % V
    tokens = torch.full((N, task.length), task.pad)
    tokens[:, place], tokens[:, place - back] = number, task.first_variable + variable
    if rival == "variable":
        tokens[:, place - at] = task.first_variable + (variable + 1) % V
    if rival == "number":
        tokens[:, place - at] = (3 * number + 1) % N
    tokens[:, task.room], tokens[:, task.last] = task.plus, task.equal
    tokens[:, task.left], tokens[:, task.right] = task.first_variable + variable, (2 * number + 1) % N
    return tokens


def lead(terms: Tensor, target: Tensor, rivals: Tensor) -> Tensor:
    """By how much each term (batch, ..., key) at the target key (batch,) exceeds its mean over rivals (batch, key).

    Shape (batch, ...); not a number for a problem without rivals.
    """
    between = (1,) * (terms.dim() - 2)
    at = terms.gather(-1, target.view(-1, *between, 1).expand(*terms.shape[:-1], 1))[..., 0]
    mask = rivals.view(len(rivals), *between, -1).to(terms.dtype)
    return at - (terms * mask).sum(-1) / mask.sum(-1)


def leads_of_asked(weights: Weights, tokens: Tensor) -> Tensor:
    """Leads (numbers, query source, key source) of the nine layer-2 terms, for each looked-up number of problems with a rival.

    The rivals are the assigned numbers that are not asked for; all left operands come before all right ones.
    """
    task = weights.task
    terms, places = layer_2_terms(weights, tokens), task.value_positions(tokens)
    rivals = task.assigned_numbers(tokens).scatter(1, places, False)
    found = []
    for side, at in enumerate((task.left, task.right)):
        here = (tokens[:, at] >= task.first_variable) & rivals.any(1)
        found.append(lead(terms[here], places[here, side], rivals[here]))
    return torch.cat(found)


def flattened(term: Tensor, keys: Tensor) -> Tensor:
    """The change (batch, key) of scores that puts a term's mean over some keys (batch, key) in place of the term at each of them.

    The mean of their scores is kept, their attention together only roughly; how the term chooses among them is gone.
    """
    mean = (term * keys).sum(-1, keepdim=True) / keys.sum(-1, keepdim=True).clamp(min=1)
    return (mean - term) * keys


def at_level(scores: Tensor, keys: Tensor, level: Tensor) -> Tensor:
    """A change (batch, key) of scores by a constant at some keys (batch, key) that gives them the attention (batch,) together."""
    inside, outside = (scores.masked_fill(~each, -torch.inf).logsumexp(-1) for each in (keys, ~keys))
    return (level.logit() - inside + outside)[:, None] * keys


def with_block(weights: Weights, tokens: Tensor, block: Tensor) -> Tensor:
    """The change (batch, key) of the scores of `=` if `variable_identity` were another block (V, V)."""
    task, w, V = weights.task, weights, weights.task.n_variables
    A = trace(w, task.check(tokens)).pattern[:, 0]
    changed = block.new_zeros(task.d_vocab, task.d_vocab)
    changed[-V:, -V:] = block - variable_identity(w)
    operands = slice(task.left, task.right + 1)
    entries = changed[tokens[:, operands, None], tokens[:, None, :-1]]  # (batch, operand, key - 1)
    change = A.new_zeros(tokens.shape)
    change[:, 1:] = torch.einsum("bo,bok->bk", A[:, task.last, operands], entries) * A.diagonal(-1, 1, 2)
    return change
