"""The runs of a seed that chapter 14 measures, and the graphs that they are tested on.

Test graphs have one to four times as many nodes as the largest of training and are as deep as they come; all arms of a
seed get the same ones.  Of a run only the last step counts, whatever it gives: this was settled before the runs were made.
"""

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from .data import Graphs, sample_graphs
from .model import Network
from .training import TOKENS_PASS, ArmConfig, ArmRun, answers, load_arm

SEEDS = (0, 1, 2)
TIMES = (1, 2, 3, 4)  # the sizes of test graphs, in units of the largest in training
GRAPHS = 1000  # of each size, for the two arms that are compared graph by graph
FEWER = 300  # of these, for the others
CHUNK = 100  # graphs in one pass
Table = dict[tuple[str, str], float]


class ReasoningSeed:
    """The runs of one seed, and what they are tested on."""

    def __init__(self, seed: int, load=load_arm):
        self.seed, self.load = seed, cache(load)

    def run(self, arm: str) -> ArmRun:
        """The run of an arm."""
        return self.load(ArmConfig(arm=arm, seed=self.seed).name)

    def graphs(self, times: int, n: int = GRAPHS) -> Graphs:
        """n test graphs of so many times the most nodes in training, of any depth; once, of no more depth than in training."""
        config, generator = self.run("discrete").config, torch.Generator().manual_seed(3_000_000 + 10 * self.seed + times)
        deepest = config.deepest if times == 1 else None
        return sample_graphs(n, times * config.nodes, generator, config.vocabulary, config.fan_in, deepest)

    @cache  # noqa: B019 - a seed lives as long as its measures
    def right(self, arm: str, times: int) -> Tensor:
        """Whether each node of the test graphs is right, (graph, node); of FEWER graphs for arms that pass no tokens on."""
        graphs, network = self.graphs(times, GRAPHS), self.run(arm).network()
        drawn = graphs if arm in TOKENS_PASS else graphs.rows(slice(FEWER))
        return torch.cat([answers(network, arm, each) == each.solution for each in pieces(drawn)])

    def networks(self) -> Iterator[tuple[str, Network]]:
        """The networks that pass tokens on, and the untrained one from which both began, with their names in tables."""
        for arm in TOKENS_PASS:
            yield arm, self.run(arm).network()
        yield "untrained", self.run(TOKENS_PASS[0]).config.network().requires_grad_(False)


def pieces(graphs: Graphs) -> list[Graphs]:
    """The same graphs in pieces of at most CHUNK."""
    return [graphs.rows(slice(start, start + CHUNK)) for start in range(0, len(graphs.names), CHUNK)]


def seeds() -> dict[str, ReasoningSeed]:
    """The shipped seeds, by name."""
    return {f"seed-{seed}": ReasoningSeed(seed) for seed in SEEDS}
