"""Ensembles: runs that share shapes, trained together with a leading run dimension.

Small networks leave a GPU idle.  Side by side they fill it: `vmap` turns the loss of one network into the losses of all,
and one optimiser moves all weights at once.  Each run keeps its own split, batches, folder and files, as if alone.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap
from torch.nn.functional import cross_entropy

from .circuits import last_logits
from .log import Diverged, Log
from .model import Weights
from .training import TrainConfig, Trainer, adamw


def shared(config: TrainConfig) -> TrainConfig:
    """What runs must have in common to be trained together: all but what decides their data and initialisation."""
    return replace(config, seed=0, train_fraction=0.7, r=1.0)


def _loss(weights: dict[str, Tensor], tokens: Tensor, answers: Tensor) -> Tensor:
    return cross_entropy(last_logits(Weights(**weights), tokens), answers)


class Ensemble:
    """Trainers that advance together; their weights and optimiser states become views of stacked ones, (run, ...).

    ValueError unless they share shapes, settings and the step they stand at.
    """

    def __init__(self, trainers: Sequence[Trainer]):
        kinds = {(shared(trainer.config), trainer.step, trainer.device) for trainer in trainers}
        if len(kinds) != 1:
            raise ValueError("runs that train together must share all settings but seed, train_fraction and r, and their step")
        self.trainers, self.step = list(trainers), trainers[0].step
        each = [trainer.weights.tensors() for trainer in trainers]
        self.stacked = {name: torch.stack([one[name].detach() for one in each]).requires_grad_() for name in each[0]}
        self.optimizer = adamw(self.stacked, trainers[0].config)
        for name, stack in self.stacked.items():
            states = [trainer.optimizer.state[one[name]] for trainer, one in zip(trainers, each)]
            moments = {
                key: torch.stack([state.get(key, torch.zeros_like(one[name])) for state, one in zip(states, each)])
                for key in ("exp_avg", "exp_avg_sq")
            }
            done = torch.tensor(float(self.step), dtype=torch.float32, device=stack.device)
            self.optimizer.state[stack] = {"step": done} | moments
            for run, (trainer, one) in enumerate(zip(trainers, each)):
                one[name].data = stack.data[run]
                views = {key: moment[run] for key, moment in moments.items()}
                trainer.optimizer.state[one[name]] = {"step": done} | views
        self._differentiate = vmap(grad_and_value(_loss))

    def advance(self) -> Tensor:
        """One step of every run on its own fresh batch; returns the losses (run,), raises `Diverged` where one is not finite."""
        batches = [trainer.population.sample(trainer.config.batch_size, trainer.generator) for trainer in self.trainers]
        tokens, answers = (torch.stack(column) for column in zip(*batches))
        weights = {name: stack.detach() for name, stack in self.stacked.items()}
        gradients, losses = self._differentiate(weights, tokens, answers)
        finite = losses.isfinite()
        if not finite.all():
            worst = int(finite.int().argmin())
            raise Diverged(self.trainers[worst], losses[worst].item())
        for name, stack in self.stacked.items():
            stack.grad = gradients[name].contiguous()  # the fused optimiser reads both in memory order
        self.optimizer.step()
        self.step += 1
        for trainer in self.trainers:
            trainer.step = self.step
        return losses


def train_together(logs: Sequence[Log]) -> None:
    """Train the runs of these logs to their end, writing down each as `train` does; `Diverged` leaves all as last kept."""
    ensemble = Ensemble([log.trainer for log in logs])
    while ensemble.step < logs[0].trainer.config.steps:
        ensemble.advance()
        if logs[0].due:
            for log in logs:
                log.keep()
