"""`python -m marking assignments FOLDER` and `python -m marking mark FOLDER`, as `make assignments` and `make mark` call them."""

import sys

from assign_add_lib.engine.interrupt import listen, stop_at_once

if __name__ == "__main__":
    stop_at_once()

from dataclasses import asdict
from pathlib import Path

from plain import Book

from assign_add_lib.engine.cli import Parser, one_line, refuse
from assign_add_lib.engine.files import read_json, remove_unfinished, write_json
from assign_add_lib.engine.lock import Lock

from . import report
from .assignments import Chapter, choose, read_chapters
from .gradebook import Course, make_assignment
from .judge import Verdicts, judge, prepare
from .sandbox import Limits, unprotected
from .submission import Submission, find


def make_assignments(folder: Path, package: str = "", wish: str = "") -> None:
    """Every chapter as an assignment, or those with the exercises that `wish` chooses.

    The first cell of each installs `package` where the book's is missing.
    """
    chosen = choose(read_chapters(), wish)
    course, book = Course(folder), Book()
    for name, chapter in chosen.items():
        print(make_assignment(course, book, name, package, {each.number for each in chapter.exercises}))


def mark(folder: Path, limits: Limits, chapters: dict[str, Chapter] | None = None, wish: str = "") -> None:
    """Mark a folder of notebooks into FOLDER-marks beside it, or go on where that stopped; `wish` chooses what counts."""
    chapters = chapters or read_chapters()
    chosen = choose(chapters, wish)
    found = find(folder, chapters)
    if missing := unprotected():
        print(f"weaker protection (see teaching/lecturers/marking.md): this system is without {missing}", file=sys.stderr)
    for submission in found:
        if submission.chapter and submission.chapter.name not in chosen:
            submission.trouble = "none of its exercises is among those that count"
    marks = folder.resolve().with_name(folder.resolve().name + "-marks")
    with Lock(marks / ".lock"):
        for each in (marks, marks / "pages", marks / "verdicts"):
            remove_unfinished(each)
        marker, marked = Marker(marks, limits, chosen), []
        try:
            for place, submission in enumerate(found, start=1):
                marked.append(Verdicts() if submission.trouble else marker.mark(submission))
                print(line(place, len(found), submission, marked[-1]), flush=True)
        finally:  # a stop leaves a table, too
            report.write(marks, found, marked, marker.course, chosen)
    print("The marks are in", marks / "marks.csv")


class Marker:
    """Marks submissions, those of a chapter after each other, and keeps what it found."""

    def __init__(self, folder: Path, limits: Limits, chosen: dict[str, Chapter]):
        self.folder, self.limits, self.chosen = folder, limits, chosen
        self.course, self.chapter = Course(folder / "course"), None

    def mark(self, submission: Submission) -> Verdicts:
        kept = self.folder / "verdicts" / f"{submission.student}-{submission.chapter.name}.json"
        chapter = self.chosen[submission.chapter.name]
        of = {"sha256": submission.sha256, "exercises": [each.number for each in chapter.exercises]}
        verdicts = earlier(kept, of)
        if verdicts is None or not self.course.has(submission.chapter.name):
            if not self.course.has(chapter.name):
                make_assignment(self.course, Book(), chapter.name)
            try:
                if self.chapter is not chapter:
                    print(f"running the cells of {chapter.name} once")
                    self.shell, self.chapter = prepare(chapter), chapter
                verdicts = judge(self.shell, chapter, submission.cells, int(submission.sha256[:8], 16), self.limits)
                self.course.grade(submission, verdicts)
            except Exception as error:  # none of ours is known, but one notebook must not keep the others from their marks
                submission.trouble = one_line(f"it could not be marked: {type(error).__name__}: {error}", 300)
                return Verdicts()
            write_json(kept, of | asdict(verdicts))
        return verdicts


def earlier(kept: Path, of: dict) -> Verdicts | None:
    """The verdicts of an earlier call on the same bytes and exercises."""
    try:
        stored = read_json(kept)
    except (FileNotFoundError, ValueError):
        return None
    return Verdicts(stored["said"], stored["remarks"]) if of.items() <= stored.items() else None


def line(place: int, count: int, submission: Submission, verdicts: Verdicts) -> str:
    right = sum(said.startswith("Right") for said in verdicts.said.values())
    what = submission.trouble or f"{right} of {len(verdicts.said)} checks"
    return " · ".join([f"{place}/{count}", submission.name, what, *verdicts.remarks[:1]])


def main(arguments=None) -> int:
    """Run one command; bad input gives one line on stderr and exit code 2."""
    parser = Parser(prog="marking", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("assignments")
    maker.add_argument("folder", type=Path)
    maker.add_argument("--package", default="", help="what pip installs where the book's package is missing, as on Colab")
    marker = commands.add_parser("mark")
    marker.add_argument("folder", type=Path)
    marker.add_argument("--seconds", type=int, default=Limits.seconds, help="of a processor, for each notebook")
    marker.add_argument("--memory", type=int, default=Limits.memory // 2**20, help="in MiB, for each notebook")
    for command in (maker, marker):
        command.add_argument("--exercises", default="", help='those that count, such as "1.3 2.4=3", the last for 3 points')
    options = parser.parse_args(arguments)
    listen()
    try:
        if options.command == "assignments":
            make_assignments(options.folder, options.package, options.exercises)
        else:
            limits = Limits(seconds=options.seconds, clock=6 * options.seconds, memory=options.memory * 2**20)
            mark(options.folder, limits, wish=options.exercises)
    except (ValueError, OSError, ImportError) as error:
        return refuse(error)
    except KeyboardInterrupt:
        return refuse("stopped; the same command goes on from here") + 128
    return 0


if __name__ == "__main__":
    sys.exit(main())
