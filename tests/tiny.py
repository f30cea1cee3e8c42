"""The toy in milliseconds and with a note, for tests of what no system has a say in."""

from dataclasses import dataclass

import torch
from toy import ToyConfig, ToyLearner, ToyRun

from assign_add_lib.engine.sweep import sweep
from assign_add_lib.engine.system import System


@dataclass(frozen=True)
class TinyConfig(ToyConfig):
    seed: int = 1
    steps: int = 8
    log_every: int = 2
    checkpoint_every: int = 4


class TinyLearner(ToyLearner):
    def notes(self):
        return {"hidden": {"vector": self.hidden.tolist()}}


class TinyRun(ToyRun):
    shelf, kind = "tiny", TinyConfig
    readers = {"hidden": lambda config, values: torch.tensor(values["vector"])}


TINY = System("tiny", TinyConfig, TinyLearner, TinyRun)


def tiny(folder, stop=None, **settings):
    """Train a run into a folder."""
    return TINY.train(TinyConfig(**settings), folder, "cpu", progress=False, stop=stop)


SEEDS = {"seed": [1, 2, 3]}


def tiny_sweep(folder, **options):
    """Train three seeds into a folder, or what is left of them."""
    return sweep(TINY, [SEEDS], folder, jobs=1, progress=False, **options)
