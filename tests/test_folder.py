"""What stands in a run folder: steps, rows and notes, written and read back, or refused."""

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


def test_notes_tie_a_file_to_its_run_step_and_rows(tmp_path):
    run = f.decided_by(CONFIG.to_dict(), {"split": 1})
    assert run != f.decided_by(CONFIG.to_dict(), {"split": 2}) != f.decided_by(replace(CONFIG, seed=4).to_dict(), {"split": 2})
    notes = {name: str(value) for name, value in f.ties(run, 40, ROWS).items()}
    assert f.check_ties(tmp_path / "file", notes, run) == f.check_ties(tmp_path / "file", notes, run, 40) == 40
    f.check_measured(tmp_path / "metrics.csv", notes, ROWS[:3])
    f.check_measured(tmp_path / "metrics.csv", notes, ROWS)  # later rows may follow
    other = [row | {"loss": 2 * row["loss"]} for row in ROWS]
    for wrong, said in (
        (lambda: f.check_ties(tmp_path / "file", notes, "other"), "is not of this run"),
        (lambda: f.check_ties(tmp_path / "file", notes, run, 20), "is not of step 20: it was written at step 40"),
        (lambda: f.check_measured(tmp_path / "metrics.csv", notes, ROWS[:2]), "lacks rows up to step 40"),
        (lambda: f.check_measured(tmp_path / "metrics.csv", notes, other), "not what was measured up to step 40"),
    ):
        with pytest.raises(ValueError, match=said):
            wrong()
    assert f.ties(None, 40, ROWS) == {"step": 40}  # runs from before the notes
