"""Problems of a world in whole batches; in the study's world, token for token those that the study's code draws."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from ..sampling import Batch, write
from .world import World


def draw_split(world: World) -> Tensor:
    """Which ordered tuples of numbers training may see, (N, ..., N), an axis for each operand."""
    n = world.n_numbers**world.operands
    seen = math.floor(world.train_fraction * n + 1e-9)
    if not seen:
        raise ValueError(f"train_fraction {world.train_fraction} leaves none of the {n} tuples of numbers to train on")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(world.seed))
    return torch.zeros(n, dtype=torch.bool).index_fill(0, order[:seen], True).view((world.n_numbers,) * world.operands)


def forms(world: World, *places: tuple[int, ...] | None) -> Tensor:
    """Question forms, weight 1 each: for each place one of these variables, never the same twice; None is a constant.

    Shape (V + 1, ..., V + 1), an axis for each operand, on which the last entry stands for a constant.
    """
    V = world.n_variables
    table = torch.zeros((V + 1,) * world.operands)
    chosen = [torch.tensor([V] if each is None else list(each), dtype=torch.long) for each in places]
    table[torch.meshgrid(*chosen, indexing="ij")] = 1
    index = torch.meshgrid(*(torch.arange(V + 1),) * world.operands, indexing="ij")
    for one, other in itertools.combinations(index, 2):
        table[(one == other) & (one < V)] = 0
    return table


class Assigned(NamedTuple):
    """The assignments of problems, in the order in which they are written; those from the n-th on do not count."""

    variables: Tensor  # (batch, slots) by index
    values: Tensor  # (batch, slots) numbers, or the token ids of variables
    n: Tensor  # (batch, 1)


def lay_out(world: World, asked: Tensor, numbers: Tensor, chained: float, generator: torch.Generator) -> Batch:
    """Write questions out as sequences, with random distractors, order and PADs.

    `asked` and `numbers` are (batch, operands): variables by index, with V for a constant, and the numbers to reckon with.
    The number of assignments is uniform on 1..slots, and at least what the question needs; distractors are distinct and their
    numbers uniform.  In a world of links, `chained` is the chance that the variables asked for are links.
    """
    task, draw = world.task, Draw(len(asked), generator)
    if world.links:
        variables, values, n = assign_with_links(world, asked, numbers, draw(1) < chained, draw)
    else:
        variables, values, n = assign(world, asked, numbers, draw)
    operands = torch.where(asked < task.n_variables, task.first_variable + asked, numbers)
    tokens = write(task, variables, values, n, operands[:, :1], operands[:, 1:2], generator)
    return Batch(torch.cat([tokens[:, : task.room + 1], operands, tokens[:, -1:]], 1), world.apply(numbers))


class Draw(NamedTuple):
    """Random numbers for a batch."""

    batch: int
    generator: torch.Generator

    def __call__(self, many: int) -> Tensor:
        """So many for each problem, (batch, many), uniform on [0, 1)."""
        return torch.rand(self.batch, many, generator=self.generator, device=self.generator.device)


def _ranked(world: World, used: Tensor, first: bool, draw: Draw) -> Tensor:
    """The variables (batch, V) in random order: those used first, or else last, and those that training never sees behind."""
    unseen = torch.arange(world.n_variables, device=used.device) >= world.n_variables - world.unseen
    return (draw(world.n_variables) + used * (-1.0 if first else 2.0) + (unseen & ~used)).argsort(1)


def assign(world: World, asked: Tensor, numbers: Tensor, draw: Draw) -> Assigned:
    """Numbers for the variables asked for and for distractors, in random order: the study's law."""
    slots = world.task.slots
    slot, variable = (torch.arange(size, device=asked.device) for size in (slots, world.n_variables))
    used = (variable == asked[:, :, None]).any(1)  # (batch, V)
    n = torch.maximum((draw(1) * slots).long() + 1, used.sum(1, keepdim=True))
    assigned = _ranked(world, used, True, draw)[:, :slots]
    variables = assigned.gather(1, (draw(slots) + (slot >= n)).argsort(1))  # the first n in random order
    values = (draw(slots) * world.n_numbers).long()
    for each, number in zip(asked.split(1, 1), numbers.split(1, 1)):
        values = torch.where(variables == each, number, values)
    return Assigned(variables, values, n)


def assign_with_links(world: World, asked: Tensor, numbers: Tensor, chained: Tensor, draw: Draw) -> Assigned:
    """The same in a world of links: half of the n assignments, rounded down, are links, each to a variable of its own.

    So counting how often a variable is named does not tell which one is asked for.  Assignments come in units: a pair, first a
    link and then what it leads to, or, where n is odd, a number alone.  Each operand has a unit of its own; where the problem is
    `chained` (batch, 1) it asks for the link of a pair, and else for the number of any unit.
    """
    slots, V = world.task.slots, world.n_variables
    slot = torch.arange(slots, device=asked.device)
    many = (asked < V).sum(1, keepdim=True)  # variables asked for
    n = torch.maximum((draw(1) * slots).long() + 1, torch.where(chained | (many == 0), 2 * many, 2 * many - 1))
    pairs, there = n // 2, torch.where(chained, n // 2, (n + 1) // 2)
    first = (asked == V).int().argsort(dim=1, stable=True).argsort(1)  # variables come before constants in the choice of units
    unit = (draw((slots + 1) // 2) + (slot[: (slots + 1) // 2] >= there)).argsort(1).gather(1, first)  # (batch, operands)
    holds = 2 * unit + (unit < pairs)  # where the number of a unit stands; before it, in a pair, its link
    stands = torch.where(chained, 2 * unit, holds)

    used = (torch.arange(V, device=asked.device) == asked[:, :, None]).any(1)
    taken = ((slot == stands[:, :, None]) & (asked < V)[:, :, None]).any(1)
    variables = _ranked(world, used, False, draw).gather(1, (~taken).cumsum(1) - (~taken).int())
    values = (draw(slots) * world.n_numbers).long()
    for each, number, place, held in zip(*(part.split(1, 1) for part in (asked, numbers, stands, holds))):
        variables = torch.where((slot == place) & (each < V), each, variables)
        values = torch.where((slot == held) & (each < V), number, values)
    link = (slot % 2 == 0) & (slot < 2 * pairs)
    values = torch.where(link, world.task.first_variable + variables.roll(-1, 1), values)
    order = (draw(slots) + (slot >= n)).argsort(1)
    return Assigned(variables.gather(1, order), values.gather(1, order), n)


@dataclass(frozen=True, eq=False)
class Population:
    """A law of problems: how often each form is asked, and which tuples of numbers, all equally often.

    `forms` (see `forms`) holds weights, `tuples` (N, ..., N) says which numbers may be reckoned with; `chained` is the chance
    that the variables asked for are links.  It samples on the device of its tensors.
    """

    world: World
    forms: Tensor
    tuples: Tensor
    chained: float = 0.0

    @cached_property
    def _list(self) -> Tensor:
        return self.tuples.nonzero()

    @cached_property
    def _cumulative(self) -> Tensor:
        return self.forms.flatten().double().cumsum(0)

    def __bool__(self) -> bool:
        """Whether there is any such problem."""
        return bool(self.forms.sum() > 0) and bool(self.tuples.any())

    def to(self, device: torch.device | str) -> "Population":
        """The same law on another device."""
        return Population(self.world, self.forms.to(device), self.tuples.to(device), self.chained)

    def sample(self, size: int, generator: torch.Generator) -> Batch:
        """Draw `size` problems; the generator must live on the same device."""
        device = self.forms.device
        draw = torch.rand(size, generator=generator, device=device, dtype=torch.double) * self._cumulative[-1]
        form = torch.searchsorted(self._cumulative, draw, right=True)
        numbers = self._list[torch.randint(len(self._list), (size,), generator=generator, device=device)]
        asked = torch.stack(torch.unravel_index(form, self.forms.shape), 1)
        return lay_out(self.world, asked, numbers, self.chained, generator)


def training_population(world: World, split: Tensor) -> Population:
    """The training mixture, in the study's world 0-var : 1-var left : 1-var right : 2-var = 12 : 10 : 10 : 10r.

    The form without variables weighs as much as there are variables to ask for, each form with one variable 1, and for each
    choice of two or more places all forms together r times the forms with one variable in the first place.
    """
    table = torch.zeros(())
    for allowed in _patterns(world):
        each = forms(world, *allowed)
        many = sum(side is not None for side in allowed)
        weight = world.asked * each if not many else each if many == 1 else _first(world) * world.r * each / each.sum()
        table = table + weight
    return Population(world, table, split, 0.5)


def _first(world: World) -> int:
    """How many variables training puts in the first place."""
    return world.asked - len(world.never[0])


def _sides(world: World) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each operand the variables that training puts there, and those it never does but asks for elsewhere."""
    return [(tuple(v for v in range(world.asked) if v not in never), never) for never in world.never]


def _patterns(world: World) -> list[tuple[tuple[int, ...] | None, ...]]:
    """For each choice of places for variables the variables that training puts there; None is a constant."""
    return list(itertools.product(*((None, allowed) for allowed, _ in _sides(world))))


def evaluation_populations(world: World, split: Tensor) -> dict[str, Population]:
    """The laws of the evaluation sets, by name; in the study's world its nine sets.

    *add-restricted*: held-out tuples of numbers, variables where training puts them.  *var-restricted*: trained tuples, with a
    variable in a place where it never stood; with several variables, (m) of them.  *unasked* and *unseen*: trained tuples, one
    variable that is only ever a distractor in training, or in no training problem.  *chain*: all variables asked for are links.
    """
    asked, known, V = world.asked, world.n_variables - world.unseen, world.n_variables
    sides, laws = _sides(world), {}

    def add(name: str, lists: list[tuple[int, ...] | None], tuples: Tensor) -> None:
        table = forms(world, *lists)
        laws[name] = (laws[name][0] + table if name in laws else table, tuples)

    for many, places in sorted((sum(each), each) for each in itertools.product((False, True), repeat=world.operands)):
        for out in itertools.product((0, 1), repeat=many):
            which = iter(out)
            lists = [side[next(which)] if variable else None for side, variable in zip(sides, places)]
            if sum(out):
                add(f"{many}-var var-restricted" + f" ({sum(out)})" * (many > 1), lists, split)
            else:
                add(f"{many}-var train", lists, split)
                add(f"{many}-var add-restricted", lists, ~split)
        for name, variables in (("unasked", range(asked, known)), ("unseen", range(known, V))):
            if many == 1 and variables:
                add(f"1-var {name}", [tuple(variables) if variable else None for variable in places], split)
    found = {name: Population(world, *law) for name, law in laws.items()}
    if world.links:
        chains = {name.replace("-var", "-var chain", 1): law for name, law in found.items() if not name.startswith("0")}
        found |= {name: replace(law, chained=1.0) for name, law in chains.items()}
    return {name: law for name, law in found.items() if law}


def evaluation_sets(world: World, split: Tensor, size: int = 1000, seed: int = 1) -> dict[str, Batch]:
    """The evaluation sets, `size` problems each, always the same."""
    generator = torch.Generator().manual_seed(seed)
    return {name: law.sample(size, generator) for name, law in evaluation_populations(world, split).items()}


def constants(world: World, most: int = 20_000, seed: int = 6) -> tuple[Tensor, Tensor]:
    """All tuples of numbers, or so many drawn of them, (n, operands), and a sequence (n, length) that reckons with each."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.cartesian_prod(*(torch.arange(world.n_numbers),) * world.operands)
    if len(numbers) > most:
        numbers = numbers[torch.randint(len(numbers), (most,), generator=generator)]
    return numbers, lay_out(world, torch.full_like(numbers, world.n_variables), numbers, 0.0, generator).tokens
