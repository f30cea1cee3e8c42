"""Each exercise's check passes on the book's solution, and fails in words on the stub and on plausible mistakes.

Answers to the exercises of chapter NN stand in `exercises/chapter_NN.py`: MISTAKES, as (check, answer, words that the check
must say), and where there are any, RIGHT ones other than the book's, as (check, answer).  NAMES are there where the book's
answers use what their chapter defines before them.
"""

import ast
import importlib
import math
import os
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch

from assign_add_lib import checks
from assign_add_lib.checks import common

HERE = Path(__file__).parent
CASES = {path.stem[-2:]: importlib.import_module(f"exercises.{path.stem}") for path in HERE.glob("exercises/chapter_*.py")}
EXERCISES = sorted({(chapter, name) for chapter, cases in CASES.items() for name, *_ in cases.MISTAKES})
MISTAKES = [(chapter, *case) for chapter, cases in sorted(CASES.items()) for case in cases.MISTAKES]
RIGHT = [case for _, cases in sorted(CASES.items()) for case in getattr(cases, "RIGHT", ())]


@cache
def answers(chapter):
    """The functions, or other answers, of a chapter's cells tagged `exercise` and `solution`, by tag and name of their check."""
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
                execute([node for node in body if isinstance(node, ast.FunctionDef) or answered(node)], own)
                found[tag, check] = own[function]
    return found


def answered(node):
    """Whether a statement gives the answer itself, where an exercise asks for no function."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant)


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
    stub = answers(chapter)["exercise", name]
    getattr(checks, name)(stub)
    words = "your function returns nothing yet" if callable(stub) else "give the problem as text"
    assert capsys.readouterr().out.startswith(f"Not yet: {words}")


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


@pytest.mark.parametrize(
    "like", [float, np.float32, np.array, torch.tensor, lambda value: [value], lambda value: torch.tensor([value])]
)
def test_a_number_may_come_from_any_library(like):
    assert common.as_number(like(0.5)) == 0.5
    assert common.as_tensor([like(0.5)] * 3, None).flatten().tolist() == [0.5] * 3


def test_truths_and_parts_may_come_from_any_library():
    for one in (True, 1, np.True_, np.int64(1), torch.tensor(True), torch.tensor([1])):
        assert common.as_truth(one) is True
    for several in ((1, 2), [1, 2], np.array([1, 2]), torch.tensor([1, 2])):
        assert [int(each) for each in common.as_parts(several, 2, "two")] == [1, 2]
    for refused in (lambda: common.as_truth(2), lambda: common.as_truth("yes"), lambda: common.as_parts(3, 2, "two")):
        with pytest.raises(common.Wrong):
            refused()


def test_the_checks_are_light_until_one_is_asked_for():
    script = "import sys, assign_add_lib.checks; print(sum(name.startswith('assign_add_lib') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(HERE.parent)}, capture_output=True)
    assert int(done.stdout) == 2


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
