"""Rows and tables: a row that lies is written anew, and the table says what the metrics say."""

import csv
import io
import re
import shutil

import pytest
from tiny import TinyConfig, tiny_sweep

from assign_add_lib.engine.table import read_row

ROW_DAMAGE = {
    "empty": lambda text: "",
    "header only": lambda text: text.splitlines()[0] + "\n",
    "cut": lambda text: text[:-20],
    "setting edited": lambda text: text.replace("0.1", "0.2", 1),
    "measure edited": lambda text: re.sub(r"\d(?=,[0-9a-f]{64})", lambda digit: str(9 - int(digit[0])), text),
    "row twice": lambda text: text + text.splitlines()[1] + "\n",
    "without its sum": lambda text: "".join(line.rsplit(",", 1)[0] + "\n" for line in text.splitlines()),
    "NUL": lambda text: text.replace("8", "\0"),
    "no text": lambda text: "\x80",
}


@pytest.mark.parametrize("damage", [*ROW_DAMAGE, "another's"])
def test_a_damaged_row_is_written_anew_from_its_run(tiny_swept, pristine_sweep, no_training, damage):
    row = tiny_swept / "seed-2" / "row.csv"
    if damage == "another's":
        shutil.copy(tiny_swept / "seed-1" / "row.csv", row)
    else:
        row.write_text(ROW_DAMAGE[damage](row.read_text()), "latin-1")
    assert read_row(tiny_swept / "seed-2", TinyConfig(seed=2)) is None
    assert tiny_sweep(tiny_swept).read_bytes() == (pristine_sweep / "table.csv").read_bytes()
    assert row.read_bytes() == (pristine_sweep / "seed-2" / "row.csv").read_bytes()


def test_the_table_says_what_the_metrics_say(pristine_sweep):
    rows = list(csv.DictReader(io.StringIO((pristine_sweep / "table.csv").read_text())))
    assert list(rows[0]) == ["seed", "steps", "loss", "distance"]
    for row, seed in zip(rows, (1, 2, 3), strict=True):
        last = (pristine_sweep / f"seed-{seed}" / "metrics.csv").read_text().splitlines()[-1]
        assert row == {"seed": str(seed)} | dict(zip(("steps", "loss", "distance"), last.split(",")))


@pytest.mark.parametrize("file", ["metrics.csv", "config.json"])
def test_a_damaged_run_is_named_and_stops_no_other(tiny_swept, pristine_sweep, no_training, file):
    for name in ("seed-1", "seed-2"):
        (tiny_swept / name / "row.csv").unlink()
    path = tiny_swept / "seed-2" / file
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    (tiny_swept / "table.csv").unlink()
    with pytest.raises(ValueError, match=f"1 of 3 runs failed: seed-2: .*seed-2/{file} is damaged"):
        tiny_sweep(tiny_swept)
    lines = (pristine_sweep / "table.csv").read_text().splitlines()
    assert (tiny_swept / "table.csv").read_text().splitlines() == [*lines[:2], lines[3]]
