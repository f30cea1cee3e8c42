"""Rules from examples: the claims, and the numbers that they ask the shipped tables for."""

from small import assert_the_same

from assign_add_lib.companions.rules.claims import CLAIMS, PAPER, SOURCE, sources
from assign_add_lib.companions.rules.tables import load_table
from assign_add_lib.engine.scoreboard import claim_values, load_board


def test_the_shipped_board_comes_out_again():
    values = claim_values(CLAIMS, sources())
    assert_the_same(values, load_board(), CLAIMS, rtol=1e-4)  # of five digits
    right = load_table("combining")["right"]
    assert (values.loc["two layers match ratios"] == right.loc["two layers", "unseen tasks", "no match"]).all()


def test_claims_are_of_this_source_and_say_where_they_come_from():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS) == 14 and {claim.of for claim in CLAIMS} == {SOURCE}
    assert {claim.origin for claim in CLAIMS} == {PAPER, "chapter 16"}
    assert not any(claim.seen for claim in CLAIMS)  # levels were set before any run
