"""A chapter's exercises, and the notebook that students get: our single source in the form that nbgrader reads.

Each exercise becomes the student's cell, a locked cell that calls its check, and, where the book folds an answer in words
below it, a cell for the student's own words, which is graded by hand.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import jupytext
from nbformat.v4 import new_code_cell, new_markdown_cell
from plain import ROOT, chapters_of, plain
from student import ANSWER, parted, without_solutions

CHECK = re.compile(r"^checks\.(\w+)\((\w+)(?:, guess=.*)?\)\n?", re.MULTILINE)
HEADING = re.compile(r"^### Exercise (\d+\.\d+): (.+)$", re.MULTILINE)
CHOSEN = re.compile(r"(\d+\.\d+)(?:=([1-9]\d?))?")

HOW = """\
*To hand in this notebook:* write your functions and your words into the cells below each exercise, and keep all cells.
Each check tells you at once what it will say when the notebook is marked; it is then run afresh, from a copy of its own."""
WORDS = "*In your own words, {number}:*"


@dataclass(frozen=True)
class Exercise:
    """An exercise: its number, such as 1.2, its title, its check and function (none where it is open), the book's answer.

    Its check and its words count `weight` points each.
    """

    number: str
    title: str
    check: str
    function: str
    solution: str
    in_words: bool
    weight: int = 1

    @property
    def key(self) -> str:
        """How nbgrader and the cells' ids name it."""
        return "exercise-" + self.number.replace(".", "-")


@dataclass(frozen=True)
class Chapter:
    """A chapter to be marked: its name, such as 01_task, its exercises, the code of its own cells, and that beside solutions."""

    name: str
    exercises: tuple[Exercise, ...]
    code: tuple[str, ...]
    beside: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        cells, code = jupytext.read(path).cells, {False: [], True: []}
        for cell, solution in parted(cells):
            if cell.cell_type == "code" and not {"exercise", "solution"} & tags(cell):
                code[solution].append(cell.source)
        return cls(path.stem, tuple(exercises(cells)), tuple(code[False]), tuple(code[True]))


def read_chapters(root: Path = ROOT) -> dict[str, Chapter]:
    """All chapters of a book, by name."""
    return {path.stem: Chapter.read(path) for path in chapters_of(root)}


def choose(chapters: dict[str, Chapter], wish: str) -> dict[str, Chapter]:
    """The chapters with those exercises alone that a wish such as `1.3 2.4=3` names, the last one for three points.

    An empty wish chooses all, for one point each. ValueError says what cannot be read in a wish.
    """
    if not wish.strip():
        return chapters
    numbers = {each.number for chapter in chapters.values() for each in chapter.exercises}
    weights = {}
    for word in wish.split():
        found = CHOSEN.fullmatch(word)
        if not found:
            raise ValueError(f"{word!r} is no exercise: write a number such as 1.3, or 1.3=2 if it counts twice")
        if found[1] not in numbers:
            raise ValueError(f"there is no exercise {found[1]}")
        if found[1] in weights:
            raise ValueError(f"exercise {found[1]} is chosen twice")
        weights[found[1]] = int(found[2] or 1)
    left = {}
    for name, chapter in chapters.items():
        if kept := [replace(each, weight=weights[each.number]) for each in chapter.exercises if each.number in weights]:
            left[name] = replace(chapter, exercises=tuple(kept))
    return left


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


def without_checks(source: str) -> str:
    """A cell's code without its calls of checks."""
    return CHECK.sub("", source).strip()


def exercises(cells) -> list[Exercise]:
    """The exercises of a notebook, in order."""
    found, before = [], None
    for cell, solution in parted(cells):
        if "exercise" in tags(cell):
            number, title = HEADING.search(before.source).groups()
            check, function = called.groups() if (called := CHECK.search(cell.source)) else ("", "")
            found.append(Exercise(number, title, check, function, "", not check))
        elif "solution" in tags(cell):
            found[-1] = replace(found[-1], solution=without_checks(cell.source))
        elif solution and ANSWER.search(cell.source + "\n"):
            found[-1] = replace(found[-1], in_words=True)
        before = cell
    return found


def assignment(notebook, page: str, book, numbers: set[str] | None = None):
    """A chapter's notebook as students get it: plain, without solutions, its cells marked for nbgrader.

    With `numbers`, the other exercises are left out.
    """
    known = iter([each for each in exercises(notebook.cells) if numbers is None or each.number in numbers])
    notebook = without_solutions(notebook)
    cells, notebook.cells = notebook.cells, []
    for cell in cells if numbers is None else without_others(cells, numbers):
        notebook.cells += graded(next(known), cell) if "exercise" in tags(cell) else [cell]
    notebook = plain(notebook, page, book)
    notebook.cells.insert(1, new_markdown_cell(HOW, id="how-to-hand-in"))
    return notebook


def without_others(cells, numbers: set[str]):
    """The cells but for those of other exercises, from an exercise's heading to the next heading of its level or above."""
    wanted = True
    for cell in cells:
        if cell.cell_type == "markdown" and re.match("#{1,3} ", cell.source):
            heading = HEADING.match(cell.source)
            wanted = not heading or heading[1] in numbers
        if wanted:
            yield cell


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
