"""Repair: changes of a trained network's layer-2 scores that the mechanism suggests, none of which is trained.

`=` asks with its own token and place and with what layer 1 moves of the operands; a key answers with its token, its place and
the name that layer 1 moves to it.  A repair changes the bilinear form QK2 where such a query meets such a key, and between all
others leaves it as near to what it was as the least change does.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..circuits import OV, QK
from ..model import Weights


def sharpened(weights: Weights, factors: Sequence[float]) -> Weights:
    """The same network with the scores of every layer times a factor; ValueError where there are not as many, or bad ones."""
    if len(factors) != weights.n_layers or not all(0 < each <= 1000 for each in factors):
        raise ValueError(f"scores are multiplied by {weights.n_layers} numbers above 0 and at most 1000, not {list(factors)}")
    by = torch.tensor(factors, dtype=weights.W_Q.dtype).view(-1, *[1] * (weights.W_Q.dim() - 1))
    return weights if set(factors) == {1.0} else weights.replace(W_Q=weights.W_Q * by)


def with_QK2(weights: Weights, form: Tensor) -> Weights:
    """The same network with this QK2 (d_model, d_model); ValueError where a head is narrower than the stream."""
    d_head = weights.W_Q.shape[-1]
    if d_head != weights.d_model:
        raise ValueError(f"any QK2 needs heads as wide as the stream, {weights.d_model}, not {d_head}")
    return weights.replace(
        W_Q=torch.stack([weights.W_Q[0], form * math.sqrt(d_head)]),
        W_K=torch.stack([weights.W_K[0], torch.eye(d_head, dtype=form.dtype)]),
    )


def with_scores(weights: Weights, change: Tensor) -> Weights:
    """The same network with layer-2 scores changed by a table over `queries` and `keys`, by the least change of QK2.

    Directions in which they reach less than a tenth as far as in their longest are left alone, so it is changed nearly so.
    """
    left, right = (torch.linalg.pinv(each.double(), rtol=0.1) for each in (queries(weights), keys(weights)))
    return with_QK2(weights, QK(weights, 2) + (left @ change.double() @ right.T).to(weights.W_E.dtype))


def queries(weights: Weights) -> Tensor:
    """What `=` asks with in layer 2, (1 + V + N, d_model): itself, and what layer 1 moves of each name and of each number.

    With itself goes what layer 1 moves of the operands' places, half of each.
    """
    w, task = weights, weights.task
    moved = w.W_E @ OV(w, 1)
    own = w.W_E[task.equal] + w.W_pos[task.last] + w.W_pos[[task.left, task.right]].mean(0) @ OV(w, 1)
    return torch.cat([own[None], moved[task.first_variable :], moved[: task.n_numbers]])


def keys(weights: Weights) -> Tensor:
    """What a key answers with, (N + V + length, d_model): its number, the name that layer 1 moves to it, its place."""
    w, task = weights, weights.task
    return torch.cat([w.W_E[: task.n_numbers], w.W_E[task.first_variable :] @ OV(w, 1), w.W_pos])


def _parts(weights: Weights) -> tuple[Tensor, Tensor, slice, slice, slice]:
    """The scores of queries and keys, a table for changes, the names among queries, and the numbers and names among keys."""
    N, V = weights.task.n_numbers, weights.task.n_variables
    scores = queries(weights) @ QK(weights, 2) @ keys(weights).T
    return scores, torch.zeros_like(scores), slice(1, 1 + V), slice(0, N), slice(N, N + V)


def numbers_alike(weights: Weights) -> Weights:
    """No score depends on which number a key holds: each gets the mean of all."""
    scores, change, _, numbers, _ = _parts(weights)
    change[:, numbers] = scores[:, numbers].mean(1, keepdim=True) - scores[:, numbers]
    return with_scores(weights, change)


def names_alike(weights: Weights) -> Weights:
    """No score depends on a key's name alone: where no name asks, each name gets the mean of all."""
    scores, change, asking, _, names = _parts(weights)
    change[:, names] = scores[:, names].mean(1, keepdim=True) - scores[:, names]
    change[asking] = 0
    return with_scores(weights, change)


def matches_alike(weights: Weights) -> Weights:
    """Of a name that asks and a key's name it matters only whether they are the same: the mean of all that are, and are not."""
    scores, change, asking, _, names = _parts(weights)
    block = scores[asking, names]
    same = torch.eye(len(block), dtype=torch.bool)
    change[asking, names] = torch.where(same, block[same].mean(), block[~same].mean()) - block
    return with_scores(weights, change)


REPAIRS = {
    "numbers alike": numbers_alike,
    "names alike": names_alike,
    "matches alike": matches_alike,
    "numbers and names alike": lambda weights: names_alike(numbers_alike(weights)),
}
