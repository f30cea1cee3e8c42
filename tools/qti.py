"""Write the quizzes for learning platforms, as packages in the format QTI 1.2: `python tools/qti.py FOLDER`."""

import sys

from assign_add_lib.engine.interrupt import listen, stop_at_once

if __name__ == "__main__":
    stop_at_once()

from pathlib import Path
from textwrap import indent

from plain import ROOT, chapters_of
from quiz import load_quiz
from text2qti.config import Config
from text2qti.qti import QTI
from text2qti.quiz import Quiz

from assign_add_lib.engine.cli import Parser, refuse
from assign_add_lib.engine.files import write_atomic

HEAD = """\
Quiz title: {title}
shuffle answers: true
"""
PRIVATE = "Private (Copyrighted) - http://en.wikipedia.org/wiki/Copyright"  # what text2qti says of every quiz
LICENCE = "CC Attribution - https://creativecommons.org/licenses/by/4.0/"


def text2qti(title: str, questions) -> str:
    """The questions in the plain form that text2qti reads: a number, options, and below each the explanation as feedback."""
    parts = [HEAD.format(title=title)]
    for number, question in enumerate(questions, start=1):
        parts.append(hung(f"{number}.", question.asked))
        for letter, option in zip("abcd", question.options, strict=False):
            parts.append(hung(f"{'*' * option.right}{letter})", option.said))
            parts.append(hung("...", option.why))
    return "\n".join(parts) + "\n"


def hung(mark: str, text: str) -> str:
    """A mark, and the text indented behind it."""
    return mark + indent(text, "    ")[len(mark) :]


def package(name: str) -> bytes:
    """A chapter's quiz as a zipped package that a platform imports."""
    title = Path(ROOT, f"chapters/{name}.md").read_text("utf-8").partition("\n# ")[2].partition("\n")[0]
    number = int(name.partition("_")[0])
    made = QTI(Quiz(text2qti(f"{number} {title}", load_quiz(ROOT, name)), config=Config()))
    made.imsmanifest_xml = made.imsmanifest_xml.replace(PRIVATE, LICENCE)
    return made.zip_bytes()


def write(folder: Path, root: Path = ROOT) -> None:
    """All packages of a book, into a folder."""
    for path in chapters_of(root):
        write_atomic(folder / f"{path.stem}.zip", package(path.stem))
        print(folder / f"{path.stem}.zip")


def main(arguments=None) -> int:
    """Write them; bad input gives one line on stderr and exit code 2."""
    parser = Parser(prog="qti", description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    listen()
    try:
        write(options.folder)
    except (ValueError, OSError) as error:
        return refuse(error)
    except KeyboardInterrupt:
        return refuse("stopped") + 128
    return 0


if __name__ == "__main__":
    sys.exit(main())
