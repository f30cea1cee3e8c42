"""Syllabuses: their minutes are those of the pages and exercises that each week names."""

import re

import nbformat
import pytest
from browsing import ROOT
from syllabus import COURSE, SLACK, at_home, computed, reading

TEXT = COURSE.read_text("utf-8")


def test_the_course_states_what_its_weeks_take():
    assert computed(TEXT) == TEXT


@pytest.mark.parametrize(
    "wrong", [r"(?<=\| )\d+ \+ \d+(?= \|)", r"(?<=2\.4 \()\d+(?=\))", r"(?<=\| 1 \()[\d.]+(?= h)", r"\d+(?= \|\n\| 2 \|)"]
)
def test_what_is_out_of_date_is_put_right(wrong):
    changed = re.sub(wrong, "7", TEXT, count=1)
    assert changed != TEXT and computed(changed) == TEXT


def test_a_week_is_counted_by_hand():
    """From the notebooks' own heads, and not from their twins."""

    def cells(name):
        return "\n".join(
            cell.source for cell in nbformat.read(ROOT / f"chapters/{name}.ipynb", 4).cells if cell.cell_type == "markdown"
        )

    first, second = cells("01_task"), cells("02_model")
    head = [int(re.search(r"\*\*Minutes:\*\* (\d+)", each)[1]) for each in (first, second)]
    at = {n: int(m) for n, m in re.findall(r"### Exercise ([\d.]+):.*\n\n.* · (\d+) minutes", first + second)}
    assert reading("1, 2") == head and reading("none (14 for those who like)") == [0]
    assert at_home("1.1, 1.3 to 1.4; ") == at["1.1"] + at["1.3"] + at["1.4"]
    assert at_home("2.3 or project ") is None and at_home("setting up ") is None
    week = re.search(r"(?m)^\| 1 \((.+) h\) \| 1, 2 \|", TEXT)[1]
    home = at["1.1"] + at["1.3"] + at["1.4"] + at["2.1"] + at["2.2"] + at["2.4"] + 30
    assert float(week) == pytest.approx(SLACK * (sum(head) + home) / 60, abs=0.051)
