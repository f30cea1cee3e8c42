"""Training in a world, as the study trains: AdamW on fresh problems, the loss taken at `=`."""

from functools import cached_property
from types import MappingProxyType

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..engine.learner import Learner
from ..engine.runs import ModuleRun
from ..sampling import Batch
from ..training import BATCH_SEED, adamw, load_run
from .data import draw_split, evaluation_populations, evaluation_sets, training_population
from .model import Network
from .world import World


class WorldLearner(Learner):
    """A run in progress: its split, its law of problems and its network."""

    shown = MappingProxyType({"0-var train": ".2f", "1-var train": ".2f", "2-var train": ".2f"})

    def __init__(self, world: World, device: torch.device | str = "cpu"):
        self.split = draw_split(world)
        self.metrics = ("loss", *evaluation_populations(world, self.split))
        self.population = training_population(world, self.split).to(device)
        self.network = world.network().to(device)
        tensors, generator = dict(self.network.named_parameters()), torch.Generator(device).manual_seed(BATCH_SEED + world.seed)
        super().__init__(world, tensors, adamw(tensors, world), generator, device)

    def loss_on(self, batch: Batch) -> Tensor:
        """The loss at `=`."""
        return cross_entropy(self.network(batch.tokens), batch.answers)

    def loss(self) -> Tensor:
        """The loss on a fresh batch."""
        return self.loss_on(self.population.sample(self.config.batch_size, self.generator))

    @cached_property
    def _evaluated_on(self) -> tuple[Batch, dict[str, Batch]]:
        """What loss and accuracies are taken on: always the same problems."""
        unseen = training_population(self.config, self.split).sample(1000, torch.Generator().manual_seed(4))
        sets = {name: batch.to(self.device) for name, batch in evaluation_sets(self.config, self.split).items()}
        return unseen.to(self.device), sets

    def evaluate(self) -> dict[str, float]:
        """The loss on 1000 training problems, and the accuracy on 1000 problems of each set."""
        unseen, sets = self._evaluated_on
        return {"loss": self.loss_on(unseen).item()} | {name: accuracy(self.network, batch) for name, batch in sets.items()}


@torch.no_grad()
def answers(network: Network, tokens: Tensor, chunk: int = 1000) -> Tensor:
    """The number (batch,) that the network finds most likely at `=`."""
    return torch.cat([network(part).argmax(1) for part in tokens.split(chunk)])


def accuracy(network: Network, batch: Batch) -> float:
    """Share of problems answered right."""
    return (answers(network, batch.tokens) == batch.answers).double().mean().item()


class Untrained:
    """A world's network before training, in place of a run."""

    def __init__(self, world: World):
        self.world, self.split = world, draw_split(world)
        self.metrics = pd.DataFrame(0.0, index=[0], columns=list(evaluation_populations(world, self.split)))

    def network(self) -> Network:
        """The network, frozen."""
        return self.world.network().requires_grad_(False)


class StudyRun:
    """A shipped run of the study, as measures of the laboratory ask for it: the control that is there already."""

    def __init__(self, name: str):
        run = load_run(name)
        self.world, self.weights = World(seed=run.config.seed), run.weights()
        self.split, self.metrics = run.split.train_pairs, run.metrics

    def network(self) -> Network:
        """The network at the last step, frozen."""
        network = self.world.network().requires_grad_(False)
        with_heads = {name: each[:, None] if each.dim() == 3 else each for name, each in self.weights.tensors().items()}
        network.load_state_dict(with_heads)
        return network


class WorldRun(ModuleRun):
    """A run in a world: its world, metrics, and the network at its checkpoints."""

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
