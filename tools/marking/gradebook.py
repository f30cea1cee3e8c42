"""nbgrader: it makes the assignments, turns verdicts into grades, and keeps them beside those that are given by hand.

A course is a folder of nbgrader's, so that its own tools work in it, such as the form for grading by hand (`formgrader`).
Its autograder does not run the notebooks, since `judge` has: it reads the verdicts as the outputs of the checks' cells.
"""

import contextlib
import copy
import logging
import os
import shutil
import sys
import textwrap
import warnings
from importlib import metadata
from pathlib import Path

import nbformat
from first_cell import first_cell
from nbformat.v4 import new_code_cell, new_notebook, new_output
from traitlets.config import Config

from assign_add_lib.engine.files import read_json, write_atomic

from .assignments import WORDS, assignment
from .judge import Verdicts, own_cells
from .submission import Submission

CONFIG = """\
# Read by nbgrader where it is started in this folder.
c = get_config()
c.GenerateAssignment.preprocessors = [{keep}]
c.Autograde.sanitize_preprocessors = [{sanitize}]
c.Autograde.autograde_preprocessors = [{grade}]  # no Execute: `make mark` has run the notebooks, and its verdicts stand in them
c.NbGraderAPI.log_level = "ERROR"
"""
PREPROCESSORS = {
    "keep": ("LockCells", "CheckCellMetadata", "ComputeChecksums", "SaveCells"),
    "sanitize": ("OverwriteCells", "CheckCellMetadata"),
    "grade": ("SaveAutoGrades", "AssignLatePenalties", "CheckCellMetadata"),
}


class Course:
    """A folder of nbgrader's, made where it is missing."""

    def __init__(self, folder: Path):
        from nbgrader.apps import NbGraderAPI  # takes a second
        from nbgrader.coursedir import CourseDirectory

        find_alembic()
        names = {key: ", ".join(f'"nbgrader.preprocessors.{each}"' for each in each) for key, each in PREPROCESSORS.items()}
        text = CONFIG.format(**names)
        write_atomic(folder / "nbgrader_config.py", text)
        config = Config(CourseDirectory={"root": str(folder.resolve())}, Exchange={"root": str(folder.resolve())})
        exec(text, {"get_config": lambda: config})
        warnings.filterwarnings("ignore", module="nbgrader")
        logging.getLogger("traitlets").setLevel(logging.ERROR)
        self.folder = folder
        self.api = NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)

    def add(self, name: str, notebook) -> Path:
        """Make an assignment of a notebook; returns the one for students. Grades that there are stay."""
        self._write("source", name, notebook, name)
        _done(self.api.generate_assignment(name, force=True))
        return self.folder / "release" / name / f"{name}.ipynb"

    def has(self, name: str) -> bool:
        """Whether an assignment is there, and whole: nbgrader may have been killed while it wrote it."""
        try:
            return bool(read_json(self.folder / "release" / name / f"{name}.ipynb"))
        except (FileNotFoundError, ValueError):
            return False

    def grade(self, submission: Submission, verdicts: Verdicts) -> None:
        """Enter a submission with its verdicts into the gradebook; points by hand stay where what they are for is the same."""
        name, where = submission.chapter.name, Path("submitted", submission.student)
        release = nbformat.read(self.folder / "release" / name / f"{name}.ipynb", 4)
        notebook, before = handed_in(release, submission, verdicts), self.folder / where / name / f"{name}.ipynb"
        if before.exists():
            self._forget_points(submission, graded_for(nbformat.read(before, 4)), graded_for(notebook))
        self._write(where, name, notebook, name)
        _done(self.api.autograde(name, submission.student, force=True))

    def _forget_points(self, submission: Submission, before: dict, now: dict) -> None:
        """Let those given by hand wait for a person again, where a cell is not what it was."""
        from nbgrader.api import MissingEntry

        name = submission.chapter.name
        with self.api.gradebook as book, contextlib.suppress(MissingEntry):  # it was killed before nbgrader knew of it
            for grade in book.find_submission_notebook(name, name, submission.student).grades:
                if before.get(grade.name) != now.get(grade.name):
                    grade.manual_score = None
            book.db.commit()

    def grades(self, submission: Submission) -> dict[str, tuple[float | None, str]]:
        """The points of each graded cell by its key, none where a person has yet to give them, with that person's comment."""
        name = submission.chapter.name
        with self.api.gradebook as book:
            found = book.find_submission_notebook(name, name, submission.student)
            comments = {each.name: each.manual_comment or "" for each in found.comments}
            return {each.name: (_points(each), comments.get(each.name, "")) for each in found.grades}

    def _write(self, where, name, notebook, file) -> None:
        write_atomic(self.folder / where / name / f"{file}.ipynb", nbformat.writes(notebook) + "\n")


def find_alembic() -> None:
    """Put the folder of `alembic`, a command that nbgrader starts, on the path; ValueError where it is not installed."""
    for file in metadata.files("alembic") or ():
        if file.stem == "alembic" and os.access(file.locate(), os.X_OK):
            os.environ["PATH"] = os.pathsep.join([str(file.locate().parent), os.environ["PATH"]])
    if not shutil.which("alembic"):
        raise ValueError(f"nbgrader needs the command alembic, which is not installed beside {sys.executable}")


def _points(grade) -> float | None:
    """Those given by hand before those of the check; none where a person has yet to give them.

    nbgrader marks a grade by hand as one to look at again whenever it grades anew; it still counts.
    """
    if grade.manual_score is not None:
        return grade.manual_score
    return None if grade.needs_manual_grade else grade.auto_score


def _done(result: dict) -> None:
    if not result["success"]:
        lines = [line.strip() for line in result["log"].splitlines() if "Error: " in line]
        raise ValueError(f"nbgrader stopped: {lines[-1] if lines else result['log'][-300:]}")


def make_assignment(course: Course, book, name: str, package: str = "", numbers: set[str] | None = None) -> Path:
    """Make a chapter of the book an assignment of the course, with all its exercises or those of these numbers.

    Its first cell installs `package` where the book's is missing.
    """
    page = f"chapters/{name}"
    notebook = assignment(nbformat.read(book.root / book.files[page], 4), page, book, numbers)
    next(cell for cell in notebook.cells if cell.cell_type == "code").source = first_cell(package)
    return course.add(name, notebook)


def graded_for(notebook) -> dict[str, tuple]:
    """For what the points of each cell are given, by its key: its text, its verdict, and for a check the function above it."""
    cells = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    return {key: (cell.source, cell.get("outputs"), cells[key.removesuffix("-check")].source) for key, cell in cells.items()}


def handed_in(release, submission: Submission, verdicts: Verdicts):
    """What a person grades: the assignment's exercises, with the student's code and words, and the checks' verdicts.

    It is made of the assignment, so that its locked cells are ours whatever the student did to theirs.
    """
    cells, own = [], own_cells(submission.chapter, submission.cells)
    for exercise in submission.chapter.exercises:
        kept = {cell.metadata.nbgrader.grade_id: copy.deepcopy(cell) for cell in release.cells if "nbgrader" in cell.metadata}
        task = next(cell for cell in release.cells if cell.source.startswith(f"### Exercise {exercise.number}:"))
        code = kept[exercise.key]
        code.source = "\n\n\n".join(
            source for place, source in own.items() if _belongs(submission.cells[place - 1], source, exercise)
        )
        cells += [task, code]
        if check := kept.get(f"{exercise.key}-check"):
            check.outputs = [_output(verdicts.said.get(exercise.number, "Not yet: it was not checked"))]
            cells.append(check)
        if words := kept.get(f"{exercise.key}-words"):
            if written := submission.words(exercise):
                literal = textwrap.indent(written, 4 * " ", lambda _: True)  # the form for grading would run scripts in it
                words.source = f"{WORDS.format(number=exercise.number)}\n\n{literal}"
            cells.append(words)
    placed = {source for cell in cells if cell.cell_type == "code" for source in cell.source.split("\n\n\n")}
    cells += [new_code_cell(source) for source in own.values() if not placed.issuperset(source.split("\n\n\n"))]
    return new_notebook(cells=cells, metadata=release.metadata)


def _belongs(cell, source: str, exercise) -> bool:
    return cell.metadata.get("nbgrader", {}).get("grade_id") == exercise.key or f"def {exercise.function}(" in source


def _output(said: str):
    """A verdict as the output of its check's cell: nbgrader gives no point where it finds an error."""
    if said.startswith("Right"):
        return new_output("stream", name="stdout", text=said + "\n")
    return new_output("error", ename="Not yet", evalue=said.removeprefix("Not yet: "), traceback=[said])
