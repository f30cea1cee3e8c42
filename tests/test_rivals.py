"""The controls of chapter 9: the shipped table holds them for every run (their slow truths are in test_sizes)."""

from assign_add_lib.analysis import causal, rivals


def test_the_shipped_table_splits_what_is_asked_by_kind():
    table = causal.load_causes().loc["asked by kind"]
    assert set(table.index) == {(site, kind) for site in rivals.BEARS_ASKED for kind in rivals.KINDS.values()}
