"""Each exercise's check names plausible mistakes in words, and accepts other right answers than the book's.

Answers to the exercises of chapter NN stand in `exercises/chapter_NN.py`: MISTAKES, as (check, answer, words that the check
must say), and where there are any, RIGHT ones other than the book's, as (check, answer).  An answer is a function, or what is
to be changed in the book's own, as (old, new, old, new, ...).  NAMES are there where the book's answers use what their chapter
defines before them.  The book's own answers and the stubs are checked wherever the notebooks run: here it is seen what they show.
"""

import ast
import importlib
import os
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from assign_add_lib import checks
from assign_add_lib.checks import common

HERE = Path(__file__).parent
CASES = {path.stem[-2:]: importlib.import_module(f"exercises.{path.stem}") for path in HERE.glob("exercises/chapter_*.py")}
MISTAKES = [(chapter, *case) for chapter, cases in sorted(CASES.items()) for case in cases.MISTAKES]
RIGHT = [(chapter, *case) for chapter, cases in sorted(CASES.items()) for case in getattr(cases, "RIGHT", ())]


@cache
def code_cells(chapter):
    """The code cells of a chapter's notebook, each with its tags."""
    notebook = nbformat.read(next(HERE.parent.glob(f"chapters/{chapter}_*.ipynb")), 4)
    return [(cell, cell.metadata.get("tags", [])) for cell in notebook.cells if cell.cell_type == "code"]


@cache
def solutions(chapter):
    """What a chapter imports, and by check the functions of the cell tagged `solution`, with the name of the one to check."""
    imports, found = [], {}
    for cell, tags in code_cells(chapter):
        if "remove-cell" in tags:
            continue
        body = ast.parse(cell.source).body
        imports += [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        if "solution" in tags:
            check, name = re.search(r"^checks\.(\w+)\((\w+)\)", cell.source, re.MULTILINE).groups()
            written = [ast.get_source_segment(cell.source, node) for node in body if isinstance(node, ast.FunctionDef)]
            found[check] = "\n\n".join(written), name
    return "\n".join(imports), found


def answered(chapter, check, answer):
    """A function, where an answer says what to change in the book's own."""
    if callable(answer):
        return answer
    imports, found = solutions(chapter)
    code, name = found[check]
    for old, new in zip(answer[::2], answer[1::2], strict=True):
        assert old in code, f"the solution holds no {old}"
        code = code.replace(old, new)
    names = dict(getattr(CASES[chapter], "NAMES", {}))
    exec(f"{imports}\n\n{code}", names)
    return names[name]


def everywhere(change):
    """What changes each number and tensor of an answer, and leaves what else there is."""

    def changed(given):
        if isinstance(given, list | tuple):
            return [changed(each) for each in given]
        return change(given) if isinstance(given, bool | int | float | torch.Tensor) else given

    return changed


def listed(number):
    return (
        number.tolist() if isinstance(number, torch.Tensor) else int(number) if isinstance(number, bool) else torch.tensor(number)
    )


# Other libraries' ways to say the same, and what a careless learner may make of a right answer.
WAYS = {
    "NumPy": everywhere(lambda number: np.asarray(number)[()]),
    "lists": everywhere(listed),
    "one more": everywhere(lambda number: not number if isinstance(number, bool) else number + 1),
    "threefold": everywhere(lambda number: 3 * number),
}
CARELESS = {"one more", "threefold", "first for all"}
NO_NUMBERS = "turned breaks separated smaller_network soon shared own_world worst between".split()
SLOW = ["few_examples"]  # tried in lists, and with one more
STILL_RIGHT = {  # a scale or a constant is free, or a step is within tolerance
    "one more": ["phase_starts", "points", "features", "likely"],
    "threefold": ["points", "weighted", "fair", "features", "likely", "mended"],
    # what is asked once, or has no arguments
    "first for all": "numbers_to_add informed tenth_set blurred assigned_twice "
    "swapped fair own_errors hard likely mended guilty".split(),
}
CHECKS = [(chapter, name) for chapter in sorted(CASES) for name in checks._HOMES if checks._HOMES[name] == f"chapter_{chapter}"]


def ways(name):
    """In which ways the answer to a check may be said, or careless ones, each as a change of the book's own answer."""
    changes = {
        way: lambda book, change=change: lambda *arguments, **named: change(book(*arguments, **named))
        for way, change in WAYS.items()
    }

    def first_for_all(book):
        kept = []
        return lambda *arguments, **named: kept[0] if kept else kept.append(book(*arguments, **named)) or kept[0]

    changes["first for all"] = first_for_all
    left_out = {way: STILL_RIGHT.get(way, []) + NO_NUMBERS + SLOW * (way in ("NumPy", "threefold")) for way in changes}
    return {way: change for way, change in changes.items() if name not in left_out[way]}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    random.seed(0)


@pytest.mark.parametrize("chapter, name, mistake, words", MISTAKES, ids=[f"{c}-{name}-{said}" for c, name, _, said in MISTAKES])
def test_mistake_is_named(chapter, name, mistake, words, capsys):
    getattr(checks, name)(answered(chapter, name, mistake))
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


@pytest.mark.parametrize("chapter, name, answer", RIGHT, ids=[f"{chapter}-{name}" for chapter, name, _ in RIGHT])
def test_other_right_ways_pass(chapter, name, answer, capsys):
    getattr(checks, name)(answered(chapter, name, answer))
    assert capsys.readouterr().out.startswith("Right")


@pytest.mark.parametrize("chapter, name", CHECKS)
def test_the_form_of_an_answer_is_free_and_its_numbers_are_not(chapter, name, capsys):
    for way, change in ways(name).items():
        getattr(checks, name)(change(answered(chapter, name, ())))
        assert capsys.readouterr().out.startswith("Not yet: " if way in CARELESS else "Right"), way


def test_every_check_is_tried_with_six_wrong_answers():
    for chapter, name in CHECKS:
        told = sum(case[:2] == (chapter, name) for case in MISTAKES)
        assert name in solutions(chapter)[1] and told >= 3
        assert told + len(CARELESS & ways(name).keys()) >= 6, name


@pytest.mark.parametrize("chapter", sorted(CASES))
def test_notebooks_show_that_solutions_are_right_and_stubs_return_nothing(chapter):
    for cell, tags in code_cells(chapter):
        for tag, verdict in {"solution": "Right", "exercise": f"Not yet: {common.NOTHING}\n"}.items():
            if tag in tags:
                shown = "".join(output.get("text", "") for output in cell.outputs)
                assert re.search(f"^{verdict}", shown, re.MULTILINE), cell.source


def test_a_guess_is_held_against_what_comes_out_once_the_answer_is_right(capsys):
    def said(name, guess, change=()):
        getattr(checks, name)(answered(checks._HOMES[name][-2:], name, change), guess=guess)
        return capsys.readouterr().out

    what = "the score for 59 numbers and up to 6 assignments"
    assert said("one_look_score", 0.5) == f"Right.\nYour guess of {what}: 0.5. It is 0.6559, so you are off by 0.1559.\n"
    assert said("one_look_score", ...).startswith(f"Right.\nYou made no guess of {what}.")
    assert said("one_look_score", None) == said("bound", None) == "Right.\n"
    assert "0.6559" not in said("one_look_score", 0.5, ("/ (n - 1)", "/ n"))
    assert "0.7, 0.9. It is 0.76, 0.73, so you are off by 0.06, 0.17" in said("bound", np.array([0.7, 0.9]))
    assert said("bound", 3) == "Not yet: your guess has shape (); it should be (2,)\n"
    assert said("flat_restored", "own · name").endswith("It is: rest · name.\n")
    assert said("flat_restored", "rest · name").endswith("So it is.\n")
    assert "so you are off by" in said("blurred", 0.2)


@pytest.mark.parametrize("chapter", sorted(CASES))
def test_what_comes_out_of_a_guess_stands_in_the_book_and_is_asked_for(chapter):
    cells = nbformat.read(next(HERE.parent.glob(f"chapters/{chapter}_*.ipynb")), 4).cells
    sections = "\n".join(cell.source for cell in cells).split("### Exercise ")
    for name in (name for where, name in CHECKS if where == chapter):
        what, truth = getattr(getattr(checks, name).__wrapped__, "foretold", ("", None))
        (section,) = (each for each in sections if re.search(rf"^checks\.{name}\(", each, re.MULTILINE))
        assert bool(what) == (f"checks.{name}(" in section and "guess=...)" in section), name
        if isinstance(truth, int | float | tuple):
            told = set(map(float, re.findall(r"-?\d+(?:\.\d+)?", section.replace("−", "-"))))
            assert set(np.atleast_1d(truth)) <= told, (name, set(np.atleast_1d(truth)) - told)
        assert not isinstance(truth, str) or truth.lower() in section.lower() or truth.isdecimal()


def test_a_crash_is_said_in_words(capsys):
    checks.first_step(lambda w, g: 1 / 0)
    assert "ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(
    "like", [float, np.float32, np.array, torch.tensor, lambda value: [value], lambda value: torch.tensor([value])]
)
def test_a_number_may_come_from_any_library(like):
    assert common.as_number(like(0.5)) == 0.5
    assert common.as_tensor([like(0.5)] * 3, None).flatten().tolist() == [0.5] * 3


def test_truths_and_parts_may_come_from_any_library():
    assert all(common.as_truth(one) is True for one in (True, 1, np.True_, np.int64(1), torch.tensor(True), torch.tensor([1])))
    for several in ((1, 2), [1, 2], np.array([1, 2]), torch.tensor([1, 2])):
        assert [int(each) for each in common.as_parts(several, 2, "two")] == [1, 2]
    for refused in (lambda: common.as_truth(2), lambda: common.as_truth("yes"), lambda: common.as_parts(3, 2, "two")):
        with pytest.raises(common.Wrong):
            refused()


def test_the_checks_are_light_until_one_is_asked_for():
    script = "import sys, assign_add_lib.checks; print(sum(name.startswith('assign_add_lib') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(HERE.parent)}, capture_output=True)
    assert int(done.stdout) == 2


def test_the_answer_of_a_guess_is_held_against_what_is_measured(capsys):
    checks.guess("share", 0.0749 * 100, 7.5, 0.05)
    checks.guess("notes", [13, 14], [13, 14])
    checks.guess("tidied", "It falls.", "It falls.")
    printed = "guess share: 7.49 (quoted as 7.5, within 0.05)\nguess notes: [13, 14]\nguess tidied: It falls.\n"
    assert capsys.readouterr().out == printed
    for measured, answer in ((2, 3), ([13], [13, 14]), ("It stays.", "It falls.")):
        with pytest.raises(AssertionError, match="guess wrong: measured"):
            checks.guess("wrong", measured, answer)
