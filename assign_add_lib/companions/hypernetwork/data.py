"""The teacher: regression tasks that mix shared modules, and the combinations of modules that training may see.

A task is y = A relu(W x) with W = (z_1 Theta_1 + ... + z_8 Theta_8) / sqrt(2): the code z says which modules are active
and how strongly; one or two of the eight are.  Kobayashi, Schug et al., arXiv 2407.12275, at a size of our own.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import torch
from torch import Tensor

MODULES, INPUTS, HIDDEN, OUTPUTS = 8, 8, 8, 2
CONTEXT, QUERIES = 16, 16  # solved examples and questions of one task
ACTIVE = 2  # modules that a task mixes at most
WEAKEST = 0.5  # an active module's strength is uniform on [WEAKEST, 1]

Pair = tuple[int, int]
Support = list[tuple[int, ...]]  # combinations of modules
SINGLES = [(module,) for module in range(MODULES)]
PAIRS = list(combinations(range(MODULES), 2))
COMBINATIONS = SINGLES + PAIRS


def ring_distance(pair: Pair) -> int:
    """Steps between two modules when the eight stand in a ring."""
    apart = abs(pair[0] - pair[1])
    return min(apart, MODULES - apart)


def _same_half(pair: Pair) -> bool:
    return pair[0] // 4 == pair[1] // 4


SUPPORTS: dict[str, Support] = {
    # every module meets every other through a chain of pairs
    "connected": SINGLES + [pair for pair in PAIRS if ring_distance(pair) <= 2],
    # two halves that never meet
    "disconnected": SINGLES + [pair for pair in PAIRS if _same_half(pair)],
    # as many pairs as "disconnected", each module in three of them, and yet all in one chain
    "connected-12": SINGLES + [p for p in PAIRS if ring_distance(p) == 1 or p in [(0, 2), (1, 3), (4, 6), (5, 7)]],
}
HELD_OUT = [pair for pair in PAIRS if ring_distance(pair) > 2 and not _same_half(pair)]  # in no support: the same test for all


class Tasks(NamedTuple):
    """Tasks with their examples: z are their codes, x and y what can be seen."""

    z: Tensor  # (task, MODULES)
    x: Tensor  # (task, CONTEXT + queries, INPUTS)
    y: Tensor  # (task, CONTEXT + queries, OUTPUTS)

    @property
    def context(self) -> tuple[Tensor, Tensor]:
        """x and y of the solved examples."""
        return self.x[:, :CONTEXT], self.y[:, :CONTEXT]

    @property
    def queries(self) -> tuple[Tensor, Tensor]:
        """x and y of the questions."""
        return self.x[:, CONTEXT:], self.y[:, CONTEXT:]


def execute(W: Tensor, readout: Tensor, x: Tensor) -> Tensor:
    """The task network: relu(W x), read out; W (task, hidden, INPUTS), readout (OUTPUTS, hidden), x (task, n, INPUTS)."""
    return (x @ W.mT).relu() @ readout.T


def mix(z: Tensor, modules: Tensor) -> Tensor:
    """The weights of tasks: W = sum_m z_m Theta_m / sqrt(ACTIVE); z (task, m), modules (m, hidden, INPUTS)."""
    return torch.einsum("tm,mui->tui", z, modules) / math.sqrt(ACTIVE)


@dataclass(frozen=True)
class Teacher:
    """The modules behind all tasks of one seed, and the readout that they share.

    Structured, each module is the same in every combination.  Unstructured, each combination has modules of its own, so
    that what is learned from one says nothing of another: the control.
    """

    modules: Tensor  # (MODULES, HIDDEN, INPUTS); unstructured: (combination, MODULES, HIDDEN, INPUTS)
    readout: Tensor  # (OUTPUTS, HIDDEN)

    @classmethod
    def draw(cls, seed: int, structured: bool = True) -> "Teacher":
        """Draw a teacher: modules N(0, 3/8), a readout N(0, 1/8) rescaled so that y has standard deviation 1."""
        generator = torch.Generator().manual_seed(seed)
        modules = torch.randn(MODULES, HIDDEN, INPUTS, generator=generator)
        readout = torch.randn(OUTPUTS, HIDDEN, generator=generator) * math.sqrt(1 / HIDDEN)
        if not structured:
            modules = torch.randn(len(COMBINATIONS), MODULES, HIDDEN, INPUTS, generator=generator)
        teacher = cls(modules * math.sqrt(3 / INPUTS), readout)
        y = teacher.sample(COMBINATIONS, 8192, generator).y
        return cls(teacher.modules, readout / y.std())

    def to(self, device: torch.device | str) -> "Teacher":
        """The same teacher on a device."""
        return Teacher(self.modules.to(device), self.readout.to(device))

    def sample(self, support: Support, n: int, generator: torch.Generator, queries: int = QUERIES) -> Tasks:
        """n tasks whose modules are drawn from the combinations of a support, all equally often."""
        random = {"generator": generator, "device": generator.device}
        active = torch.tensor([[float(module in modules) for module in range(MODULES)] for modules in support])
        which = torch.randint(len(support), (n,), **random)
        z = active.to(generator.device)[which] * (WEAKEST + (1 - WEAKEST) * torch.rand(n, MODULES, **random))
        x = 2 * torch.rand(n, CONTEXT + queries, INPUTS, **random) - 1
        if self.modules.dim() == 3:
            return self.solve(z, x)
        places = torch.tensor([COMBINATIONS.index(modules) for modules in support], device=generator.device)
        W = torch.einsum("tm,tmui->tui", z, self.modules[places[which]]) / math.sqrt(ACTIVE)
        return Tasks(z, x, execute(W, self.readout, x))

    def solve(self, z: Tensor, x: Tensor) -> Tasks:
        """The tasks of given codes on given inputs, for a structured teacher."""
        return Tasks(z, x, execute(mix(z, self.modules), self.readout, x))
