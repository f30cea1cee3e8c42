"""Syllabuses: their minutes are those of the pages and exercises that each week names."""

import re

import nbformat
import pytest
from browsing import ROOT
from marking.assignments import Chapter, choose
from syllabus import COURSE, SLACK, WEEK, at_home, computed, reading

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
    assert reading("nothing of 1; 2 up to *One head*, all of 1, the rest of 2") == head
    assert reading("none, none (14 for those who like)") == [0]
    assert at_home("1.1, 1.3 to 1.4; ") == at["1.1"] + at["1.3"] + at["1.4"]
    assert at_home("setting up ") is None
    week = re.search(r"(?m)^\| 1 \((.+) h\) \| nothing of 1; 2 up to", TEXT)[1]
    home = at["1.1"] + at["1.3"] + at["1.4"] + at["2.1"] + at["2.2"] + at["2.4"] + 30
    assert float(week) == pytest.approx(SLACK * (sum(head) + home) / 60, abs=0.051)


def test_before_class_a_week_reads_what_the_notes_ask_for():
    """Up to the same place, and the rest afterwards; what is handed in, the commands for marking know."""
    weeks = [found for found in WEEK.finditer(TEXT) if not found["before"].startswith("none")]
    assert len(weeks) == 4 + 7 + 10
    chapters = {path.name[:2]: Chapter.read(path) for path in ROOT.glob("chapters/*.md")}
    for week in weeks:
        for number, upto in re.findall(r"\b(\d+) (up to [^;]+)", week["before"]):
            notes = next(ROOT.glob(f"teaching/lecturers/{number:0>2}_*.md")).read_text("utf-8")
            assert upto in notes.partition("## Before the lecture")[2].partition("## ")[0], (number, upto)
            assert f"the rest of {number}" in week["after"]
            for heading in re.findall(r"\*(.+)\*", upto):
                assert f"\n## {heading}" in next(ROOT.glob(f"chapters/{number:0>2}_*.md")).read_text("utf-8")
        wish = re.search(r'`EXERCISES="([\d. ]+)"`', week["row"])[1]
        assert sum(len(each.exercises) for each in choose(chapters, wish).values()) == len(wish.split())
