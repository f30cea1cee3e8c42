"""The table of marks, a row for each file that was handed in, and a page for each student."""

import csv
import io
from html import escape
from pathlib import Path

from assign_add_lib.engine.files import write_atomic

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


def row(submission: Submission, verdicts: Verdicts, grades: dict) -> dict:
    """A submission's row; an exercise that a person has yet to grade is empty."""
    entries = {"file": submission.name, "student": submission.student, "chapter": ""}
    if submission.trouble:
        return entries | {"total": "0", "by hand": "0", "reason": submission.trouble}
    entries["chapter"] = submission.chapter.name
    points = {}
    for place, exercise in enumerate(submission.chapter.exercises, start=1):
        for column, part in (("", "-check"), (", words", "-words")):
            if exercise.key + part in grades:
                points[f"exercise {place}{column}"] = grades[exercise.key + part][0]
    return (
        entries
        | {column: number(each) for column, each in points.items()}
        | {"total": number(sum(each or 0 for each in points.values())), "of": str(len(points))}
        | {"by hand": str(sum(each is None for each in points.values())), "reason": "; ".join(verdicts.remarks)}
    )


def number(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def table(rows: list[dict], most: int) -> str:
    """The rows as CSV, with columns for as many exercises as a chapter has at most."""
    exercises = [f"exercise {place}{words}" for place in range(1, most + 1) for words in ("", ", words")]
    file = io.StringIO()
    writer = csv.DictWriter(file, ["file", "student", "chapter", *exercises, "total", "of", "by hand", "reason"], restval="")
    writer.writeheader()
    writer.writerows({column: harmless(text) for column, text in entries.items()} for entries in rows)
    return file.getvalue()


def harmless(text: str) -> str:
    """No cell that a spreadsheet would compute."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t")) else text


def page(submission: Submission, verdicts: Verdicts, grades: dict, entries: dict) -> str:
    """What the student sees: each exercise with its points, what its check said, the comment, and what was handed in."""
    parts = []
    own = own_cells(submission.chapter, submission.cells)
    for exercise in submission.chapter.exercises:
        parts.append(f"<h2>{escape(exercise.number)} {escape(exercise.title)}</h2>")
        if f"{exercise.key}-check" in grades:
            points, comment = grades[f"{exercise.key}-check"]
            parts.append(f"<p>{number(points)} of 1. {escape(verdicts.said.get(exercise.number, ''))} {escape(comment)}</p>")
        code = [source for source in own.values() if f"def {exercise.function}(" in source]
        parts += [f"<pre><code>{escape(source)}</code></pre>" for source in code]
        if f"{exercise.key}-words" in grades:
            points, comment = grades[f"{exercise.key}-words"]
            written = submission.words(exercise)
            said = "not graded yet" if points is None else f"{number(points)} of 1"
            said += "" if written else ", nothing was written"
            parts.append(f"<p>In words: {said}. {escape(comment)}</p>")
            parts += [f"<pre>{escape(written)}</pre>"] if written else []
    if verdicts.remarks:
        parts.append("<h2>What happened when it was run</h2>\n<ul>")
        parts += [f"<li>{escape(each)}</li>" for each in verdicts.remarks]
        parts.append("</ul>")
    title = f"{submission.student}: {submission.chapter.name}"
    total = f"{entries['total']} of {entries['of']} points" + (
        f", {entries['by hand']} not graded yet" if entries["by hand"] != "0" else ""
    )
    return PAGE.format(title=escape(title), total=escape(total), parts="\n".join(parts))


def write(folder: Path, found: list[Submission], marked: dict[str, Verdicts], course: Course, most: int) -> None:
    """Write the table and the pages anew from the gradebook; what is not marked yet has a row that says so."""
    rows = []
    for submission in found:
        if submission.name not in marked:
            rows.append({"file": submission.name, "student": submission.student, "reason": "not marked yet"})
            continue
        verdicts = marked[submission.name]
        grades = {} if submission.trouble else course.grades(submission)
        rows.append(row(submission, verdicts, grades))
        if not submission.trouble:
            name = f"{submission.student}-{submission.chapter.name}.html"
            write_atomic(folder / "pages" / name, page(submission, verdicts, grades, rows[-1]))
    write_atomic(folder / "marks.csv", table(rows, most))
