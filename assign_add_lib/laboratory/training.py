"""Training in a world, as the study trains: its evaluation sets, its runs, and what stands in for a run."""

from functools import cached_property

import pandas as pd
import torch
from torch import Tensor

from ..model import Weights
from ..sampling import Batch
from ..training import NetworkLearner, NetworkRun, load_run
from .data import draw_split, evaluation_populations, evaluation_sets, training_population
from .paths import last_logits
from .world import World


class WorldLearner(NetworkLearner):
    """A run in progress in a world."""

    logits = staticmethod(last_logits)

    def __init__(self, world: World, device: torch.device | str = "cpu"):
        self.split = draw_split(world)
        self.metrics = ("loss", *evaluation_populations(world, self.split))
        super().__init__(world, training_population(world, self.split), device)

    @cached_property
    def _evaluated_on(self) -> tuple[Batch, dict[str, Batch]]:
        """What loss and accuracies are taken on: always the same problems."""
        unseen = training_population(self.config, self.split).sample(1000, torch.Generator().manual_seed(4))
        sets = {name: batch.to(self.device) for name, batch in evaluation_sets(self.config, self.split).items()}
        return unseen.to(self.device), sets

    def evaluate(self) -> dict[str, float]:
        """The loss on 1000 training problems, and the accuracy on 1000 problems of each set."""
        unseen, sets = self._evaluated_on
        scores = {name: share_of(self.logits(self.weights, tokens).argmax(1) == right) for name, (tokens, right) in sets.items()}
        return {"loss": self.loss_on(unseen).item()} | scores


@torch.no_grad()
def answers(weights: Weights, tokens: Tensor) -> Tensor:
    """The number (batch,) that the network finds most likely at `=`."""
    return torch.cat([last_logits(weights, part).argmax(1) for part in tokens.split(1000)])


def share_of(marks: Tensor) -> float:
    """The share of marks that are true."""
    return marks.double().mean().item()


class Untrained:
    """A world's network before training, in place of a run."""

    def __init__(self, world: World):
        self.world, self.split, self.weights = world, draw_split(world), world.weights
        self.metrics = pd.DataFrame(0.0, index=[0], columns=list(evaluation_populations(world, self.split)))


class StudyRun:
    """A shipped run of the study at a step, as measures of the laboratory ask for it: the control that is there already."""

    def __init__(self, name: str, step: int | None = None):
        run = load_run(name)
        self.world, self.split, self.metrics = World(seed=run.config.seed), run.split.train_pairs, run.metrics
        self.weights = lambda: run.weights(step)


class WorldRun(NetworkRun):
    """A run in a world: its world, metrics, and the weights at its checkpoints."""

    shelf, kind = "laboratory", World

    @property
    def world(self) -> World:
        """What decided it."""
        return self.config

    @cached_property
    def split(self) -> Tensor:
        """The tuples of numbers that it was trained on."""
        return draw_split(self.config)


load_world_run = WorldRun.open
