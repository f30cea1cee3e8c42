"""The study's claims: a well-formed list, and the shipped board against the runs."""

import pandas as pd
import pytest
import torch
from small import assert_the_same

from assign_add_lib.claims import study as claims
from assign_add_lib.claims.study import CLAIMS
from assign_add_lib.engine import scoreboard
from assign_add_lib.engine.scoreboard import claim_values


def test_swept_leaves_out_seeds_with_few_values(monkeypatch, tmp_path):
    values = [round(0.1 * k, 1) for k in range(1, 10)]
    rows = [(0, v, v) for v in values] + [(1, v, 1.0) for v in values[:3]] + [(0, 0.95, 0.5)]
    path = tmp_path / "r.csv"
    pd.DataFrame(rows, columns=["seed", "r", "exact 2-var held-out"]).to_csv(path, index=False)
    monkeypatch.setattr(claims, "shipped_file", lambda name: path if name == "sweeps/r.csv" else None)
    parts = claims.swept("r")
    assert list(parts) == ["seed-0"] and len(parts["seed-0"].accuracy) == 10
    assert parts["seed-0"].accuracy.index.is_monotonic_increasing


def test_untrained_runs_are_those_of_step_0():
    for run in claims.untrained().values():
        assert torch.equal(run.weights.W_E, run.run.weights(0).W_E) and not torch.equal(run.weights.W_E, run.run.weights().W_E)
        assert run.last["0-var train"] == run.metrics["0-var train"].iloc[0] < 0.05


def test_each_sentence_of_the_study_has_a_row_or_a_reason_and_each_row_of_the_study_a_sentence():
    said, names = claims.said(), {row.name: row.origin for row in CLAIMS}
    for each in said:
        assert each["place"] and each["says"].endswith(".") and (each.get("rows") or each.get("why")), each
    named = {row for each in said for row in each.get("rows", [])}
    assert named <= names.keys()
    assert {row for row, origin in names.items() if not origin.startswith("chapter")} <= named


@pytest.fixture(scope="module")
def shipped():
    return scoreboard.load_board()


def test_shipped_rows_about_records_and_sweeps_come_out_again(shipped):
    parts = {name: claims.swept(name) for name in claims.SWEEPS}
    assert_the_same(claim_values(claims.claims_of(*parts), parts), shipped, CLAIMS, rtol=1e-4)
    cheap = [row for row in claims.claims_of("runs") if row.group in (claims.FINAL, claims.ORDER)]
    assert_the_same(claim_values(cheap, {"runs": claims.study_runs()}), shipped, CLAIMS, rtol=1e-4)


def test_all_shipped_values_of_one_run_come_out_again(shipped):
    rows = claims.claims_of("runs")
    with torch.no_grad():
        values = claim_values(rows, {"runs": {"seed-5": claims.study_runs()["seed-5"]}})
    assert_the_same(values, shipped, CLAIMS, rtol=1e-3, atol=2e-3)
