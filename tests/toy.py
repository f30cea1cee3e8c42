"""A toy system, whole: it finds a hidden vector from its products with random ones."""

from dataclasses import dataclass

import torch

from assign_add_lib.engine.learner import Config, Learner
from assign_add_lib.engine.runs import RunFolder
from assign_add_lib.engine.scoreboard import Claim
from assign_add_lib.engine.system import System


@dataclass(frozen=True)
class ToyConfig(Config):
    seed: int = 0
    steps: int = 60
    width: int = 4
    lr: float = 0.1
    log_every: int = 10
    checkpoint_every: int = 20


class ToyLearner(Learner):
    metrics = ("loss", "distance")

    def __init__(self, config: ToyConfig, device: torch.device | str = "cpu"):
        generator = torch.Generator(device).manual_seed(config.seed)
        self.hidden = torch.randn(config.width, generator=generator, device=device)
        tensors = {"guess": torch.zeros(config.width, device=device, requires_grad=True)}
        super().__init__(config, tensors, torch.optim.Adam(tensors.values(), config.lr), generator, device)

    def loss(self) -> torch.Tensor:
        x = torch.randn(8, self.config.width, generator=self.generator, device=self.device)
        return (x @ (self.tensors["guess"] - self.hidden)).square().mean()

    def evaluate(self) -> dict[str, float]:
        distance = (self.tensors["guess"] - self.hidden).norm().item()
        return {"loss": distance**2, "distance": distance}


class ToyRun(RunFolder):
    shelf, kind, columns = "toys", ToyConfig, ToyLearner.metrics

    def tensors(self, step: int | None = None) -> dict[str, torch.Tensor]:
        return self.read(step, lambda tensors: {"guess": tensors["guess"].float()})


def claims() -> list[Claim]:
    words = "found", "Toys", "toy", "The hidden vector is found.", "distance at the end"
    return [Claim(*words, lambda run: run.metrics["distance"].iloc[-1], 0.3, at_most=True, of="toys")]


def sources() -> dict[str, dict[str, ToyRun]]:
    return {"toys": {name: ToyRun.open(name) for name in ToyRun.shipped()}}


TOY = System("toy", ToyConfig, ToyLearner, ToyRun, ({"width": [2, 4]},), (0, 1), claims=claims, sources=sources)
