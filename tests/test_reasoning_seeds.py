"""Reasoning in a loop: the runs of a seed and what they are tested on."""

import torch
from loops import untrained_seed

from assign_add_lib.companions.reasoning import seeds
from assign_add_lib.companions.reasoning.model import ARMS
from assign_add_lib.companions.reasoning.training import TOKENS_PASS, answers


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


def test_right_nodes_are_those_of_the_answers(seed):
    for arm in ARMS:
        graphs = seed.graphs(2, seeds.GRAPHS)
        assert torch.equal(seed.right(arm, 2), answers(seed.run(arm).network(), arm, graphs) == graphs.solution)


def test_networks_are_those_that_pass_tokens_on_and_the_one_they_began_from(seed):
    found = dict(seed.networks())
    assert list(found) == [*TOKENS_PASS, "untrained"]
    for arm in TOKENS_PASS:  # here no run has begun
        assert all(torch.equal(mine, found["untrained"].state_dict()[name]) for name, mine in found[arm].state_dict().items())
