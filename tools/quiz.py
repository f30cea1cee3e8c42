"""A chapter's quiz: teaching/quizzes/NAME.md as questions and options, for the site and for plain notebooks.

A question is a heading of one line, with more text below it if need be; its options are a list of tasks, `- [x]` before the
right one, and below each, indented, the explanation.
"""

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

FOLDER = "teaching/quizzes"
OPTION = re.compile(r"^- \[(?P<mark>[ x])\] (?P<said>.+)\n(?P<why>(?:(?:  .*)?\n)*)", re.MULTILINE)


class Option(NamedTuple):
    """An answer that can be opened, in Markdown."""

    said: str  # one line
    right: bool
    why: str

    @property
    def answer(self) -> str:
        """What opens: the verdict, and why."""
        return f"**{'Right.' if self.right else 'Not so.'}** {self.why}"


class Question(NamedTuple):
    """A question in Markdown, and its options."""

    asked: str
    options: list[Option]


def read_options(text: str) -> tuple[str, list[Option]]:
    """A question with its options, apart; no options where they are no list of tasks."""
    asked, *options = re.split(r"(?m)^(?=- \[)", text + "\n")
    found = [OPTION.fullmatch(each) for each in options]
    if not all(found):
        return text.strip(), []
    return asked.strip(), [Option(each["said"], each["mark"] == "x", dedent(each["why"]).strip()) for each in found]


def load_quiz(root: Path | str, name: str) -> list[Question]:
    """The questions of a quiz; ValueError for a file of another form."""
    text = Path(root, FOLDER, f"{name}.md").read_text("utf-8")
    before, *parts = re.split(r"(?m)^# ", text.rstrip("\n") + "\n")
    questions = []
    for part in parts:
        asked, options = read_options(part)
        if not options:
            raise ValueError(f"{FOLDER}/{name}.md: the options of {asked.splitlines()[0]!r} are no list of tasks")
        questions.append(Question(asked, options))
    if before.strip() or not questions:
        raise ValueError(f"{FOLDER}/{name}.md must begin with a question, a heading")
    return questions
