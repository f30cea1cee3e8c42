"""A chapter's exercises, and the notebook that students get: our single source in the form that nbgrader reads.

Each exercise becomes the student's cell, a locked cell that calls its check, and, where the book folds an answer in words
below it, a cell for the student's own words, which is graded by hand.
"""

import copy
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import jupytext
from nbformat.v4 import new_code_cell, new_markdown_cell
from plain import ROOT, plain
from student import ANSWER, without_solutions

CHECK = re.compile(r"^checks\.(\w+)\((\w+)(?:, guess=.*)?\)\n?", re.MULTILINE)
HEADING = re.compile(r"^### Exercise (\d+\.\d+): (.+)$", re.MULTILINE)

HOW = """\
*To hand in this notebook:* write your functions and your words into the cells below each exercise, and keep all cells.
Each check tells you at once what it will say when the notebook is marked; it is then run afresh, from a copy of its own."""
WORDS = "*In your own words, {number}:*"


@dataclass(frozen=True)
class Exercise:
    """An exercise: its number, such as 1.2, its title, its check and function (none where it is open), the book's answer."""

    number: str
    title: str
    check: str
    function: str
    solution: str
    in_words: bool

    @property
    def key(self) -> str:
        """How nbgrader and the cells' ids name it."""
        return "exercise-" + self.number.replace(".", "-")


@dataclass(frozen=True)
class Chapter:
    """A chapter to be marked: its name, such as 01_task, its exercises, and the code of its own cells."""

    name: str
    exercises: tuple[Exercise, ...]
    code: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        cells = jupytext.read(path).cells
        own = [cell.source for cell in cells if cell.cell_type == "code" and not {"exercise", "solution"} & tags(cell)]
        return cls(path.stem, tuple(exercises(cells)), tuple(own))


def read_chapters(folder: Path = ROOT / "chapters") -> dict[str, Chapter]:
    """All chapters, by name."""
    return {path.stem: Chapter.read(path) for path in sorted(folder.glob("*.md"))}


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


def without_checks(source: str) -> str:
    """A cell's code without its calls of checks."""
    return CHECK.sub("", source).strip()


def exercises(cells) -> list[Exercise]:
    """The exercises of a notebook, in order."""
    found = []
    for place, cell in enumerate(cells):
        if "exercise" in tags(cell):
            number, title = HEADING.search(cells[place - 1].source).groups()
            called = CHECK.search(cell.source)
            check, function = called.groups() if called else ("", "")
            below = cells[place + 1 : place + 3]  # the solution, and what comes after it
            solution = next((without_checks(each.source) for each in below if "solution" in tags(each)), "")
            in_words = any(each.cell_type == "markdown" and ANSWER.search(each.source + "\n") for each in below)
            found.append(Exercise(number, title, check, function, solution, in_words or not check))
    return found


def assignment(notebook, page: str, book):
    """A chapter's notebook as students get it: plain, without solutions, its cells marked for nbgrader."""
    notebook = copy.deepcopy(notebook)
    known, cells, notebook.cells = iter(exercises(notebook.cells)), notebook.cells, []
    for cell in cells:
        notebook.cells.append(cell)
        if "exercise" in tags(cell):
            notebook.cells[-1:] = graded(next(known), cell)
    notebook = plain(without_solutions(notebook), page, book)
    notebook.cells.insert(1, new_markdown_cell(HOW, id="how-to-hand-in"))
    return notebook


def graded(exercise: Exercise, cell) -> list:
    """The cells of an exercise: the student's, the check's, and one for words where they are asked for."""
    own = new_code_cell(without_checks(cell.source), id=exercise.key, metadata={"tags": ["exercise"]})
    own.metadata.nbgrader = marks(exercise.key, solution=True)
    cells = [own]
    if exercise.check:
        check = new_code_cell(f"checks.{exercise.check}({exercise.function})", id=f"{exercise.key}-check")
        check.metadata.nbgrader = marks(f"{exercise.key}-check", grade=True, locked=True)
        cells.append(check)
    if exercise.in_words:
        words = new_markdown_cell(WORDS.format(number=exercise.number), id=f"{exercise.key}-words")
        words.metadata.nbgrader = marks(f"{exercise.key}-words", grade=True, solution=True)
        cells.append(words)
    return cells


def marks(key: str, grade=False, solution=False, locked=False) -> dict:
    """What nbgrader wants to know of a cell; what is graded counts one point."""
    about = {"grade": grade, "grade_id": key, "locked": locked, "schema_version": 3, "solution": solution, "task": False}
    return about | ({"points": 1} if grade else {})
