"""What the tests of the hypernetwork companion share."""

from itertools import combinations

import torch

from assign_add_lib.companions.hypernetwork.data import Teacher
from assign_add_lib.companions.hypernetwork.model import Hypernetwork

EVERY = [(m,) for m in range(8)] + list(combinations(range(8), 2))


def rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def holding(teacher: Teacher, hidden: int = 32) -> Hypernetwork:
    """A student that holds the teacher's weights; its other units are read out, and stay at zero."""
    student = Hypernetwork(hidden).requires_grad_(False)
    student.modules_.zero_()[:, :8], student.readout.fill_(1)[:, :8] = teacher.modules, teacher.readout
    return student
