"""Problems taken apart, and what is right by a shortcut."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..sampling import Batch
from .world import World

TURNS = 50  # draws of the shortcut for each problem


def full(world: World, batch: Batch) -> Batch:
    """Those of the problems that assign as many variables as fit."""
    chosen = (batch.tokens[:, : world.task.room] != world.task.pad).sum(1) == 2 * world.task.slots
    return Batch(batch.tokens[chosen], batch.answers[chosen])


class Parsed:
    """Problems read from the left to the right: which token is the value of an assignment, and whose."""

    def __init__(self, world: World, tokens: Tensor):
        task = world.task
        self.world, self.head, self.operands = world, tokens[:, : task.room], tokens[:, task.room + 1 : -1]
        waiting, value = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device), []
        for token in self.head.T:  # what follows the variable of an assignment is its value
            value.append(waiting)
            waiting = ~waiting & (token >= task.first_variable)
        self.value = torch.stack(value, 1)  # (batch, room) whether a token is the value of an assignment
        self.names = self.head.roll(1, 1)  # (batch, room) at a value, the variable that has it
        self.number = self.value & (self.head < task.n_numbers)  # (batch, room) whether it is a number
        self.asked = self.operands >= task.first_variable  # (batch, operands) whether an operand is a variable

    @property
    def named(self) -> Tensor:
        """How many links lead to the variable of each value, (batch, room)."""
        links = self.value & ~self.number
        return (links[:, :, None] & (self.head[:, :, None] == self.names[:, None])).sum(1) * self.value

    def of(self, variables: Tensor) -> tuple[Tensor, Tensor]:
        """Where the values of variables (batch, n) stand, and what they are, token ids; both (batch, n)."""
        at = (self.value[:, None] & (self.names[:, None] == variables[:, :, None])).int().argmax(2)
        return at, self.head.gather(1, at)

    @property
    def linked(self) -> Tensor:
        """Whether an operand is a variable that is set to another, (batch, operands)."""
        return self.asked & (self.of(self.operands)[1] >= self.world.task.first_variable)

    @property
    def places(self) -> Tensor:
        """Where the numbers to reckon with stand, (batch, operands): an operand's own place, or that of its variable's number."""
        at, value = self.of(self.operands)
        at = torch.where(self.linked, self.of(value)[0], at)
        return torch.where(self.asked, at, self.world.task.room + 1 + torch.arange(self.world.operands, device=at.device))


def shortcut(world: World, batch: Batch, seed: int = 0) -> float:
    """The share that a solver without look-up has right: any assigned numbers in place of the variables, different ones.

    Where the question asks for links, it takes numbers whose variables are named by links.
    """
    return sum((world.apply(each) == batch.answers).double().mean().item() / TURNS for each in _picks(world, batch, seed))


def informed(world: World, batch: Batch, trained: Tensor, seed: int = 0) -> float:
    """The same of a solver that takes numbers which make a tuple of training (N, ..., N), where there are such: the informed
    shortcut.
    """
    won, kept = torch.zeros(2, len(batch.answers)), torch.zeros(2, len(batch.answers))
    for numbers in _picks(world, batch, seed):
        there = (numbers < world.n_numbers).all(1) & trained[tuple(numbers.clamp(max=world.n_numbers - 1).T)]
        which = torch.stack([there, torch.ones_like(there)])
        won, kept = won + (which & (world.apply(numbers) == batch.answers)), kept + which
    return torch.where(kept[0] > 0, won[0] / kept[0].clamp(min=1), won[1] / kept[1]).double().mean().item()


def _picks(world: World, batch: Batch, seed: int) -> Iterator[Tensor]:
    """Draws of the numbers (batch, operands) that the shortcut reckons with."""
    parsed, generator = Parsed(world, batch.tokens), torch.Generator().manual_seed(seed)
    prefer = parsed.named * parsed.linked.any(1, keepdim=True) - 10.0 * ~parsed.number
    which = (parsed.asked.cumsum(1) - 1).clamp(min=0)  # the first, second, ... variable of the question
    for _ in range(TURNS):
        order = (prefer + torch.rand(prefer.shape, generator=generator)).topk(world.operands).indices
        chosen = parsed.head.gather(1, order).gather(1, which)
        yield torch.where(parsed.asked, chosen, parsed.operands)
