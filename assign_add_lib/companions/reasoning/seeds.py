"""The runs of a seed that chapter 14 measures, and the graphs that they are tested on.

Test graphs have one to four times as many nodes as the largest of training and are as deep as they come; all arms of a
seed get the same ones.  Of a run only the last step counts, whatever it gives: this was settled before the runs were made.
"""

from functools import cache

from torch import Generator, Tensor

from .data import Graphs, sample_graphs
from .model import Network
from .training import TOKENS_PASS, ArmConfig, ArmRun, load_arm

SEEDS = (0, 1, 2)
TIMES = (1, 2, 3, 4)  # the sizes of test graphs, in units of the largest in training
GRAPHS = 1000  # of each size, for the two arms that are compared graph by graph
FEWER = 300  # of these, for the others
NETWORKS = (*TOKENS_PASS, "untrained")  # whose inside is looked at
CHUNK = 100  # graphs in one pass


class ReasoningSeed:
    """The runs of one seed, and what they are tested on."""

    def __init__(self, seed: int, load=load_arm):
        self.seed, self.load = seed, cache(load)

    def run(self, arm: str) -> ArmRun:
        """The run of an arm."""
        return self.load(ArmConfig(arm=arm, seed=self.seed).name)

    def generator(self, start: int) -> Generator:
        """A stream of random numbers of the seed's own, told from its others by where it starts."""
        return Generator().manual_seed(start + self.seed)

    def graphs(self, times: int, n: int = GRAPHS) -> Graphs:
        """n test graphs of so many times the most nodes in training, of any depth; once, of no more depth than in training."""
        config, generator = self.run("discrete").config, Generator().manual_seed(3_000_000 + 10 * self.seed + times)
        deepest = config.deepest if times == 1 else None
        return sample_graphs(n, times * config.nodes, generator, config.vocabulary, config.fan_in, deepest)

    def network(self, name: str) -> Network:
        """The network of an arm, or the `untrained` one from which those that pass tokens on began."""
        if name == "untrained":
            return self.run(TOKENS_PASS[0]).config.network().requires_grad_(False)
        return self.run(name).network()


def pieces(graphs: Graphs) -> list[Graphs]:
    """The same graphs in pieces of at most CHUNK."""
    return [graphs.rows(slice(start, start + CHUNK)) for start in range(0, len(graphs.names), CHUNK)]


def fraction(hits: Tensor) -> float:
    """The mean of what is 0 or 1."""
    return hits.double().mean().item()
