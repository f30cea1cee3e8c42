"""A system that trains in milliseconds, for tests of what no system has a say in: three numbers that follow a target."""

from dataclasses import dataclass

import torch
from torch import Tensor

from assign_add_lib.engine.learner import Config, Learner
from assign_add_lib.engine.runs import RunFolder
from assign_add_lib.engine.sweep import sweep
from assign_add_lib.engine.system import System


@dataclass(frozen=True)
class TinyConfig(Config):
    seed: int = 1
    steps: int = 8
    lr: float = 0.1
    log_every: int = 2
    checkpoint_every: int = 4


class TinyLearner(Learner):
    metrics = ("loss", "size")

    def __init__(self, config, device="cpu"):
        self.target = torch.randn(3, generator=torch.Generator().manual_seed(config.seed))
        tensors = {"w": torch.zeros(3, requires_grad=True)}
        optimizer = torch.optim.AdamW(tensors.values(), config.lr)
        super().__init__(config, tensors, optimizer, torch.Generator().manual_seed(config.seed), device)

    def loss(self) -> Tensor:
        noise = torch.randn(3, generator=self.generator)
        return (self.tensors["w"] - self.target + 0.1 * noise).square().sum()

    def evaluate(self):
        w = self.tensors["w"]
        return {"loss": (w - self.target).square().sum().item(), "size": w.norm().item()}

    def notes(self):
        return {"target": {"w": self.target.tolist()}}


class TinyRun(RunFolder):
    shelf, kind = "tiny", TinyConfig
    readers = {"target": lambda config, values: torch.tensor(values["w"])}

    def tensors(self, step=None):
        def fit(tensors):
            if tensors["w"].shape != (3,):
                raise ValueError
            return {"w": tensors["w"].float()}

        return self.read(step, fit)


TINY = System("tiny", TinyConfig, TinyLearner, TinyRun)


def tiny(folder, stop=None, **settings):
    """Train a run into a folder."""
    return TINY.train(TinyConfig(**settings), folder, "cpu", progress=False, stop=stop)


SEEDS = {"seed": [1, 2, 3]}


def tiny_sweep(folder, **options):
    """Train three seeds into a folder, or what is left of them."""
    return sweep(TINY, [SEEDS], folder, jobs=1, progress=False, **options)
