"""The setting of the gradient theorem: its sizes, its two strengths, and the coordinates that every vector is written in.

All embeddings are assumed orthonormal, so a vector is the list of coordinates that it has, and a matrix W scores keys
(rows) for queries (columns).  The first 90 coordinates are the rows of `circuits.embedding_table`.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..handmade import blocks
from ..task import STUDY, Task

KAPPA = 2  # what never changes in the query, position 15 and the token `=`, has two coordinates


@dataclass(frozen=True)
class Setting:
    """Sizes and strengths; ValueError for what the theorem cannot hold for.

    `lam` is the score that an operand position starts with, `gamma` the scale of the logits.  A training sequence has
    `assignments` (K) assignments in the slots (0, 1), (2, 3), ..., and its variable is the left operand with probability `rho`.
    """

    task: Task = STUDY
    lam: float = 9.0
    gamma: float = 1e-3
    assignments: int = 1
    rho: float = 0.5

    def __post_init__(self):
        if self.task.n_numbers % 2 == 0 or self.task.room % 2:
            raise ValueError("the theorem needs an odd modulus and a whole number of slots")
        if not 1 <= self.assignments <= min(self.slots, self.task.n_variables):
            raise ValueError(f"there is room for 1 to {min(self.slots, self.task.n_variables)} assignments")
        if not 0 <= self.rho <= 1 or self.gamma <= 0:
            raise ValueError("rho is a probability, and gamma is above 0")

    @property
    def slots(self) -> int:
        """M, the number of places for an assignment."""
        return self.task.room // 2

    @property
    def epsilon(self) -> float:
        """Attention of every position that is no operand, before the step."""
        return 1 / (2 * math.exp(self.lam) + self.task.length - 2)

    @property
    def alpha(self) -> float:
        """Attention of either operand, before the step."""
        return math.exp(self.lam) * self.epsilon

    @property
    def step_size(self) -> float:
        """The theorem's step, V / (2 gamma alpha epsilon (1 - 1/N))."""
        N, V = self.task.n_numbers, self.task.n_variables
        return V / (2 * self.gamma * self.alpha * self.epsilon * (1 - 1 / N))

    @property
    def rho_at(self) -> tuple[float, float]:
        """Probability that the variable stands left, and right."""
        return self.rho, 1 - self.rho

    def initial(self) -> Tensor:
        """W before the step, lam (p_left + p_right) x p_=, (D, D)."""
        task, W = self.task, torch.zeros(2 * [dimensions(self.task)], dtype=torch.float64)
        W[[task.d_vocab + task.left, task.d_vocab + task.right], task.d_vocab + task.last] = self.lam
        return W


def coordinates(task: Task) -> dict[str, slice]:
    """The coordinates by name: the token ids, the positions, then moved variables and moved numbers."""
    N, V = task.n_numbers, task.n_variables
    sizes = {"number": N, "+": 1, "=": 1, "PAD": 1, "variable": V, "position": task.length}
    return blocks(sizes | {"moved variable": V, "moved number": N})


def dimensions(task: Task) -> int:
    """D, the number of coordinates."""
    return coordinates(task)["moved number"].stop
