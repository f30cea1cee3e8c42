"""The directive `{quiz} NAME` shows teaching/quizzes/NAME.md, each option as a fold that opens to its explanation.

Folds need no script: they work under a strict policy, with a keyboard and with a screen reader.  On paper they stay closed,
and the right answers stand at the end of the page.
"""

from pathlib import Path
from string import ascii_lowercase

from docutils import nodes
from quiz import FOLDER, load_quiz
from sphinx.util.docutils import SphinxDirective


class Quiz(SphinxDirective):
    """Questions one after the other, and the options of each as folds."""

    required_arguments = 1

    def run(self):
        """The nodes of the quiz: an ordered list."""
        name = self.arguments[0]
        self.env.note_dependency(str(Path(self.env.srcdir, FOLDER, f"{name}.md")))
        listed, answers = (nodes.enumerated_list(enumtype="arabic", prefix="", suffix=".") for _ in range(2))
        listed["classes"].append("quiz")
        for question in load_quiz(self.env.srcdir, name):
            folds = [node for option in question.options for node in self.fold(option)]
            listed += nodes.list_item("", *self.parse_text_to_nodes(question.asked), *folds)
            letter, right = next((letter, each) for letter, each in zip(ascii_lowercase, question.options) if each.right)
            answers += nodes.list_item("", *self.parse_text_to_nodes(f"**{letter}.** {right.why}"))
        rubric = nodes.rubric("", "Answers to the quiz")
        return [listed, nodes.container("", rubric, answers, classes=["quiz-answers"])]

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
