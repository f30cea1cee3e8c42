"""Tables for the foot of a chapter: their rows, numbers and links."""

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from docutils.nodes import make_id

from assign_add_lib.claims.beside import address, beside_the_study, digits, linked, spread
from assign_add_lib.engine.scoreboard import load_board

CHAPTERS = Path(__file__).parent.parent / "chapters"


def test_numbers_as_text():
    assert [digits(v) for v in (0.12345, 12.34, 1234.5, math.inf, 1)] == ["0.123", "12.3", "1234", "never", "1"]
    assert spread(pd.Series([1, 2, 4, math.nan])) == "2 (1 to 4)"
    assert [spread(pd.Series(v)) for v in ([0.5], [1.0, 1.0], [math.nan])] == ["0.5", "1", ""]


def test_rows_of_a_chapter():
    board = pd.DataFrame({
        "measured": ["a", "b <c>"], "theirs": ["", "100"], "origin": ["F2", "chapter 6"], "quote": ["", "a word"],
        "held": [1, 2], "runs": [2, 9], "verdict": ["not held", "not held"],
        "where": ["05_attention: Counting", "06_addition: The bare circuit"], "seed-0": [1.0, 2.0], "seed-42": [3.0, math.nan],
    }, index=["one", "two"])  # fmt: skip
    table = beside_the_study("05_attention", board)
    few = "1 of 2, so in at least 0.03 of all"
    assert table.loc["one"].tolist() == ["a", "no number given", "2 (1 to 3)", few, "not held", "05_attention: Counting"]
    assert list(table.index) == ["one"]
    assert beside_the_study("06_addition", board).loc["two", "held"] == "2 of 9"
    counted = board.assign(verdict="count only", runs=2)
    assert beside_the_study("06_addition", counted).loc["two", "held"] == "2 of 2"
    said = [beside_the_study("05_attention", board.assign(**each)) for each in ({"origin": "chapter 5"}, {"quote": "a word"})]
    assert [each.loc["one", "the study"] for each in said] == ["a claim of chapter 5", "“a word”"]
    shown = linked(beside_the_study("06_addition", board), here="05_attention").data
    assert "b &lt;c&gt;" in shown and '<a href="06_addition.html#the-bare-circuit">The bare circuit</a>' in shown
    assert 'href="#counting"' in linked(table, "05_attention").data


@pytest.mark.parametrize("where", sorted(set(load_board().get("where", pd.Series(dtype=str))) - {""}))
def test_where_is_a_heading_of_the_book(where):
    page, _, heading = where.partition(": ")
    text = (CHAPTERS / f"{page}.md").read_text("utf-8")
    assert re.search(rf"^#+ {re.escape(heading)}$", text, re.M), where
    assert address(where) == f"{page}.html#{make_id(heading)}"
