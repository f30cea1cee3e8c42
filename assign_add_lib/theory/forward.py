"""The simplified network in index form: a vector is a list of coordinates.

Layer 1 is assumed: each assigned number has read its variable, and `=` both operands.  Layer 2 is softmax attention from
`=` with one trained matrix W.  The MLP is Gromov's, a cyclic self-convolution of the numbers that attention brings.
"""

import torch
from torch import Tensor

from ..task import Task
from .setting import Setting, coordinates, dimensions


def augmented(task: Task, tokens: Tensor) -> Tensor:
    """The coordinates that each position has, (batch, pos, 4); D stands for none.

    Its position and its token; at an assigned number the variable before it, moved; at `=` both operands, moved.
    """
    at, room = coordinates(task), task.room
    own = torch.arange(task.length) + at["position"].start

    def moved(token):
        shift = torch.where(token < task.n_numbers, at["moved number"].start, at["moved variable"].start - task.first_variable)
        return token + shift

    result = torch.full((*tokens.shape, 4), dimensions(task))
    result[..., 0], result[..., 1] = own, tokens
    assigned = tokens[:, 1:room] < task.n_numbers
    result[:, 1:room, 2] = torch.where(assigned, moved(tokens[:, : room - 1]), dimensions(task))
    result[:, -1, 2:] = moved(tokens[:, [task.left, task.right]])
    return result


def vectors(task: Task, tokens: Tensor) -> Tensor:
    """The same as vectors of counts, (batch, pos, D)."""
    at = augmented(task, tokens)
    return torch.zeros(*tokens.shape, dimensions(task) + 1, dtype=torch.float64).scatter_add(
        2, at, torch.ones(at.shape, dtype=torch.float64)
    )[..., :-1]


def key_scores(task: Task, W: Tensor, tokens: Tensor) -> Tensor:
    """The score of every position for `=`, (batch, pos), under a matrix W (key coordinate, query coordinate)."""
    at = augmented(task, tokens)
    # sequences with the same operands share a query, so that few need to be multiplied with W
    operands, which = torch.unique(tokens[:, task.left] * task.d_vocab + tokens[:, task.right], return_inverse=True)
    example = torch.zeros_like(operands).scatter_(0, which, torch.arange(len(tokens)))
    query = torch.zeros(len(operands), dimensions(task) + 1, dtype=W.dtype)
    query = query.scatter_add(1, at[example, -1], torch.ones(len(operands), 4, dtype=W.dtype))[:, :-1]
    table = torch.nn.functional.pad(query @ W.T, (0, 1))  # (queries, D + 1), 0 for no coordinate
    place = which[:, None, None] * table.shape[1] + at
    return table.flatten().index_select(0, place.flatten()).view(at.shape).sum(2)


def attention(task: Task, W: Tensor, tokens: Tensor) -> Tensor:
    """Attention of `=` over all positions, (batch, pos): the softmax of `key_scores`."""
    return key_scores(task, W, tokens).softmax(1)


def content(task: Task, a: Tensor, tokens: Tensor) -> Tensor:
    """How much of each number attention brings, (batch, N)."""
    N = task.n_numbers
    where = torch.where(tokens < N, tokens, N)
    return torch.zeros(len(tokens), N + 1, dtype=a.dtype).scatter_add(1, where, a)[:, :N]


def convolve(c: Tensor) -> Tensor:
    """F_q = sum of c_n c_m over n + m = q modulo N, of rows (..., N)."""
    return torch.fft.irfft(torch.fft.rfft(c) ** 2, n=c.shape[-1])


def logits(setting: Setting, W: Tensor, tokens: Tensor, read: Tensor | None = None) -> Tensor:
    """gamma F, (batch, N); the MLP may be given the numbers of other tokens `read` (batch, pos) than attention sees."""
    task = setting.task
    return setting.gamma * convolve(content(task, attention(task, W, tokens), tokens if read is None else read))


def ranks_first(task: Task, W: Tensor, tokens: Tensor) -> Tensor:
    """Whether every asked number has a higher score than every other assigned number, (batch,)."""
    score = key_scores(task, W, tokens)[:, 1 : task.room]  # attention would underflow where scores differ by hundreds
    operands = tokens[:, task.left : task.right + 1]
    variable = torch.where(operands >= task.first_variable, operands, -1)
    names, numbers = tokens[:, : task.room - 1], tokens[:, 1 : task.room] < task.n_numbers
    asked = numbers & (names[:, :, None] == variable[:, None]).any(2)
    lowest = torch.where(asked, score, torch.inf).min(1).values
    highest = torch.where(numbers & ~asked, score, -torch.inf).max(1).values
    return lowest > highest
