"""Repair: changes of a trained network's scores that the mechanism suggests, none of which is trained.

`=` asks with its own token and place and with what layer 1 moves of the operands; a key answers with its token, its place and
the name that layer 1 moves to it.  A repair changes the bilinear form QK2 where such a query meets such a key, and between all
others leaves it as near to what it was as the least change does.  One repair changes QK1 in the same way.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..circuits import OV, QK, last_reading
from ..model import Weights
from ..sampling import lay_out
from ..task import KINDS
from .attack import draw_questions

SEED, SIZE = 37, 2000  # of the problems on which two numbers are balanced, and how many of each kind


def sharpened(weights: Weights, factors: Sequence[float]) -> Weights:
    """The same network with the scores of every layer times a factor; ValueError where there are not as many, or bad ones."""
    if len(factors) != weights.n_layers or not all(0 < each <= 1000 for each in factors):
        raise ValueError(f"scores are multiplied by {weights.n_layers} numbers above 0 and at most 1000, not {list(factors)}")
    by = torch.tensor(factors, dtype=weights.W_Q.dtype).view(-1, *[1] * (weights.W_Q.dim() - 1))
    return weights if set(factors) == {1.0} else weights.replace(W_Q=weights.W_Q * by)


def with_QK(weights: Weights, layer: int, form: Tensor) -> Weights:
    """The same network with this QK (d_model, d_model) in a layer; ValueError where a head is narrower than the stream."""
    d_head = weights.W_Q.shape[-1]
    if d_head != weights.d_model:
        raise ValueError(f"any QK needs heads as wide as the stream, {weights.d_model}, not {d_head}")
    here = torch.tensor([layer - 1])
    return weights.replace(
        W_Q=weights.W_Q.index_copy(0, here, form[None] * math.sqrt(d_head)),
        W_K=weights.W_K.index_copy(0, here, torch.eye(d_head, dtype=form.dtype)[None]),
    )


def with_scores(weights: Weights, change: Tensor) -> Weights:
    """The same network with layer-2 scores changed by a table over `queries` and `keys`, by the least change of QK2.

    Directions in which they reach less than a tenth as far as in their longest are left alone, so it is changed nearly so.
    """
    left, right = (torch.linalg.pinv(each.double(), rtol=0.1) for each in (queries(weights), keys(weights)))
    return with_QK(weights, 2, QK(weights, 2) + (left @ change.double() @ right.T).to(weights.W_E.dtype))


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


def log_ratios(weights: Weights) -> Tensor:
    """The mean logarithm of what layer 2 reads of the left number over what it reads of the right one, (3,), at random.

    Of plain sums, and of problems with a variable on the left and on the right, all pairs and variables alike.
    """
    found = []
    for kind in KINDS[:3]:
        questions = draw_questions(weights.task, kind, SIZE, SEED)
        tokens = lay_out(weights.task, *questions, torch.Generator().manual_seed(SEED)).tokens
        read = last_reading(weights, tokens)[1].gather(1, weights.task.value_positions(tokens)).log()
        found.append((read[:, 0] - read[:, 1]).mean())
    return torch.stack(found)


def balanced(weights: Weights) -> Weights:
    """The two numbers are read alike on average, as far as a constant for each operand's place does it: least squares."""
    task, now = weights.task, log_ratios(weights)

    def moved(by: Tensor) -> Weights:
        change = _parts(weights)[1]
        change[0, [task.left - task.length, task.right - task.length]] = by
        return with_scores(weights, change)

    effects = torch.stack([log_ratios(moved(each)) - now for each in torch.eye(2, dtype=now.dtype)], 1)  # (3, 2)
    return moved(torch.linalg.lstsq(effects, -now[:, None]).solution[:, 0])


def copies_alike(weights: Weights) -> Weights:
    """In layer 1 a number's score of the same number is its mean score of the others, token by token: QK1's least such change.

    A number at its own place reads the same number, too, so that is concerned as well.
    """
    numbers, QK1 = weights.W_E[: weights.task.n_numbers].double(), QK(weights, 1)
    apart = numbers - (numbers.sum(0) - numbers) / (len(numbers) - 1)  # from the mean of the others
    more = (numbers @ QK1.double() * apart).sum(1)
    each = torch.linalg.solve((numbers @ numbers.T) * (apart @ apart.T), more)
    return with_QK(weights, 1, QK1 - (numbers.T @ (each[:, None] * apart)).to(QK1))


REPAIRS = {
    "numbers alike": numbers_alike,
    "names alike": names_alike,
    "matches alike": matches_alike,
    "balanced": balanced,
    "copies alike": copies_alike,
    "numbers and names alike": lambda weights: names_alike(numbers_alike(weights)),
}
