"""Branches of runs that look nothing up: `=` is helped to read names in layer 1, and training goes on.

The runs of the laboratory with one head whose look-up never came end alike: in layer 1 `=` reads typed numbers and hardly a
name, so that layer 2 has nothing to ask by.  Is this what holds them?  Fixed before any branch was trained:

- *names*: all through the branch, what `=` scores names in layer 1 is raised, by so much that at the beginning it reads a name
  as much as a typed number.  The weights are free to undo this.
- *numbers*: the same amount, for as many numbers drawn at random: what a change of this size does by itself.
- *unchanged*: the run goes on.

Modulo 60 and 29 it is predicted that within 5000 steps the look-up comes in *names* and in neither of the others.  With
subtraction it is predicted not to come in *names* either, since there a look-up in layer 2 helps one side and harms the other.
In a world of links it is predicted to come in *names*, for numbers.  *Comes* is `comes`, of the branch's own rows.
"""

import math
from pathlib import Path
from typing import Self

import pandas as pd
import torch
from torch import Tensor, nn

from ..analysis.phases import arrival, way_up
from .analysis import base, problems
from .model import Network
from .parsing import Parsed
from .training import WorldLearner, WorldRun

STEPS = 5000
EVERY = 100  # steps between rows
OF = "1-var train"
BRANCHES = ("names", "numbers", "unchanged")
RUNS = {
    **dict.fromkeys(("modulus-60-0", "modulus-29-1", "modulus-29-2"), BRANCHES),
    **dict.fromkeys((f"subtraction-{seed}" for seed in range(3)), ("names", "unchanged")),
    **dict.fromkeys((f"chain-two-layers-{seed}" for seed in range(3)), ("names", "unchanged")),
}
SHIPPED = "laboratory-branches.csv"


class Helped(Network):
    """A network whose last position, `=`, scores each token in layer 1 higher than its weights say, by `help` (d_vocab,)."""

    help: Tensor

    @classmethod
    def of(cls, network: Network, help: Tensor) -> Self:
        """The same network, with the same weights to be trained, and with help."""
        helped = cls.__new__(cls)
        nn.Module.__init__(helped)
        helped.d_vocab, helped.length, helped.help = network.d_vocab, network.length, help
        for name, weights in network.named_parameters():
            helped.register_parameter(name, weights)
        return helped

    def _pattern(self, qk: Tensor, paths: list, tokens: Tensor) -> Tensor:
        pattern = super()._pattern(qk, paths, tokens)
        if len(paths) > 1:  # a later layer
            return pattern
        read = pattern[:, -1] * self.help.exp()[tokens]
        return torch.cat([pattern[:, :-1], (read / read.sum(1, keepdim=True))[:, None]], 1)


@torch.no_grad()
def gap(run: WorldRun) -> float:
    """By how much `=` scores a typed number above a name in layer 1, the mean over problems with one variable; for one head."""
    tokens = problems(run, OF).tokens[:1000]
    read = run.network().plain(tokens).patterns[:, 0, 0, -1, run.world.task.room + 1 : -1]
    asked = Parsed(run.world, tokens).asked
    return (read[~asked].log() - read[asked].log()).mean().item()


def branched(run: WorldRun, state: Path, branch: str) -> pd.DataFrame:
    """The rows of one branch of a run: the steps since it began, and accuracies, with the help in place.

    `state` is where training left off; ValueError for an unknown branch.
    """
    if branch not in BRANCHES:
        raise ValueError(f"a branch is one of {', '.join(BRANCHES)}, not {branch!r}")
    task, learner = run.world.task, WorldLearner(run.world)
    learner.load(state)
    start = learner.step
    if branch != "unchanged":
        names = task.first_variable + torch.arange(task.n_variables)
        drawn = torch.randperm(task.n_numbers, generator=torch.Generator().manual_seed(run.world.seed))[: task.n_variables]
        help = torch.zeros(task.d_vocab).index_fill(0, names if branch == "names" else drawn, gap(run))
        learner.network = Helped.of(learner.network, help)
    rows = [{"step": 0} | learner.evaluated()]
    while learner.step < start + STEPS:
        learner.advance()
        if (learner.step - start) % EVERY == 0:
            rows.append({"step": learner.step - start} | learner.evaluated())
    return pd.DataFrame(rows)


def comes(run: WorldRun, rows: pd.DataFrame) -> float:
    """The step of a branch from which its look-up stays more than halfway from the shortcut to 1; infinite if it never does."""
    step = arrival(rows.set_index("step")[OF], way_up(0.5, base(run, OF)))
    return math.inf if step is None else float(step)
