"""Whole batches of problems in a few tensor operations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import NamedTuple, Self

import torch
from torch import Tensor

from .task import Split, Task

#: The names of the nine evaluation sets, see `evaluation_populations`.
EVALUATION_SETS = (
    "0-var train",
    "0-var add-restricted",
    "1-var train",
    "1-var add-restricted",
    "1-var var-restricted",
    "2-var train",
    "2-var add-restricted",
    "2-var var-restricted (1)",
    "2-var var-restricted (2)",
)


class Batch(NamedTuple):
    """Problems as the network reads them, with the right answers."""

    tokens: Tensor  #: (batch, length) token ids
    answers: Tensor  #: (batch,) numbers

    def to(self, device: torch.device | str) -> "Batch":
        """The same problems on a device."""
        return Batch(self.tokens.to(device), self.answers.to(device))


class Assigned(NamedTuple):
    """The assignments of problems, in the order in which they are written; those from the n-th on do not count."""

    variables: Tensor  # (batch, slots) by index
    values: Tensor  # (batch, slots) token ids
    n: Tensor  # (batch, 1)


def lay_out(task: Task, asked: Tensor, numbers: Tensor, generator: torch.Generator) -> Batch:
    """Write questions out as sequences, with random distractors, order and PADs.

    A row of `asked` (batch, 2) holds the left and the right operand, variables by index, with V for a constant; a row of
    `numbers` (batch, 2) the numbers to add.
    """
    assigned = assign(task, asked, numbers, generator)
    tokens = write(task, assigned, spelled(task, asked, numbers), generator)
    return Batch(tokens, numbers.sum(1) % task.n_numbers)


def spelled(task: Task, asked: Tensor, numbers: Tensor) -> Tensor:
    """The token ids of operands, each a variable by index, or where that is V, a number."""
    return torch.where(asked < task.n_variables, task.first_variable + asked, numbers)


def assign(task: Task, asked: Tensor, numbers: Tensor, generator: torch.Generator, unseen: int = 0) -> Assigned:
    """Numbers for the variables asked for and for distractors, in random order.

    The number of assignments is uniform on 1..slots, and at least the number of variables that the question uses; distractors
    are distinct, the last `unseen` variables never among them, and their numbers uniform.
    """
    V, slots, batch = task.n_variables, task.slots, len(asked)
    rand = partial(torch.rand, generator=generator, device=asked.device)
    slot = torch.arange(slots, device=asked.device)
    used = torch.zeros(batch, V + 1, dtype=torch.bool, device=asked.device).scatter(1, asked, True)[
        :, :V
    ]  # constants do not count
    n = torch.maximum((rand(batch, 1) * slots).long() + 1, used.sum(1, keepdim=True))

    rank = rand(batch, V) - used.float()  # operands before distractors
    rank[:, V - unseen :] += ~used[:, V - unseen :]
    assigned = rank.argsort(1)[:, :slots]  # the first n count
    shuffle = (rand(batch, slots) + (slot >= n)).argsort(1)  # the first n in random order
    variables = assigned.gather(1, shuffle)  # (batch, slots)
    values = (rand(batch, slots) * task.n_numbers).long()
    for operand, number in zip(asked.split(1, 1), numbers.split(1, 1)):
        values = torch.where(variables == operand, number, values)
    return Assigned(variables, values, n)


def write(task: Task, assigned: Assigned, operands: Tensor, generator: torch.Generator) -> Tensor:
    """Token ids (batch, length) of assignments in their order, and of a question with these operands (batch, 2), token ids.

    Each PAD falls independently into one of the gaps around the assignments.
    """
    (variables, values, n), slots, room = assigned, task.slots, task.room
    batch, device = len(variables), variables.device
    slot, pad = torch.arange(slots, device=device), torch.arange(room - 2, device=device)
    where = torch.rand(batch, room - 2, generator=generator, device=device)
    gap = torch.where(pad < room - 2 * n, (where * (n + 1)).long(), slots)
    pads = torch.zeros(batch, slots + 1, dtype=torch.long, device=device).scatter_add_(1, gap, torch.ones_like(gap))
    pads_before = pads.cumsum(1)[:, :slots]
    start = torch.where(slot < n, 2 * slot + pads_before, room)  # unused slots fall past the end
    return place(task, variables, values, start, operands)


def place(task: Task, variables: Tensor, values: Tensor, start: Tensor, operands: Tensor) -> Tensor:
    """Token ids (batch, length) of assignments and operands (batch, 2), from where each of them starts, (batch, slots); one
    that does not count starts at `task.room`."""
    batch, room, device = len(start), task.room, start.device
    head = torch.full((batch, room + 2), task.pad, device=device)
    head.scatter_(1, start, task.first_variable + variables)
    head.scatter_(1, start + 1, values)
    plus, equal = (torch.full((batch, 1), token, device=device) for token in (task.plus, task.equal))
    return torch.cat([head[:, :room], plus, operands, equal], 1)


def forms(task: Task, *operands: Sequence[int] | None) -> Tensor:
    """Question forms, weight 1 each: for each operand one of these variables, never the same twice; None is a constant.

    Shape (V + 1, V + 1), left and right: the last row and the last column stand for a constant.
    """
    V = task.n_variables
    table = torch.zeros((V + 1,) * len(operands))
    chosen = [torch.tensor([V] if each is None else list(each), dtype=torch.long) for each in operands]
    table[torch.meshgrid(*chosen, indexing="ij")] = 1
    for one, other in combinations(range(len(operands)), 2):
        table.diagonal(0, one, other)[..., :V] = 0
    return table


@dataclass(frozen=True, eq=False)
class Population:
    """A law of problems: how often each question form is asked, and which pairs of numbers, all equally often.

    `forms` (V + 1, V + 1) holds the weight of each left and right operand (see `forms`), `pairs` (N, N) the
    allowed ordered pairs.  It samples on the device of its tensors.
    """

    task: Task
    forms: Tensor
    pairs: Tensor

    @cached_property
    def _pair_list(self) -> Tensor:
        return self.pairs.nonzero()

    @cached_property
    def _form_list(self) -> Tensor:
        return self.forms.nonzero()

    @cached_property
    def _cumulative(self) -> Tensor:
        return self.forms[self.forms > 0].double().cumsum(0)

    def __bool__(self) -> bool:
        """Whether there is any such problem."""
        return bool(self.forms.sum() > 0) and bool(self.pairs.any())

    def to(self, device: torch.device | str) -> Self:
        """The same law on another device."""
        return replace(self, forms=self.forms.to(device), pairs=self.pairs.to(device))

    def questions(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw `size` questions, as `lay_out` takes them: variables by index (size, 2), and numbers (size, 2)."""
        device = self.forms.device
        draw = torch.rand(size, generator=generator, device=device, dtype=torch.double) * self._cumulative[-1]
        form = torch.searchsorted(self._cumulative, draw, right=True)
        pair = torch.randint(len(self._pair_list), (size,), generator=generator, device=device)
        return self._form_list[form], self._pair_list[pair]

    def sample(self, size: int, generator: torch.Generator) -> Batch:
        """Draw `size` problems; the generator must live on the same device."""
        return lay_out(self.task, *self.questions(size, generator), generator)


def training_population(split: Split, r: float = 1.0) -> Population:
    """The training mixture, 0-var : 1-var left : 1-var right : 2-var = 12 : 10 : 10 : 10r with the study's twelve variables.

    Every 1-var question form weighs 1, the 0-var form as much as there are variables, and all 2-var forms together
    r times the 1-var forms of one side.  ValueError for an r below 0 or not finite.
    """
    if not 0 <= r < math.inf:
        raise ValueError(f"r must be a finite number of at least 0, not {r}")
    task, left, right = split.task, split.variables("left"), split.variables("right")
    two = forms(task, left, right)
    weights = (
        task.n_variables * forms(task, None, None)
        + forms(task, left, None)
        + forms(task, None, right)
        + r * len(left) * two / two.sum()
    )
    return Population(task, weights, split.train_pairs)


def evaluation_populations(split: Split) -> dict[str, Population]:
    """The laws of the nine evaluation sets, by name.

    *add-restricted*: held-out pairs, variables where training puts them.  *var-restricted*: training pairs, with a
    variable where it never stood: for 2-var (1) exactly one of the two operands, (2) both.
    """
    task, left, right = split.task, split.variables("left"), split.variables("right")
    one = forms(task, left, None) + forms(task, None, right)
    one_restricted = forms(task, split.never_left, None) + forms(task, None, split.never_right)
    either = forms(task, split.never_left, right) + forms(task, left, split.never_right)
    both = forms(task, split.never_left, split.never_right)
    seen, unseen = split.train_pairs, split.held_out_pairs
    laws = (
        (forms(task, None, None), seen),
        (forms(task, None, None), unseen),
        (one, seen),
        (one, unseen),
        (one_restricted, seen),
        (forms(task, left, right), seen),
        (forms(task, left, right), unseen),
        (either, seen),
        (both, seen),
    )
    return {name: Population(task, weights, pairs) for name, (weights, pairs) in zip(EVALUATION_SETS, laws)}


def evaluation_sets(split: Split, seed: int = 1, size: int = 2000) -> dict[str, Batch]:
    """The nine evaluation sets, `size` problems each; a set that cannot have any (V = 2, say) is left out."""
    generator = torch.Generator().manual_seed(seed)
    return {name: law.sample(size, generator) for name, law in evaluation_populations(split).items() if law}


def exact_sets(split: Split, seed: int = 2) -> dict[str, Batch]:
    """The final exact evaluation: nothing is sampled but distractors and layout.

    `0-var held-out`: every held-out pair once.  `2-var held-out`: every ordered pair of different variables with
    every held-out pair of numbers, and with every training pair too where training never puts these variables so.
    """
    task, generator = split.task, torch.Generator().manual_seed(seed)
    V, unseen = task.n_variables, split.held_out_pairs.nonzero()
    allowed = forms(task, split.variables("left"), split.variables("right"))[:V, :V].bool()
    different = ~torch.eye(V, dtype=torch.bool)

    def cross(variable_pairs, number_pairs):
        form = variable_pairs.repeat_interleave(len(number_pairs), 0)
        return torch.cat([form, number_pairs.repeat(len(variable_pairs), 1)], 1)

    held_out = cross(different.nonzero(), unseen)
    restricted = cross((different & ~allowed).nonzero(), split.train_pairs.nonzero())
    constant = cross(torch.tensor([[V, V]]), unseen)
    return {
        name: lay_out(task, *rows.split(2, 1), generator)
        for name, rows in {"0-var held-out": constant, "2-var held-out": torch.cat([held_out, restricted])}.items()
    }


def diagnostic_batch(split: Split, seed: int = 3, size: int = 512) -> Batch:
    """The fixed batch of the progress measures: 0-var, 1-var left and 1-var right in equal parts, as in training."""
    task, generator = split.task, torch.Generator().manual_seed(seed)
    kinds = (
        forms(task, None, None),
        forms(task, split.variables("left"), None),
        forms(task, None, split.variables("right")),
    )
    sizes = [(size + 2 - place) // 3 for place in range(3)]
    parts = [Population(task, kind, split.train_pairs).sample(n, generator) for kind, n in zip(kinds, sizes)]
    return Batch(*(torch.cat(column) for column in zip(*parts)))
