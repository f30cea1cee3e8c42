"""The verdicts on one notebook: the checks run here, in the marker; the functions run there, in the student's process.

The chapter's own cells have run once, here; of a notebook run only the cells that are not the chapter's. Where a process
ends or has to be ended, the next one leaves out the cell, or the exercise, that was to blame.
"""

import ast
import contextlib
import io
import os
from dataclasses import dataclass, field
from types import ModuleType

import torch

from assign_add_lib import checks
from assign_add_lib.engine.cli import one_line

from .assignments import Chapter, Exercise, tags, without_checks
from .sandbox import REFUSED, Limits, Stopped, Student, seed_generators
from .submission import words_cell

TRIES = 3  # cells that may end the process before the notebook is given up

# These checks get functions or claims back, which is more than data.  So they run in the student's process, where a notebook
# that sets out to could forge their verdict.
NEAR = frozenset({"soon", "shared"})


@dataclass
class Verdicts:
    """What the checks said, by exercise, and what else the lecturer should know; each in a line that can be printed."""

    said: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def say(self, exercise: Exercise, words: str) -> None:
        self.said[exercise.number] = one_line(words, 500)

    def remark(self, words: str) -> None:
        words = one_line(words, 300)
        if words not in self.remarks:
            self.remarks.append(words)


def prepare(chapter: Chapter):
    """A shell in which the chapter's own cells have run, from which students' processes are forked."""
    os.environ["MPLBACKEND"] = "agg"
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    torch.set_num_threads(1)  # a process with threads must not be forked
    torch.set_grad_enabled(True)  # another chapter may have switched it off
    for name in checks.__all__:  # what a notebook replaces is told by what stood there before
        getattr(checks, name)
    config = Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "nocolor"})
    shell = InteractiveShell(config=config, user_module=ModuleType("cells"))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for source in ("import matplotlib.pyplot", *chapter.code):
            shell.run_cell(source).raise_error()
    return shell


def judge(shell, chapter: Chapter, cells: list, seed: int, limits: Limits) -> Verdicts:
    """Run a notebook's own cells, and then each check on the function that they define."""
    verdicts, todo, skipped = Verdicts(), [each for each in chapter.exercises if each.check], set()
    own = own_cells(chapter, cells)
    others = sorted(
        {name for source in own.values() for name in _functions(source)} - {each.function for each in chapter.exercises}
    )
    if same := copied(chapter, own):
        verdicts.remark(f"as in the book, word for word: {', '.join(each.number for each in same)}")
    for words in changed_checks(chapter, cells):
        verdicts.remark(words)
    if missing := [each.number for each in chapter.exercises if each.in_words and not words_cell(cells, each)]:
        verdicts.remark(f"the cell for words is missing: {', '.join(missing)}")
    while todo:
        seed_generators(seed)  # the process starts with the same
        with Student(shell, limits) as student:
            try:
                _run(student, own, skipped, verdicts)
                while todo:
                    verdicts.say(todo[0], _verdict(student, todo[0], seed, others))
                    todo.pop(0)
            except _CellStopped as stop:
                verdicts.remark(f"cell {stop.cell}: {stop}")
                skipped.add(stop.cell)
                if len(skipped) > TRIES:
                    while todo:
                        verdicts.say(todo.pop(), "Not yet: the notebook cannot be run")
            except Stopped as stop:
                verdicts.say(todo[0], f"Not yet: {stop}")
                verdicts.remark(f"{todo.pop(0).number}: {stop}")
            for words in student.remarks:
                verdicts.remark(words)
    return verdicts


class _CellStopped(Stopped):
    def __init__(self, cell: int, why: Stopped):
        super().__init__(str(why))
        self.cell = cell


def _run(student: Student, own: dict[int, str], skipped: set[int], verdicts: Verdicts) -> None:
    for place, source in own.items():
        if place not in skipped:
            try:
                error = student.run(source)
                if error and REFUSED not in error:  # that has its own remark
                    verdicts.remark(f"cell {place}: {error}")
            except Stopped as stop:
                raise _CellStopped(place, stop) from None
    for name in student.replaced():
        verdicts.remark(f"replaces {name}")


def _verdict(student: Student, exercise: Exercise, seed: int, others: list[str]) -> str:
    """What an exercise's check says; what is random, here and there, is the same whenever the same notebook is marked."""
    if not student.defines(exercise.function):
        instead = f"; it defines {', '.join(others)}" if others else ""
        return f"Not yet: the notebook has no function {exercise.function}{instead}"
    seed_generators(seed)
    student.seed(seed)
    if exercise.check in NEAR:
        return student.check(exercise.check, exercise.function)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        getattr(checks, exercise.check)(student.function(exercise.function))
    return said.getvalue().strip()


def own_cells(chapter: Chapter, cells: list) -> dict[int, str]:
    """The code that is the student's, by the number of its cell: not the chapter's, no book's solution left in place."""
    known = {source.strip() for source in (*chapter.code, *chapter.beside)} | {""}
    sources = {
        place: without_checks(cell.source)
        for place, cell in enumerate(cells, start=1)
        if cell.cell_type == "code" and "solution" not in tags(cell)
    }
    return {place: source for place, source in sources.items() if source not in known}


def copied(chapter: Chapter, own: dict[int, str]) -> list[Exercise]:
    """The exercises whose function is the book's, but for comments and layout."""
    functions = {form for source in own.values() for form in _functions(source).values()}
    return [each for each in chapter.exercises if _functions(each.solution).get(each.function, "") in functions]


def _functions(source: str) -> dict[str, str]:
    try:
        return {node.name: ast.dump(node) for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # Python is not made for what one can write on purpose
        return {}


def changed_checks(chapter: Chapter, cells: list) -> list[str]:
    """Whether the locked cells are there, and as they were; they are not run, so this is for the lecturer's eye."""
    keys = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells}
    if not any(keys):
        return []  # not our assignment, but the chapter itself
    sources = {cell.source.strip() for cell in cells}
    lost = [each for each in chapter.exercises if each.check and f"checks.{each.check}({each.function})" not in sources]
    said = {True: "was changed", False: "is missing"}
    return [f"the cell of the check of {each.number} {said[f'{each.key}-check' in keys]}" for each in lost]
