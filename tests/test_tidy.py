"""Tidy tables: what is measured, written and read again is the same numbers under the same entries."""

import pytest
import torch

from assign_add_lib.engine.tidy import Table, for_each, labelled, measured, read_table


def of_an_arm(seed, arm):
    return {(seed + 1, "1, 2"): 0.5, (seed + 1, "1"): len(arm)}


def test_what_is_measured_is_read_again_with_its_types(tmp_path):
    table = Table(("arm", "layer", "heads"), for_each(["b", "a"], of_an_arm))
    rows = measured(table, {0: 0, 2: 0, 1: 1})
    assert list(rows) == ["arm", "layer", "heads", "seed", "value"] and len(rows) == 12
    rows.to_csv(tmp_path / "table.csv", index=False)
    found = read_table(tmp_path / "table.csv")
    assert list(found) == ["seed-0", "seed-1", "seed-2"] and found.index.names == ["arm", "layer", "heads"]
    assert found.index.tolist() == [(arm, layer, heads) for arm in "ab" for layer in (1, 2) for heads in ("1", "1, 2")]
    assert found.loc[("a", 1, "1, 2"), "seed-2"] == 0.5 and found.loc[("a", 2), "seed-0"].isna().all()


def test_numbers_of_a_tensor_stand_under_the_labels_of_their_places():
    assert labelled(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "xy", (5, 6)) == {("x", 5): 1, ("x", 6): 2, ("y", 5): 3, ("y", 6): 4}
    with pytest.raises(ValueError):
        labelled(torch.zeros(2, 2), "xy", (5, 6, 7))
