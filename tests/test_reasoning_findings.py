"""Reasoning in a loop: the numbers that sum up a seed, on tables in which it is known what stands where."""

import pytest
from test_reasoning_claims import table

from assign_add_lib.companions.reasoning import findings
from assign_add_lib.companions.reasoning.training import TOKENS_PASS


@pytest.mark.parametrize("arm", TOKENS_PASS)
def test_the_smallest_group_that_carries_all_is_found(arm):
    assert findings.collecting(table(), arm) == "1 and 3"
    alone = {("exchanges", f"{arm}, layer 2, at the sum, heads 2", "all"): 0.91}
    assert findings.collecting(table(rows=alone), arm) == "2"
    better = {("exchanges", f"{arm}, layer 2, at the sum, heads 2 and 4", "all"): 0.99,
              ("exchanges", f"{arm}, layer 2, at the sum, heads 1 and 3", "all"): 0.95}  # fmt: skip
    assert findings.collecting(table(rows=better), arm) == "2 and 4"


def test_rows_of_moved_operands_are_the_groups_of_heads():
    moved = findings.moved_by(table(), "discrete")
    assert len(moved) == 16 and moved.loc["1 and 3", "all"] == 1 and moved.loc["none", "none"] == 1


def test_a_shift_is_judged_by_its_worst_pair_of_counts():
    assert findings.shifted(table(), "discrete", 2, 4) == 0.2 and findings.shifted(table(), "discrete", 2, 1) == 1
    one = {("counts", "discrete, layer 1, head 2, shift to 3", "adds 1"): 0.6}
    own = {("counts", "discrete, layer 1, head 2, shift to 3", "adds 3"): 0.1}  # no shift at all
    assert findings.shifted(table(rows=one | own), "discrete", 1, 2) == 0.6


def test_moved_sums_come_in_the_order_of_places():
    assert findings.moved_at(table(), "corrected").to_list() == [1, 0, 1]


def test_gains_stand_by_layer_and_head():
    value, syntax = ("corrected, layer 2, head 3", "gain: value"), ("corrected, layer 1, head 4", "gain: syntax")
    found = findings.gains(table(rows={("heads", *value): 6.0, ("heads", *syntax): 3.0}), "corrected")
    assert found.shape == (8, 4) and found.loc[(2, 3), "value"] == 6 and found.loc[(1, 4), "syntax"] == 3
    assert found.sum().sum() == 30 + 9
