"""Training: what decides a run, one step of it, and its folder."""

from dataclasses import dataclass

import torch
from torch import Tensor

from assign_add_lib.engine.learner import Config, Learner
from assign_add_lib.engine.runs import ModuleRun

from .data import examples, hidden_vector
from .model import Guess


@dataclass(frozen=True)
class ToyConfig(Config):
    """All that decides a run."""

    seed: int = 0
    steps: int = 60
    width: int = 4
    lr: float = 0.1
    log_every: int = 10
    checkpoint_every: int = 20

    def network(self) -> Guess:
        """The untrained network."""
        return Guess(self.width)


class ToyLearner(Learner):
    """A run in progress."""

    metrics = ("loss", "distance")

    def __init__(self, config: ToyConfig, device: torch.device | str = "cpu"):
        self.hidden = hidden_vector(config.width, config.seed).to(device)
        self.network = config.network().to(device)
        tensors = dict(self.network.named_parameters())
        optimizer = torch.optim.Adam(tensors.values(), config.lr)
        generator = torch.Generator(device).manual_seed(10**6 + config.seed)
        super().__init__(config, tensors, optimizer, generator, device)

    def loss(self) -> Tensor:
        """The mean squared error on fresh examples."""
        x, y = examples(self.hidden, 8, self.generator)
        return (self.network(x) - y).square().mean()

    def evaluate(self) -> dict[str, float]:
        """The distance from the hidden vector; squared, the expected loss."""
        distance = (self.network.guess - self.hidden).norm().item()
        return {"loss": distance**2, "distance": distance}


class ToyRun(ModuleRun):
    """A finished run, as it is read and shipped."""

    shelf, kind = "companions/toy", ToyConfig
