"""The state of the book, as the build finds it: `{status}` lists notebooks, rules, tests and versions."""

import ast
import inspect
import platform
import re
from pathlib import Path

import nbformat
from executed import RECORD, recorded
from quiz import FOLDER, load_quiz
from sphinx.util.docutils import SphinxDirective

import assign_add_lib
from assign_add_lib.claims.beforehand import fixed_rules

PACKAGE = "assign_add_lib"
HELD = ("cells", "compared", "figures", "numbers", "exercises", "quiz")


def tags(cell):
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))


def code_of(notebook):
    """The code cells, and their parsed text but for that of the first, which is the installer's."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return cells, [ast.parse(cell.source) for cell in cells[1:]]


def held_by(notebook, quiz):
    """How much there is of each of `HELD`."""
    cells, trees = code_of(notebook)
    calls = [ast.unparse(node.func) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return (
        len(cells),
        sum("nbval-ignore-output" not in tags(cell) for cell in cells),
        sum("figure" in cell.metadata.get("mystnb", {}) for cell in cells),
        sum(call in ("report", "checks.report") for call in calls),
        sum("exercise" in tags(cell) for cell in cells),
        quiz,
    )


def modules_of(notebook):
    """The modules of the package that a notebook imports, each as the rooms that lead to it and its own name."""
    found = set()
    for tree in code_of(notebook)[1]:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == PACKAGE:
                for name in node.names:
                    thing = getattr(__import__(node.module, fromlist=[name.name]), name.name)  # which may be a module
                    home = thing.__name__ if inspect.ismodule(thing) else getattr(thing, "__module__", node.module)
                    found.add(tuple(home.split(".")[1:]))
    return found


def tests_of(notebook, folder):
    """How many test functions there are of the modules that a notebook imports, by name of the file.

    A file has the name of its module, with its room's name before it where two share a name, or that of a room.
    """
    there, found = {path.stem.removeprefix("test_"): path for path in folder.glob("test_*.py")}, set()
    for *rooms, module in modules_of(notebook):
        names = ["_".join((*rooms[-1:], module)), module, *reversed(rooms)]
        found |= {next(filter(there.__contains__, names), "")} - {""}
    return {name: len(re.findall(r"(?m)^def test_", there[name].read_text("utf-8"))) for name in sorted(found)}


def pins_of(text):
    """What requirements.txt pins, by the comment above it."""
    groups = re.findall(r"(?m)^# (the .*)\n((?:\w.*==.*\n?)+)", text)
    return {group: [line.replace("==", " ") for line in pins.splitlines()] for group, pins in groups}


def table(head, rows):
    """A table in Markdown, numbers to the right."""
    lines = [head, ["--:" if isinstance(cell, int) else "---" for cell in rows[0]], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


class Status(SphinxDirective):
    """One part of the state of the book: `notebooks`, `rules`, `tests` or `versions`."""

    required_arguments = 1

    def run(self):
        """Its table, made anew by each build."""
        self.env.note_reread()
        return self.parse_text_to_nodes(getattr(self, self.arguments[0])())

    def pages(self):
        """The notebooks, each with a link under its title."""
        paths = {page: Path(self.env.doc2path(page)) for page in self.env.found_docs}
        found = [page for page, path in paths.items() if path.suffix == ".ipynb"]
        for page in sorted(found):
            notebook, number = nbformat.read(paths[page], 4), re.match(r"chapters/0?(\d+)_", page)
            title = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
            yield page, f"[{number[1] + ' ' if number else ''}{title}](/{page}.ipynb)", notebook

    def notebooks(self):
        """When each was executed, for how long, and what it holds."""
        rows, sums = [], [0] * len(HELD)
        for page, link, notebook in self.pages():
            run, quiz = notebook.metadata.get(RECORD), Path(self.env.srcdir, FOLDER, f"{Path(page).name}.md")
            held = held_by(notebook, len(load_quiz(self.env.srcdir, quiz.stem)) if quiz.is_file() else 0)
            since = "" if recorded(notebook) else "; changed since"
            rows.append([link, f"{run['date']}, {run['seconds']} s{since}" if run else "not recorded", *held])
            sums = [one + other for one, other in zip(sums, held)]
        return table(["page", "executed", *HELD], [*rows, ["together", "", *sums]])

    def rules(self):
        """What was decided before it was measured, and what came out."""
        told = "- **{0.id}** ({0.system}, {0.fixed}). {0.rule} *Seen by then:* {0.seen} *Verdict: {0.verdict}.* {0.outcome}"
        return "\n".join(map(told.format, fixed_rules()))

    def tests(self):
        """The tests of what each imports."""
        rows, folder = [], Path(self.env.srcdir, "tests")
        for _, link, notebook in self.pages():
            files = tests_of(notebook, folder)
            rows.append([link, sum(files.values()), ", ".join(f"{name} {n}" for name, n in files.items())])
        return table(["page", "tests", "of which each file has"], rows)

    def versions(self):
        """What the build ran with, and what is pinned."""
        pins = pins_of(Path(self.env.srcdir, "requirements.txt").read_text("utf-8"))
        ran = [["this book", assign_add_lib.__version__], ["Python, which built these pages", platform.python_version()]]
        return table(["what", "versions"], [*ran, *([group, ", ".join(each)] for group, each in pins.items())])


def setup(app):
    """Add the directive."""
    app.add_directive("status", Status)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
