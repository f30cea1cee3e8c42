"""Systems: each is defined once, and the shipped board is that of all their claims."""

import pandas as pd
import pytest

from assign_add_lib.engine import scoreboard
from assign_add_lib.engine.scoreboard import summary
from assign_add_lib.engine.system import claims_of, sources_of
from assign_add_lib.systems import SYSTEMS

CLAIMS = claims_of(SYSTEMS.values())


@pytest.fixture(scope="module")
def shipped():
    return scoreboard.load_board()


def test_shipped_words_are_those_of_the_list(shipped):
    assert list(shipped.index) == [row.name for row in CLAIMS] and len(set(shipped.index)) == len(CLAIMS)
    assert list(shipped["statement"]) == [row.statement for row in CLAIMS]
    assert list(shipped["rule"]) == [row.rule for row in CLAIMS]
    assert all(row.statement.endswith(".") and row.measured and row.origin for row in CLAIMS)


def test_shipped_summary_follows_from_the_shipped_values(shipped):
    subjects = sources_of(SYSTEMS.values())
    assert {row.of for row in CLAIMS} == set(subjects)
    values = shipped[[name for name in shipped if name.startswith("seed-")]]
    again = summary(CLAIMS, values, subjects)
    assert (again["verdict"] == shipped["verdict"]).all() and (again["held"] == shipped["held"]).all()
    pd.testing.assert_frame_equal(
        again[["median", "low", "high"]], shipped[["median", "low", "high"]], rtol=1e-3, check_names=False
    )
