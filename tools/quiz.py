"""A chapter's quiz: the directive `{quiz} NAME` shows quizzes/NAME.md, each option as a fold that opens to its explanation.

A question is a heading of one line, with more text below it if need be; its options are a list of tasks, `- [x]` before the
right one, and below each, indented, the explanation.  Folds need no script: they work under a strict policy, with a keyboard,
with a screen reader and on paper.
"""

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = "quizzes"
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


class Quiz(SphinxDirective):
    """Questions one after the other, and the options of each as folds."""

    required_arguments = 1

    def run(self):
        """The nodes of the quiz: an ordered list."""
        name = self.arguments[0]
        self.env.note_dependency(str(Path(self.env.srcdir, FOLDER, f"{name}.md")))
        listed = nodes.enumerated_list(classes=["quiz"], enumtype="arabic", prefix="", suffix=".")
        for question in load_quiz(self.env.srcdir, name):
            folds = [node for option in question.options for node in self.fold(option)]
            listed += nodes.list_item("", *self.parse_text_to_nodes(question.asked), *folds)
        return [listed]

    def fold(self, option):
        """An option as a fold."""
        said, messages = self.parse_inline(option.said)
        shown = nodes.container("", *self.parse_text_to_nodes(option.answer), classes=["right" if option.right else "wrong"])
        opened, named, closed = (
            nodes.raw("", html, format="html") for html in ('<details class="quiz"><summary>', "</summary>", "</details>")
        )
        return [opened, nodes.paragraph("", "", *said), *messages, named, shown, closed]


def setup(app):
    """Add the directive."""
    app.add_directive("quiz", Quiz)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
