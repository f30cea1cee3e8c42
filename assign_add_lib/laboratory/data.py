"""The problems of a world: the study's law, widened to links, to variables that are never asked for, and to more operands."""

import itertools
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from ..sampling import Assigned, Batch, Population, assign, forms, spelled, write
from ..task import draw_share
from .world import World


def draw_split(world: World) -> Tensor:
    """Which ordered tuples of numbers training may see, (N, ..., N), an axis for each operand."""
    return draw_share((world.n_numbers,) * world.operands, world.seed, world.train_fraction)


def lay_out(world: World, asked: Tensor, numbers: Tensor, chained: float, generator: torch.Generator) -> Batch:
    """Write questions out as sequences, as `sampling.lay_out` does.

    In a world of links, `chained` is the chance that the variables asked for are links.
    """
    if world.links:
        drawn = torch.rand(len(asked), 1, generator=generator, device=asked.device)
        assigned = assign_with_links(world, asked, numbers, drawn < chained, generator)
    else:
        assigned = assign(world.task, asked, numbers, generator, world.unseen)
    return Batch(write(world.task, assigned, spelled(world.task, asked, numbers), generator), world.apply(numbers))


def assign_with_links(world: World, asked: Tensor, numbers: Tensor, chained: Tensor, generator: torch.Generator) -> Assigned:
    """What `sampling.assign` gives, but half of the n assignments, rounded down, are links, each to a variable of its own.

    So counting how often a variable is named does not tell which one is asked for.  Assignments come in units: a pair, first a
    link and then what it leads to, or, where n is odd, a number alone.  Each operand has a unit of its own; where the problem is
    `chained` (batch, 1) it asks for the link of a pair, and else for the number of any unit.
    """
    slots, V, batch = world.task.slots, world.n_variables, len(asked)
    rand = partial(torch.rand, generator=generator, device=asked.device)
    slot, variable = torch.arange(slots, device=asked.device), torch.arange(V, device=asked.device)
    many = (asked < V).sum(1, keepdim=True)  # variables asked for
    n = torch.maximum((rand(batch, 1) * slots).long() + 1, torch.where(chained | (many == 0), 2 * many, 2 * many - 1))
    pairs, there = n // 2, torch.where(chained, n // 2, (n + 1) // 2)
    first = (asked == V).int().argsort(dim=1, stable=True).argsort(1)  # variables come before constants in the choice of units
    units = (slots + 1) // 2
    unit = (rand(batch, units) + (slot[:units] >= there)).argsort(1).gather(1, first)  # (batch, operands)
    holds = 2 * unit + (unit < pairs)  # where the number of a unit stands; before it, in a pair, its link
    stands = torch.where(chained, 2 * unit, holds)

    used = (variable == asked[:, :, None]).any(1)
    others = (rand(batch, V) + 2 * (used | (variable >= V - world.unseen))).argsort(1)  # distractors, in random order
    taken = ((slot == stands[:, :, None]) & (asked < V)[:, :, None]).any(1)
    variables = others.gather(1, (~taken).cumsum(1) - (~taken).int())
    values = (rand(batch, slots) * world.n_numbers).long()
    for each, number, place, held in zip(*(part.split(1, 1) for part in (asked, numbers, stands, holds))):
        variables = torch.where((slot == place) & (each < V), each, variables)
        values = torch.where((slot == held) & (each < V), number, values)
    link = (slot % 2 == 0) & (slot < 2 * pairs)
    values = torch.where(link, world.task.first_variable + variables.roll(-1, 1), values)
    order = (rand(batch, slots) + (slot >= n)).argsort(1)
    return Assigned(variables.gather(1, order), values.gather(1, order), n)


@dataclass(frozen=True, eq=False)
class Law(Population):
    """A law of problems in a world; `chained` is the chance that the variables asked for are links.

    `forms` (V + 1, ..., V + 1) and `pairs` (N, ..., N) have an axis for each operand.
    """

    world: World
    chained: float

    def sample(self, size: int, generator: torch.Generator) -> Batch:
        """Draw `size` problems; the generator must live on the same device."""
        return lay_out(self.world, *self.questions(size, generator), self.chained, generator)


WORDS = ("train", "train", "var-restricted", "unasked", "unseen")  # of what `_choices` lists, in evaluation sets


def _choices(world: World) -> list[tuple[tuple[int, ...] | None, ...]]:
    """For each operand what may stand there: None for a constant; the variables that training puts there; those that it asks for
    only elsewhere; those that are distractors only; and those that it never shows.
    """
    asked, known = world.asked, world.n_variables - world.unseen
    strangers = tuple(range(asked, known)), tuple(range(known, world.n_variables))
    return [(None, tuple(v for v in range(asked) if v not in never), never, *strangers) for never in world.never]


def training_population(world: World, split: Tensor) -> Law:
    """The training mixture, in the study's world 0-var : 1-var left : 1-var right : 2-var = 12 : 10 : 10 : 10r.

    The form without variables weighs as much as there are variables to ask for, each form with one variable 1, and for each
    choice of two or more places all forms together r times the forms with one variable in the first place.
    """
    table, first = torch.zeros(()), world.asked - len(world.never[0])
    for places in itertools.product(*(side[:2] for side in _choices(world))):
        each, many = forms(world.task, *places), sum(place is not None for place in places)
        table = table + (world.asked * each if not many else each if many == 1 else first * world.r * each / each.sum())
    return Law(world.task, table, split, world, 0.5)


def evaluation_populations(world: World, split: Tensor) -> dict[str, Law]:
    """The laws of the evaluation sets, by name; in the study's world its nine sets.

    *add-restricted*: held-out tuples of numbers, variables where training puts them.  *var-restricted*: trained tuples, with a
    variable in a place where it never stood; with several variables, (m) of them.  *unasked* and *unseen*: trained tuples, one
    variable that is only ever a distractor in training, or in no training problem.  *chain*: all variables asked for are links.
    """
    laws, sides = {}, _choices(world)
    every = itertools.product(range(len(WORDS)), repeat=world.operands)
    for choice in sorted(every, key=lambda choice: (world.operands - choice.count(0), sum(choice))):
        many, most = world.operands - choice.count(0), max(choice)
        if most > 2 and many > 1:
            continue
        table = forms(world.task, *(side[each] for side, each in zip(sides, choice)))
        name = f"{many}-var {WORDS[most]}" + f" ({choice.count(2)})" * (most == 2 and many > 1)
        for each, tuples in [(name, split), (f"{many}-var add-restricted", ~split)][: 1 + (most < 2)]:
            known = laws[each].forms if each in laws else 0
            laws[each] = Law(world.task, known + table, tuples, world, 0.0)
    if world.links:
        chains = {name.replace("-var", "-var chain", 1): law for name, law in laws.items() if not name.startswith("0")}
        laws |= {name: replace(law, chained=1.0) for name, law in chains.items()}
    return {name: law for name, law in laws.items() if law}


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
