"""Each exercise's check passes on the book's solution, and fails in words on the stub and on plausible mistakes.

Answers to the exercises of chapter NN stand in `exercises/chapter_NN.py`: MISTAKES, as (check, answer, words that the check
must say), and where there are any, RIGHT ones other than the book's, as (check, answer).  NAMES are there where the book's
answers use what their chapter defines before them.
"""

import ast
import importlib
import math
import random
import re
from functools import cache
from pathlib import Path

import jupytext
import pytest
import torch

from assign_add_lib import checks

HERE = Path(__file__).parent
CASES = {path.stem[-2:]: importlib.import_module(f"exercises.{path.stem}") for path in HERE.glob("exercises/chapter_*.py")}
EXERCISES = sorted({(chapter, name) for chapter, cases in CASES.items() for name, *_ in cases.MISTAKES})
MISTAKES = [(chapter, *case) for chapter, cases in sorted(CASES.items()) for case in cases.MISTAKES]
RIGHT = [case for _, cases in sorted(CASES.items()) for case in getattr(cases, "RIGHT", ())]


@cache
def answers(chapter):
    """The functions of a chapter's cells tagged `exercise` and `solution`, by tag and name of their check."""
    found, names = {}, dict(getattr(CASES[chapter], "NAMES", {}))
    page = next(HERE.parent.glob(f"chapters/{chapter}_*.md"))
    for cell in jupytext.read(page).cells:
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "code" and "remove-cell" not in tags:
            body = ast.parse(cell.source).body
            execute([node for node in body if isinstance(node, ast.Import | ast.ImportFrom)], names)
            for tag in tags & {"exercise", "solution"}:
                check, function = re.search(r"^checks\.(\w+)\((\w+)\)", cell.source, re.MULTILINE).groups()
                own = dict(names)
                execute([node for node in body if isinstance(node, ast.FunctionDef)], own)
                found[tag, check] = own[function]
    return found


def execute(nodes, names):
    exec(compile(ast.Module(nodes, []), "a chapter", "exec"), names)


def seed(number):
    torch.manual_seed(number)
    random.seed(number)


def drawn():
    """What tells whether a number was drawn meanwhile."""
    return random.getstate(), torch.get_rng_state().tolist()


@pytest.fixture(autouse=True)
def seeded():
    seed(0)


@pytest.mark.parametrize("chapter, name", EXERCISES)
def test_solution_passes(chapter, name, capsys):
    """Three times where the check draws; one that draws nothing says the same each time."""
    for number in range(3):
        seed(number)
        before = drawn()
        getattr(checks, name)(answers(chapter)["solution", name])
        assert capsys.readouterr().out.startswith("Right")
        if drawn() == before:
            break


@pytest.mark.parametrize("chapter, name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(chapter, name, capsys):
    getattr(checks, name)(answers(chapter)["exercise", name])
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


@pytest.mark.parametrize("chapter, name, mistake, words", MISTAKES, ids=[f"{c}-{name}-{said}" for c, name, _, said in MISTAKES])
def test_mistake_is_named(chapter, name, mistake, words, capsys):
    getattr(checks, name)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


@pytest.mark.parametrize("name, answer", RIGHT, ids=[name for name, _ in RIGHT])
def test_other_right_ways_pass(name, answer, capsys):
    getattr(checks, name)(answer)
    assert capsys.readouterr().out.startswith("Right")


@pytest.mark.parametrize("path", sorted(HERE.glob("../chapters/*.md")), ids=lambda path: path.stem)
def test_every_exercise_has_a_mistake(path):
    chapter = path.name[:2]
    names = {name for where, name in EXERCISES if where == chapter}
    assert len(names) >= 3, f"exercises/chapter_{chapter}.py has too few"
    assert answers(chapter).keys() == {(tag, name) for tag in ("exercise", "solution") for name in names}


def test_a_crash_is_said_in_words(capsys):
    checks.loss(lambda logits, answers: 1 / 0)
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_report_raises_outside_its_tolerance(capsys):
    checks.report("pi", math.pi, 3.14, 0.002)
    assert capsys.readouterr().out == "pi: 3.142 (quoted as 3.14, within 0.002)\n"
    for value in (3.15, math.nan):
        with pytest.raises(AssertionError, match="pi: measured"):
            checks.report("pi", value, 3.14, 0.002)


def test_the_answer_of_a_guess_is_held_against_what_is_measured(capsys):
    checks.guess("share", 0.0749 * 100, 7.5, 0.05)
    checks.guess("notes", [13, 14], [13, 14])
    checks.guess("tidied", "It falls.", "It falls.")
    printed = "guess share: 7.49 (quoted as 7.5, within 0.05)\nguess notes: [13, 14]\nguess tidied: It falls.\n"
    assert capsys.readouterr().out == printed
    for measured, answer in ((2, 3), ([13], [13, 14]), ("It stays.", "It falls.")):
        with pytest.raises(AssertionError, match="guess wrong: measured"):
            checks.guess("wrong", measured, answer)
