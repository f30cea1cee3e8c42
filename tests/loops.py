"""What the tests of the reasoning companion's measures share: runs that have not begun, and few graphs."""

from assign_add_lib.companions.reasoning import seeds, tables
from assign_add_lib.companions.reasoning.training import ArmConfig


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
