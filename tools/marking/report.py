"""The table of marks, a row for each file that was handed in, and a page for each student."""

import csv
import io
from html import escape
from itertools import zip_longest
from pathlib import Path

from assign_add_lib.engine.files import write_atomic

from .assignments import Chapter
from .gradebook import Course
from .judge import Verdicts, own_cells
from .submission import Submission

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ overflow-x: auto; padding: .5rem; border: 1px solid #8886; white-space: pre-wrap }}
</style>
<h1>{title}</h1>
<p><strong>{total}</strong></p>
{parts}
</html>
"""


def row(submission: Submission, verdicts: Verdicts, grades: dict, chapter: Chapter | None) -> dict:
    """A submission's row, with the exercises that count; one that a person has yet to grade is empty."""
    entries = {"file": submission.name, "student": submission.student, "chapter": ""}
    if submission.trouble:
        return entries | {"total": "0", "by hand": "0", "reason": submission.trouble}
    entries["chapter"] = chapter.name
    points, most = {}, 0
    for exercise in chapter.exercises:
        for column, part in (("", "-check"), (", words", "-words")):
            if exercise.key + part in grades:
                given = grades[exercise.key + part][0]
                points[column_of(exercise.number) + column] = None if given is None else exercise.weight * given
                most += exercise.weight
    return (
        entries
        | {column: number(each) for column, each in points.items()}
        | {"total": number(sum(each or 0 for each in points.values())), "of": str(most)}
        | {"by hand": str(sum(each is None for each in points.values()))}
        | {"reason": "; ".join(dict.fromkeys([*verdicts.remarks, *lost(submission, verdicts, chapter)]))}
    )


def lost(submission: Submission, verdicts: Verdicts, chapter: Chapter) -> list[str]:
    """Why points are lost: what a check said that gave none, and words that were not written."""
    reasons = []
    for exercise in chapter.exercises:
        said = verdicts.said.get(exercise.number, "Right")
        if not said.startswith("Right"):
            reasons.append(f"{exercise.number}: {shortened(said.removeprefix('Not yet: '))}")
        if exercise.in_words and not submission.words(exercise):
            reasons.append(f"{exercise.number}: nothing was written in words")
    return reasons


def shortened(text: str, most: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 2].rsplit(" ", 1)[0] + " …"


def column_of(number: str) -> str:
    """The column of an exercise: 2.4 is the fourth of its chapter."""
    return f"exercise {number.partition('.')[2]}"


def number(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def table(rows: list[dict], chapters: dict[str, Chapter]) -> str:
    """The rows as CSV, with columns for the exercises that count in any chapter."""
    columns = sorted({column_of(each.number) for chapter in chapters.values() for each in chapter.exercises})
    exercises = [f"{column}{words}" for column in columns for words in ("", ", words")]
    file = io.StringIO()
    writer = csv.DictWriter(file, ["file", "student", "chapter", *exercises, "total", "of", "by hand", "reason"], restval="")
    writer.writeheader()
    writer.writerows({column: harmless(text) for column, text in entries.items()} for entries in rows)
    return file.getvalue()


def harmless(text: str) -> str:
    """No cell that a spreadsheet would compute."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t")) else text


def page(submission: Submission, verdicts: Verdicts, grades: dict, entries: dict, chapter: Chapter) -> str:
    """What the student sees: each exercise with its points, what its check said, the comment, and what was handed in."""
    parts = []
    own = own_cells(chapter, submission.cells)
    for exercise in chapter.exercises:
        parts.append(f"<h2>{escape(exercise.number)} {escape(exercise.title)}</h2>")
        if f"{exercise.key}-check" in grades:
            points, comment = grades[f"{exercise.key}-check"]
            points = number(points and exercise.weight * points)
            parts.append(
                f"<p>{points} of {exercise.weight}. {escape(verdicts.said.get(exercise.number, ''))} {escape(comment)}</p>"
            )
        code = [source for source in own.values() if f"def {exercise.function}(" in source]
        parts += [f"<pre><code>{escape(source)}</code></pre>" for source in code]
        if f"{exercise.key}-words" in grades:
            points, comment = grades[f"{exercise.key}-words"]
            written = submission.words(exercise)
            said = "not graded yet" if points is None else f"{number(exercise.weight * points)} of {exercise.weight}"
            said += "" if written else ", nothing was written"
            parts.append(f"<p>In words: {said}. {escape(comment)}</p>")
            parts += [f"<pre>{escape(written)}</pre>"] if written else []
    if verdicts.remarks:
        parts.append("<h2>What happened when it was run</h2>\n<ul>")
        parts += [f"<li>{escape(each)}</li>" for each in verdicts.remarks]
        parts.append("</ul>")
    title = f"{submission.student}: {chapter.name}"
    total = f"{entries['total']} of {entries['of']} points" + (
        f", {entries['by hand']} not graded yet" if entries["by hand"] != "0" else ""
    )
    return PAGE.format(title=escape(title), total=escape(total), parts="\n".join(parts))


def write(folder: Path, found: list[Submission], marked: list[Verdicts], course: Course, chapters: dict[str, Chapter]) -> None:
    """Write the table and the pages anew from the gradebook; what is not marked yet has a row that says so."""
    rows = []
    for submission, verdicts in zip_longest(found, marked):
        if verdicts is None:
            rows.append({"file": submission.name, "student": submission.student, "reason": "not marked yet"})
            continue
        chapter, grades = (None, {}) if submission.trouble else (chapters[submission.chapter.name], course.grades(submission))
        rows.append(row(submission, verdicts, grades, chapter))
        if not submission.trouble:
            name = f"{submission.student}-{chapter.name}.html"
            write_atomic(folder / "pages" / name, page(submission, verdicts, grades, rows[-1], chapter))
    write_atomic(folder / "marks.csv", table(rows, chapters))
