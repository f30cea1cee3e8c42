"""The runs of a seed that chapter 15 measures, the tasks that they are tested on, and what several measures ask of them."""

from functools import cache, cached_property

import torch
from torch import Tensor

from . import analysis
from .data import HELD_OUT, SUPPORTS, Tasks, Teacher
from .training import ArmConfig, ArmRun, answers, load_arm, r_squared, r_squared_of

SEEDS = (0, 1, 2)
STRENGTHS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)  # of ridge regression, tried for the kernel and the blend


class ArmSeed:
    """The runs of one seed, which share a teacher, and what they hold."""

    def __init__(self, seed: int, load=load_arm):
        self.seed, self.load = seed, cache(load)

    def run(self, arm: str, support: str = "connected", **special: bool) -> ArmRun:
        """One run by arm, support and what is special about it: given_code=True or structured=False."""
        return self.load(ArmConfig(arm=arm, support=support, seed=self.seed, **special).name)

    def score(self, of: str, arm: str, support: str = "connected", step: int | None = None, **special: bool) -> float:
        """Mean R^2 of a run on one of the two sets, at the last step by default."""
        metrics = self.run(arm, support, **special).metrics[of]
        return float(metrics.iloc[-1] if step is None else metrics.loc[step])

    @property
    def teacher(self) -> Teacher:
        """The teacher of all structured tasks."""
        return self.run("vanilla").teacher

    def tasks(self, support: str | None, n: int = 1000, stream: int = 0) -> Tasks:
        """Fresh tasks of a support, or of the held-out pairs; `stream` draws others."""
        generator = torch.Generator().manual_seed(3_000_000 + 10 * self.seed + stream)
        return self.teacher.sample(SUPPORTS[support] if support else HELD_OUT, n, generator, queries=32)

    @property
    def probed(self) -> tuple[Tasks, Tasks, Tasks]:
        """Tasks that a probe is fitted to, others of the same support, and held-out pairs."""
        return self.tasks("connected", 2000, 1), self.tasks("connected"), self.tasks(None)

    def refined(self) -> float:
        """Mean R^2 of the hypernetwork arm on held-out pairs, with codes refined on the examples."""
        tasks, network = self.tasks(None, 400), self.run("hypernetwork").network()
        return r_squared_of(analysis.refine(network, tasks), network, tasks).mean().item()

    def vanilla(self) -> float:
        """Mean R^2 of the vanilla arm on the held-out tasks of the floors."""
        return self._mean(answers(self.run("vanilla").network(), self.tasks(None)))

    def nearest(self, tasks: Tasks) -> Tensor:
        """Codes (task, MODULES) of the seen tasks that fit the examples of tasks best."""
        return analysis.nearest_codes(self.teacher, SUPPORTS["connected"], tasks)

    @cached_property
    def blends(self) -> dict[float, float]:
        """Mean R^2 on held-out pairs of the best sum of seen tasks' answers, by the strength of its ridge regression."""
        found = analysis.blends(self.teacher, SUPPORTS["connected"], self.tasks(None), STRENGTHS)
        return dict(zip(STRENGTHS, map(self._mean, found)))

    @cached_property
    def floors(self) -> dict[str, float]:
        """Mean R^2 on held-out pairs of what knows no modules, and of what knows no new mixture."""
        tasks = self.tasks(None)
        found = {
            "ridge regression": analysis.ridge_answers(tasks, 1.0),  # the best of 0.01, 0.1, 0.3, 1 and 3 in seed 0
            "kernel regression": analysis.kernel_answers(tasks, 0.01),  # the best of STRENGTHS on the support, in each seed
            "nearest seen task": self.teacher.solve(self.nearest(tasks), tasks.x).queries[1],
        }
        return {name: self._mean(each) for name, each in found.items()}

    def _mean(self, answered: Tensor) -> float:
        return r_squared(answered, self.tasks(None).queries[1]).mean().item()

    def legible(self, arm: str, trained: bool = True) -> tuple[float, float]:
        """R^2 of a linear probe of the code at the reading token after the last norm: in and out of distribution."""
        network = self.run(arm).network() if trained else self.run(arm).config.network().requires_grad_(False)
        return self._probe([analysis.streams(network, tasks)["reading token"][-1] for tasks in self.probed])

    def legible_outside(self, of: str) -> tuple[float, float]:
        """The same from answers to 128 fixed questions, of an arm or of "kernel regression"; or from "slopes"."""

        def outside(tasks: Tasks) -> Tensor:
            if of == "slopes":
                return analysis.ridge_slopes(tasks)
            fixed = analysis.at_fixed_questions(tasks)
            return analysis.kernel_answers(fixed, 0.01) if of == "kernel regression" else answers(self.run(of).network(), fixed)

        return self._probe([outside(tasks).flatten(1) for tasks in self.probed])

    def _probe(self, seen: list[Tensor]) -> tuple[float, float]:
        pairs = [(each, tasks.z) for each, tasks in zip(seen, self.probed)]
        return tuple(analysis.probe(*pairs[0], *pairs[1:]))


def seeds() -> dict[str, ArmSeed]:
    """The shipped seeds, by name."""
    return {f"seed-{seed}": ArmSeed(seed) for seed in SEEDS}
