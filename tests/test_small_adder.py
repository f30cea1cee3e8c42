"""The small adder: what it sees it learns at once, and new pairs later, if weights decay."""

import torch

from assign_add_lib.views import small_adder


def test_pairs_are_all_and_in_one_order():
    pairs = small_adder.pairs_of(7)
    assert {(x, y) for x in range(7) for y in range(x, 7)} == set(map(tuple, pairs.tolist())) and len(pairs) == 28


def test_new_pairs_follow_with_weight_decay_alone():
    generator = torch.Generator().manual_seed(0)
    start = small_adder.untrained(29, generator)
    seen = torch.rand(len(small_adder.pairs_of(29)), generator=generator) < 0.8
    for decay, most in ((0, 0.1), (1, 1)):
        history, weights = small_adder.train(start, seen, decay, 300)
        assert history["seen"].iloc[-1] == 1 and history["new"].iloc[50] < 0.2
        assert most - 0.15 <= history["new"].iloc[-1] <= most
        assert all((one != other).any() for one, other in zip(start, weights))  # the start is left as it was
