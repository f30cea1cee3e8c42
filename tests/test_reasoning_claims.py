"""Reasoning in a loop: each claim asks for the entry of the tables that its words name."""

import pandas as pd
import pytest

from assign_add_lib.companions.reasoning.claims import CLAIMS, PAPER, SOURCE

BY_NAME = {claim.name: claim for claim in CLAIMS}


def table(**changed):
    """Measures of a seed, by (measure, row, column), zero where not given."""
    arms = "feed-forward", "chain", "recurrent", "continuous", "discrete", "corrected"
    rows = {("accuracy", arm, f"graphs, {times} times"): 0.0 for arm in arms for times in (1, 2, 3, 4)}
    for layer in (1, 2):
        for head in (1, 2, 3, 4):
            row = f"corrected, layer {layer}, head {head}"
            rows |= {("heads", row, f"operand {operand}"): operand / 6 for operand in (1, 2, 3)}
            rows |= {("heads", row, f"gain: {name}"): 1.0 for name in ("syntax", "variable", "operation", "value")}
            rows |= {("heads", f"untrained {row}", f"operand {operand}"): 1 / 3 for operand in (1, 2, 3)}
    rows |= {("iteration", "corrected", f"+{later} iterations"): 1.0 for later in (0, 16)}
    rows |= {("recovery", "corrected, 20% wrong", "8 later"): 1.0}
    rows |= {("waves", "corrected, stream after", "one operand"): 0.9, ("waves", "corrected, logits", "sum"): 0.7}
    return pd.Series(rows | changed.get("rows", {})).rename_axis(["measure", "row", "column"])


@pytest.mark.parametrize(
    "name, rows, value",
    [
        ("correction, four times as large", {("accuracy", "corrected", "graphs, 4 times"): 0.8}, 0.8),
        ("correction helps", {("accuracy", "corrected", "graphs, 4 times"): 0.8,
                              ("accuracy", "discrete", "graphs, 4 times"): 0.5}, 0.3),
        ("discrete above continuous", {("accuracy", "continuous", "graphs, 4 times"): 0.5}, -0.5),
        ("continuous above end to end", {("accuracy", "continuous", "graphs, 2 times"): 0.5}, 0.5),
        ("chain of thought fits", {("accuracy", "chain", "graphs, 1 times"): 0.4}, 0.4),
        ("it stays solved", {("iteration", "corrected", "+16 iterations"): 0.25}, -0.75),
        ("wrong values are mended", {("recovery", "corrected, 20% wrong", "8 later"): 0.6}, 0.6),
        ("heads by operand, layer 1", {("heads", "corrected, layer 1, head 1", "operand 3"): 1.0}, 0.5),
        ("values move in layer 2", {("heads", "corrected, layer 2, head 3", "gain: value"): 6.0,
                                    ("heads", "corrected, layer 2, head 3", "gain: variable"): 2.0}, 3.0),
        ("the MLP adds in waves", {}, 0.7),
    ],
)  # fmt: skip
def test_a_claim_asks_for_the_number_that_its_words_name(name, rows, value):
    assert BY_NAME[name].measure(table(rows=rows)) == pytest.approx(value)


def test_claims_are_of_this_source_and_say_where_they_come_from():
    assert len(BY_NAME) == len(CLAIMS) and {claim.of for claim in CLAIMS} == {SOURCE}
    assert {claim.origin for claim in CLAIMS} == {PAPER, "chapter 14"}
    assert not any(claim.seen for claim in CLAIMS)  # levels were set before any run
    for claim in CLAIMS:
        claim.measure(table())
