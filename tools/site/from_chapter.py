"""What slides take from their chapter or its evidence: `{figure-of} NAME`, with its alternative text, and `{equation-of} LABEL`.

A deck and its chapter have one name, so teaching/slides/01_task.md takes from chapters/01_task.ipynb and evidence/01_task.ipynb,
as they stand: nothing is drawn anew.
"""

import base64
import re
from functools import cache
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "_build/figures"
EQUATION = r"^\$\$\n(?P<formula>(?:(?!\$\$).*\n)+)\$\$ \({label}\)$"


def notebooks_of(chapter):
    """The notebooks of a chapter and of its evidence, as far as they are there."""
    return [path for folder in ("chapters", "evidence") if (path := ROOT / f"{folder}/{chapter}.ipynb").exists()]


@cache
def cells_of(chapter):
    """The cells of a chapter's notebook, and those of its evidence."""
    return [cell for path in notebooks_of(chapter) for cell in nbformat.read(path, 4).cells]


class FromChapter(SphinxDirective):
    """What takes one thing from the chapter of the deck."""

    required_arguments = 1

    @property
    def chapter(self):
        """The chapter's name, which is the deck's."""
        for path in notebooks_of(self.env.docname):
            self.env.note_dependency(str(path))
        return self.env.docname


class FigureOf(FromChapter):
    """A figure of the chapter, by its name."""

    def run(self):
        """The picture as the chapter's last run drew it."""
        name = self.arguments[0]
        for cell in cells_of(self.chapter):
            if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == name:
                drawn = [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]
                path = FIGURES / self.chapter / f"{name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(base64.b64decode(drawn[0]))
                alt = cell.metadata["mystnb"]["image"]["alt"]
                return [nodes.image(uri=f"../../{path.relative_to(ROOT)}", alt=alt, classes=["figure", "r-stretch"])]
        raise self.error(f"{self.chapter} has no figure {name}")


class EquationOf(FromChapter):
    """A displayed equation of the chapter, by its label."""

    def run(self):
        """The formula, without its number."""
        pattern = re.compile(EQUATION.replace("{label}", re.escape(self.arguments[0])), re.MULTILINE)
        for cell in cells_of(self.chapter):
            if cell.cell_type == "markdown" and (found := pattern.search(cell.source)):
                return [nodes.math_block(found["formula"], found["formula"].strip(), nowrap=False, number=None, label=None)]
        raise self.error(f"{self.chapter} has no equation {self.arguments[0]}")


def setup(app):
    """Add the directives."""
    app.add_directive("figure-of", FigureOf)
    app.add_directive("equation-of", EquationOf)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
