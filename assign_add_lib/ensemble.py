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
from .model import Weights
from .training import StudyLearner, TrainConfig, adamw


def _loss(weights: dict[str, Tensor], tokens: Tensor, answers: Tensor) -> Tensor:
    return cross_entropy(last_logits(Weights(**weights), tokens), answers)


class Ensemble:
    """Learners that advance together; their weights and optimiser states become views of stacked ones, (run, ...).

    ValueError unless they share shapes, settings and the step they stand at.
    """

    @staticmethod
    def shared(config: TrainConfig) -> TrainConfig:
        """What runs must have in common to be trained together: all but what decides their data and initialisation."""
        return replace(config, seed=0, train_fraction=0.7, r=1.0)

    def __init__(self, learners: Sequence[StudyLearner]):
        kinds = {(self.shared(learner.config), learner.step, learner.device) for learner in learners}
        if len(kinds) != 1:
            raise ValueError("runs that train together must share all settings but seed, train_fraction and r, and their step")
        self.learners, self.step = list(learners), learners[0].step
        each = [learner.weights.tensors() for learner in learners]
        self.stacked = {name: torch.stack([one[name].detach() for one in each]).requires_grad_() for name in each[0]}
        self.optimizer = adamw(self.stacked, learners[0].config)
        for name, stack in self.stacked.items():
            states = [learner.optimizer.state[one[name]] for learner, one in zip(learners, each)]
            moments = {
                key: torch.stack([state.get(key, torch.zeros_like(one[name])) for state, one in zip(states, each)])
                for key in ("exp_avg", "exp_avg_sq")
            }
            done = torch.tensor(float(self.step), dtype=torch.float32, device=stack.device)
            self.optimizer.state[stack] = {"step": done} | moments
            for run, (learner, one) in enumerate(zip(learners, each)):
                one[name].data = stack.data[run]
                views = {key: moment[run] for key, moment in moments.items()}
                learner.optimizer.state[one[name]] = {"step": done} | views
        self._differentiate = vmap(grad_and_value(_loss))

    def advance(self) -> Tensor:
        """One step of every run on its own fresh batch; returns the losses (run,), raises `Diverged` where one is not finite."""
        batches = [learner.population.sample(learner.config.batch_size, learner.generator) for learner in self.learners]
        tokens, answers = (torch.stack(column) for column in zip(*batches))
        weights = {name: stack.detach() for name, stack in self.stacked.items()}
        gradients, losses = self._differentiate(weights, tokens, answers)
        finite = losses.isfinite()
        if not finite.all():
            worst = int(finite.int().argmin())
            self.learners[worst].finite(losses[worst].item())
        for name, stack in self.stacked.items():
            stack.grad = gradients[name].contiguous()  # the fused optimiser reads both in memory order
        self.optimizer.step()
        self.step += 1
        for learner in self.learners:
            learner.step = self.step
        return losses
