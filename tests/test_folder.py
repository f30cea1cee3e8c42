"""What stands in a run folder: which steps are due, and rows that come back as written."""

import math
from dataclasses import replace

import pytest
from small import CONFIG

from assign_add_lib.engine import folder as f

ROWS = [{"step": 20 * k, "loss": 1 / (k + 3), "share": math.nan if k == 1 else 0.25 * k} for k in range(5)]


def test_steps_that_are_due():
    """The last step is, whatever it is."""
    asked = [(80, 20, 80), (80, 20, 50), (70, 20, 70), (70, 20, 60), (80, 100, 80), (80, 20, -1)]
    found = [f.due(replace(CONFIG, steps=steps), every, until) for steps, every, until in asked]
    assert found == [[0, 20, 40, 60, 80], [0, 20, 40], [0, 20, 40, 60, 70], [0, 20, 40, 60], [0, 80], []]


def test_rows_come_back_with_six_digits(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text(f.metrics_text(ROWS))
    assert path.read_text().splitlines()[:3] == ["step,loss,share", "0,0.333333,0", "20,0.25,nan"]
    rows = f.read_metrics(path, CONFIG)
    assert [row["step"] for row in rows] == [0, 20, 40, 60, 80]
    for row, other in zip(rows, ROWS):
        assert row == pytest.approx(other, rel=1e-5, nan_ok=True)
