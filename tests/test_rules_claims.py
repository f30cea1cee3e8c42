"""Rules from examples: each claim asks for the entry of the tables that its words name."""

import pandas as pd
import pytest

from assign_add_lib.companions.rules.claims import CLAIMS, PAPER, SOURCE

BY_NAME = {claim.name: claim for claim in CLAIMS}


def table(**rows):
    """Measures of a seed, by (measure, row, column)."""
    arms, found = ("four layers", "two layers", "one layer", "plain"), {}
    for i, arm in enumerate(arms):
        found |= {("shots", f"{arm}, unseen tasks", "15 examples"): 0.7 - i / 10}
        found |= {("combining", f"{arm}, unseen tasks", kind): 0.2 + i / 100 for kind in ("one match", "no match")}
    found |= {("shots", "ratio matching, unseen tasks", "15 examples"): 1 / 7 + 0.8}
    found |= {("course", "four layers, unseen tasks", column): each for column, each in (("best", 0.75), ("last", 0.7))}
    for name, share in (("the match", 0.6), ("another", 0.9)):
        found |= {("wrong examples", f"four layers, unseen tasks, {name} wrong", "moved"): share,
                  ("wrong examples", f"four layers, unseen tasks, {name} wrong", "kept"): 1 - share / 2}  # fmt: skip
    for head in (1, 2):
        row = f"four layers, layer 3, head {head}"
        found |= {("reading", row, "a multiple, z"): 0.1 * head, ("reading", row, "another direction, z"): 0.05,
                  ("numbers", row, "largest wave"): 0.3 * head, ("numbers", row, "null"): 0.2 * head}  # fmt: skip
    found["numbers", "four layers, embedding", "sums, largest wave"] = 1.0
    for depth in range(3):
        for place in ("its y", "the match's z"):
            for i, answer in enumerate(("c z", "c' z", "c z'", "c' z'")):
                found["exchanges", f"four layers, {place}, depth {depth}", answer] = 1.0 if depth == 0 else i * depth / 10
    return pd.Series(found | rows).rename_axis(["measure", "row", "column"])


@pytest.mark.parametrize(
    "name, value",
    [
        ("unseen tasks by rule", (0.7 - 1 / 7) / 0.8),
        ("two layers suffice", (0.6 - 1 / 7) / 0.8),
        ("one layer does not", (0.5 - 1 / 7) / 0.8),
        ("the plain recipe memorises here", 0.4),
        ("four layers above two", 0.1),
        ("two layers match ratios", 0.21),
        ("four layers combine examples", 0.2),
        ("generalisation fades", 0.05),
        ("a wrong match is followed", 0.6),
        ("another wrong example is not", 0.55),
        ("the match is read", 4.0),
        ("heads in waves of logarithms", 0.2),
        ("the factor moves with the question", 0.2),
        ("the answer moves with the match", 0.4),
    ],
)
def test_a_claim_asks_for_the_number_that_its_words_name(name, value):
    assert BY_NAME[name].measure(table()) == pytest.approx(value)


def test_claims_are_of_this_source_and_say_where_they_come_from():
    assert len(BY_NAME) == len(CLAIMS) == 14 and {claim.of for claim in CLAIMS} == {SOURCE}
    assert {claim.origin for claim in CLAIMS} == {PAPER, "chapter 16"}
    assert not any(claim.seen for claim in CLAIMS)  # levels were set before any run
