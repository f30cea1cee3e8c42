"""What the tests of the hypernetwork companion share."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from types import SimpleNamespace

import pandas as pd
import torch

from assign_add_lib.companions.hypernetwork.data import Teacher
from assign_add_lib.companions.hypernetwork.model import Hypernetwork
from assign_add_lib.companions.hypernetwork.seeds import ArmSeed
from assign_add_lib.companions.hypernetwork.training import GRID, SETS, ArmConfig
from assign_add_lib.engine.sweep import grid

CONFIGS = grid(ArmConfig, [{**part, "seed": [0]} for part in GRID])  # what seed 0 trains for the book
EVERY = [(m,) for m in range(8)] + list(combinations(range(8), 2))


def rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def holding(teacher: Teacher, hidden: int = 32) -> Hypernetwork:
    """A student that holds the teacher's weights; its other units are read out, and stay at zero."""
    student = Hypernetwork(hidden).requires_grad_(False)
    student.modules_.zero_()[:, :8], student.readout.fill_(1)[:, :8] = teacher.modules, teacher.readout
    return student


class FakeSeed(ArmSeed):
    """A seed of untrained runs with made-up metrics, on few tasks."""

    def tasks(self, support, n=0, stream=0):
        return super().tasks(support, 60, stream)


@cache
def fake_load(name):
    """An untrained run of the book; KeyError for a name that it does not train."""
    config = replace(CONFIGS[name], d_model=16, layers=1)
    number = list(CONFIGS).index(name)
    scores = dict(zip(SETS, ([0.1, 0.3 + 0.01 * number, 0.9], [0.1, 0.2, 0.5 + 0.02 * number**2])))
    network = {"config": config, "teacher": config.teacher(), "network": lambda: config.network().requires_grad_(False)}
    return SimpleNamespace(metrics=pd.DataFrame(scores, index=[0, 4000, 8000]), **network)
