"""What the tests of the reasoning companion share: small graphs and networks, and runs that have not begun."""

import torch

from assign_add_lib.companions.reasoning import seeds, tables
from assign_add_lib.companions.reasoning.data import Vocabulary, sample_graphs
from assign_add_lib.companions.reasoning.model import Network
from assign_add_lib.companions.reasoning.training import ArmConfig

SMALL = Vocabulary(modulus=5, names=12)


def rng(seed):
    return torch.Generator().manual_seed(seed)


def some_graphs(n=12, nodes=6, seed=2, **options):
    return sample_graphs(n, nodes, rng(seed), SMALL, **options)


def random_network(blocks=1):
    """A small network in double precision, with weights large enough that attention is far from even."""
    torch.manual_seed(0)
    made = Network(SMALL, blocks, 16, 2, 24, mimetic=False).double().requires_grad_(False)
    for weights in made.parameters():
        weights += 0.3 * torch.randn(weights.shape, generator=rng(1), dtype=torch.float64)
    return made


class Untrained:
    """A run of an arm that has not begun."""

    def __init__(self, name):
        arm, seed = name.rsplit("-", 1)
        self.config = ArmConfig(arm=arm, seed=int(seed), modulus=5, names=24, nodes=6, d_model=16, d_mlp=24, heads=2)

    def network(self):
        return self.config.network().requires_grad_(False)


def untrained_seed(number=7):
    return seeds.ReasoningSeed(number, Untrained)


def draw_few(monkeypatch):
    """At most 30 test graphs, in pieces of 7."""
    graphs = seeds.ReasoningSeed.graphs
    monkeypatch.setattr(seeds.ReasoningSeed, "graphs", lambda seed, times, n=30: graphs(seed, times, min(n, 30)))
    for module in (seeds, tables):
        monkeypatch.setattr(module, "CHUNK", 7)
