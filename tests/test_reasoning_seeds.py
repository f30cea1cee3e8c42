"""Reasoning in a loop: the runs of a seed and what they are tested on."""

import torch
from loops import untrained_seed

from assign_add_lib.companions.reasoning import seeds
from assign_add_lib.companions.reasoning.training import TOKENS_PASS


def test_test_graphs_are_of_the_size_and_depth_asked_for(seed):
    for times in seeds.TIMES:
        graphs = seed.graphs(times)
        assert graphs.names.shape == (30, 6 * times) and torch.equal(graphs.names, seed.graphs(times).names)
        assert graphs.depth.max() <= 4 or times > 1
    assert seed.graphs(4).depth.max() > 4
    assert not torch.equal(seed.graphs(1).names, untrained_seed(8).graphs(1).names)


def test_pieces_are_the_whole(seed):
    graphs = seed.graphs(2)
    parts = seeds.pieces(graphs)
    assert [len(each.names) for each in parts] == [7, 7, 7, 7, 2]
    assert torch.equal(torch.cat([each.solution for each in parts]), graphs.solution)


def test_networks_are_those_of_the_runs_and_the_one_they_began_from(seed):
    for arm in TOKENS_PASS:  # here no run has begun
        mine, its = seed.network(arm).state_dict(), seed.network("untrained").state_dict()
        assert all(torch.equal(mine[name], weights) and not weights.requires_grad for name, weights in its.items())
