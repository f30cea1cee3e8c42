"""Shortcut solvers: what a network could score without binding variables.

Each solver turns token ids (batch, length) into a probability for every answer, (batch, N).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..sampling import Batch
from ..task import Task


def chance(tokens: Tensor, task: Task) -> Tensor:
    """Guess any number."""
    return torch.full((len(tokens), task.n_numbers), 1 / task.n_numbers, device=tokens.device)


def ignore_variables(tokens: Tensor, task: Task) -> Tensor:
    """Add the operands that are numbers, and leave out variables."""
    operands = task.check(tokens)[:, [task.left, task.right]]
    constants = torch.where(operands < task.n_numbers, operands, 0)
    return one_hot(constants.sum(1) % task.n_numbers, task.n_numbers).float()


def random_assigned_number(tokens: Tensor, task: Task) -> Tensor:
    """Put a random assigned number in place of each variable, a different one for each."""
    slots = task.assigned_numbers(tokens)[:, : task.room]
    different = ~torch.eye(task.room, dtype=torch.bool, device=tokens.device)
    return _put_in(tokens, slots[:, :, None] & slots[:, None] & different, slots, task)


def last_assigned_number(tokens: Tensor, task: Task) -> Tensor:
    """Put the last assigned number in place of a variable, the last two in place of two."""
    place = task.assigned_numbers(tokens)[:, : task.room] * (torch.arange(task.room, device=tokens.device) + 1)
    last = place.topk(2).indices  # (batch, 2)
    one = one_hot(last[:, 0], task.room).bool()
    two = one[:, None] & one_hot(last[:, 1], task.room).bool()[:, :, None]
    return _put_in(tokens, two, one, task)


def _put_in(tokens: Tensor, two: Tensor, one: Tensor, task: Task) -> Tensor:
    """The answers' probabilities where variables are replaced, all marked choices being equally likely.

    `one` (batch, room) marks the positions to choose from for one variable, `two` (batch, room, room) for two.
    """
    operands = tokens[:, [task.left, task.right]]
    n_variables = (operands >= task.first_variable).sum(1)
    constants = torch.where(operands < task.n_numbers, operands, 0).sum(1)
    numbers = tokens[:, : task.room]
    pairs = (numbers[:, :, None] + numbers[:, None]).flatten(1) % task.n_numbers
    n = task.n_numbers
    for_none = one_hot(constants % n, n).float()
    for_one = torch.zeros(len(tokens), n, device=tokens.device).scatter_add_(1, (constants[:, None] + numbers) % n, one.float())
    for_two = torch.zeros(len(tokens), n, device=tokens.device).scatter_add_(1, pairs, two.flatten(1).float())
    chosen = torch.stack([for_none, for_one, for_two], 1)[torch.arange(len(tokens), device=tokens.device), n_variables]
    return chosen / chosen.sum(1, keepdim=True)


SHORTCUTS: dict[str, Callable[[Tensor, Task], Tensor]] = {
    "chance": chance,
    "ignore the variables": ignore_variables,
    "random assigned number": random_assigned_number,
    "last assigned number": last_assigned_number,
}


def expected_accuracy(solver: Callable[[Tensor, Task], Tensor], batch: Batch, task: Task) -> float:
    """The share of a batch that a shortcut solver answers right on average."""
    return solver(batch.tokens, task).gather(1, batch.answers[:, None]).mean().item()
