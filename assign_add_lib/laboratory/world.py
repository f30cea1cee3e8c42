"""A world: the study's task, network and training, and what a laboratory may change of them.

A problem has up to six assignments and one question, as in the study.  New are other operations and more operands, and *links*:
an assignment may set a variable to another one, `b=a`, so that a look-up leads to the next.  The defaults are the study's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import torch
from torch import Tensor

from ..engine.learner import setting
from ..model import weight_shapes
from ..task import Task
from ..training import Training

OPERATIONS = {"+": torch.add, "-": torch.sub, "*": torch.mul}
MOST_FORMS = 10**6  # entries of a table over all operands, or all tuples of numbers


@dataclass(frozen=True)
class World(Training):
    """Everything that decides a run, down to its bits on one machine.

    The sequence is laid out as in the study: assignments and PADs, then the operation, the operands, and `=`.
    Some of the variables, the last ones, may never be asked for in training: `unasked` of them are distractors only, and
    after these `unseen` stand in no training problem at all.

    >>> World(operands=3, length=17).task.slots
    6
    >>> World().apply(torch.tensor([[3, 4], [50, 20]]))
    tensor([ 7, 11])
    """

    seed: int = setting(0, "decides split, initialisation and batches")
    steps: int = 20_000
    checkpoint_every: int = 20_000
    name: str = setting("study", "what to call the world")
    n_numbers: int = setting(59, "N, the modulus")
    n_variables: int = setting(12, "V, the variables")
    length: int = setting(16, "T, tokens in a sequence")
    operation: str = setting("+", "or - or *, applied from the left to the right, modulo N")
    operands: int = setting(2, "numbers or variables that a question adds")
    links: bool = setting(False, "half of the assignments set a variable to another one")
    unasked: int = setting(0, "variables that training shows, and never asks for")
    unseen: int = setting(0, "variables that training never shows")
    layers: int = 2
    heads: int = 1

    def __post_init__(self):
        super().__post_init__()
        if not re.fullmatch(r"\w[\w.-]{0,60}", self.name, re.ASCII):
            raise ValueError(f"a world needs a plain name of letters, digits, . _ and -, not {ascii(self.name[:60])}")
        if self.operation not in OPERATIONS:
            raise ValueError(f"operation must be one of {' '.join(OPERATIONS)}, not {self.operation[:20]!r}")
        self.at_least(1, "layers", "heads")
        self.at_least(0, "unasked", "unseen")
        self.at_most(4, "layers", "heads")  # paths multiply by heads + 1 with each layer
        if self.d_model % self.heads:
            raise ValueError(f"d_model ({self.d_model}) must be a multiple of heads ({self.heads})")
        if self.length < self.operands + 6:
            raise ValueError(f"length must be at least {self.operands + 6} for {self.operands} operands, not {self.length}")
        task = self.task
        if not 2 <= self.operands <= 3:
            raise ValueError(f"a question has 2 or 3 operands, not {self.operands}")
        if self.asked < max(2, self.operands):
            raise ValueError(f"training must ask for at least {self.operands} variables, not {self.asked}")
        if self.n_variables - self.unseen < task.slots:
            raise ValueError(f"unseen leaves {self.n_variables - self.unseen} variables for up to {task.slots} assignments")
        needed = self.operands * (2 if self.links else 1)
        if task.slots < needed:
            raise ValueError(f"a question may need {needed} assignments, and only {task.slots} fit")
        largest = max(self.n_numbers, self.n_variables + 1)
        if largest**self.operands > MOST_FORMS:
            raise ValueError(f"{largest} numbers or variables are too many for {self.operands} operands")

    @cached_property
    def task(self) -> Task:
        """The study's task with the same numbers, variables and places for assignments: it gives the token ids up to `+`."""
        return Task(self.n_numbers, self.n_variables, self.length - self.operands + 2)

    @property
    def asked(self) -> int:
        """How many variables training asks for: the first so many."""
        return self.n_variables - self.unasked - self.unseen

    @property
    def never(self) -> tuple[tuple[int, ...], ...]:
        """For each operand the variables, by index, that training never puts there: as in the study, a sixth at either end.

        The first of those asked for never stand last, and the last never stand first.
        """
        many = max(1, self.asked // 6)
        first, last = tuple(range(self.asked - many, self.asked)), tuple(range(many))
        return (first, *((),) * (self.operands - 2), last)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every weight, by name; attention has axes for layer and head, and heads share the width between them."""
        sizes = self.task.d_vocab, self.length, self.n_numbers, self.d_model, self.d_model // self.heads, self.d_mlp
        return weight_shapes(*sizes, self.layers, self.heads)

    def label(self, varied: Sequence[str] = ()) -> str:
        """The run's name, and what else is varied."""
        settings, told = self.settings(), ("name", "seed")
        if self.name != World.name:  # a world with a name of its own is told by it
            varied = ()
        others = [each for each in varied if each not in told and getattr(self, each) != settings[each].default]
        return "_".join([f"{self.name}-{self.seed}", *(f"{each}-{getattr(self, each)}" for each in others)])

    def apply(self, numbers: Tensor) -> Tensor:
        """The answers (batch,) to numbers (batch, operands)."""
        first, *others = numbers.unbind(1)
        return reduce(lambda total, each: OPERATIONS[self.operation](total, each) % self.n_numbers, others, first)

    def text(self, tokens: Tensor) -> str:
        """A sequence (length,) as people write it: `c=1, b=c, b-19=?`."""
        names, room = self.task.names(tokens), self.task.room
        words = [each for each in names[:room] if each != "PAD"]
        assignments = [f"{variable}={value}" for variable, value in zip(words[::2], words[1::2])]
        return ", ".join([*assignments, f"{self.operation.join(names[room + 1 : -1])}=?"])
