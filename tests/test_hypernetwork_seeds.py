"""Composing in context: what a seed holds that several measures ask for."""

import torch
from arms import FakeSeed, fake_load

from assign_add_lib.companions.hypernetwork import analysis
from assign_add_lib.companions.hypernetwork.data import HELD_OUT, SUPPORTS
from assign_add_lib.companions.hypernetwork.seeds import ArmSeed


def test_legible_is_what_a_probe_fitted_in_distribution_reads_in_and_out_of_it(monkeypatch):
    """Here a stream that holds the code of every pair in the support, and of held-out pairs the first four modules alone."""
    half = torch.arange(8) < 4

    def held(network, tasks):
        known = torch.tensor([tuple(code.nonzero().flatten().tolist()) in SUPPORTS["connected"] for code in tasks.z])
        return {"reading token": [torch.zeros(len(known), 8), torch.where(known[:, None] | half, tasks.z, 0.0)]}

    monkeypatch.setattr(analysis, "streams", held)
    inside, outside = ArmSeed(0, load=fake_load).legible("vanilla")
    assert inside > 0.999 and 0.2 < outside < 0.5


def test_floors_are_below_what_knows_the_modules():
    seed = FakeSeed(0, load=fake_load)
    assert set(seed.floors) == {"ridge regression", "kernel regression", "nearest seen task"}
    assert all(0 < value < 0.7 for value in seed.floors.values())
    assert not torch.equal(seed.tasks(None).x, seed.tasks(None, stream=1).x)
    assert {tuple(code.nonzero().flatten().tolist()) for code in seed.tasks(None).z} == set(HELD_OUT)
