"""Rules from examples: the claims, and the numbers that they ask the shipped tables for."""

from small import assert_the_same

from assign_add_lib.companions.rules.claims import CLAIMS, sources
from assign_add_lib.companions.rules.tables import load_table
from assign_add_lib.engine.scoreboard import claim_values, load_board


def test_the_shipped_board_comes_out_again():
    values = claim_values(CLAIMS, sources())
    assert_the_same(values, load_board(), CLAIMS, rtol=1e-4)  # of five digits
    right = load_table("combining")["right"]
    assert (values.loc["two layers match ratios"] == right.loc["two layers", "unseen tasks", "no match"]).all()


def test_levels_were_set_before_any_run():
    assert not any(claim.seen for claim in CLAIMS)
