"""Links between the course and its evidence, as the texts of the pages have them.

A section of evidence stands under `(LABEL)=` and its heading, and the course asks for it by the role `{evidence}`.  The number
of a section is that of its page's file and its place there.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import nbformat

NUMBERED = re.compile(r"(?P<kind>chapters|evidence)/(?P<number>\d+)_")
MARK = re.compile(
    r"""
      (?P<ticks>`{2,}).+?(?P=ticks)
    | ^\((?P<label>[a-z][a-z\d-]*)\)=\n+(?=\#\#[ ])
    | ^\#\#[ ](?P<section>.+)$
    | ^\#[ ](?P<title>.+)$
    | \{evidence\}`(?P<asked>.+?)`
    """,
    re.MULTILINE | re.VERBOSE,
)


class Section(NamedTuple):
    """A section of evidence."""

    page: str
    number: str  # 5.2
    title: str

    @property
    def name(self) -> str:
        """How the book calls it."""
        return f"Evidence {self.number}"


class Place(NamedTuple):
    """A place that asks for a section."""

    page: str
    title: str
    section: str  # the heading above, if there is one
    anchor: str

    @property
    def whole(self) -> str:
        """The page by name: a chapter by its number, any other by its title."""
        chapter = NUMBERED.match(self.page)
        return f"Chapter {int(chapter['number'])}" if chapter else self.title


class Links(NamedTuple):
    """The sections of evidence by label, and by label the places outside the evidence that ask for each."""

    sections: dict[str, Section]
    places: dict[str, list[Place]]


def texts_of(path: Path) -> list[str]:
    """The Markdown of a page, cell by cell, captions of figures included."""
    if path.suffix != ".ipynb":
        return [path.read_text("utf-8")]
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    return [
        cell.source if cell.cell_type == "markdown" else cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
        for cell in cells
    ]


def without_listings(text: str) -> str:
    """A text without what stands in fences that are no directive's."""
    kept, opened = [], []  # fences, and whether they are a listing's
    for line in text.splitlines():
        fence, said = re.match(r"(`{3,})?(.*)", line).groups()
        listing = opened and opened[-1][1]
        if fence and opened and fence == opened[-1][0] and not said:
            opened.pop()
        elif fence and not listing:
            opened.append((fence, not said.startswith("{")))
        elif not listing:
            kept.append(line)
    return "\n".join(kept)


def anchor_of(label: str, earlier: int) -> str:
    """The id of a place that asks for a section, as so many before it on its page do."""
    return f"asks-{label}" + (f"-{earlier + 1}" if earlier else "")


def words(markdown: str) -> str:
    """A heading without marks."""
    return re.sub(r"\{[\w:]+\}(?=`)|[`*$]", "", markdown).strip()


def read_links(root: Path, pages: dict[str, Path]) -> Links:
    """The links between the pages of a book, and the sections of all evidence in the folder, whether it is of the book or not.

    ValueError for a label that two sections have.
    """
    links = Links({}, defaultdict(list))
    evidence_there = {f"evidence/{path.stem}": path for path in sorted(root.glob("evidence/*.ipynb"))}
    for page, path in (evidence_there | pages).items():
        numbered, title, section, label, place = NUMBERED.match(page), "", "", None, 0
        evidence = numbered and numbered["kind"] == "evidence"
        for found in MARK.finditer("\n\n".join(map(without_listings, texts_of(path)))):
            if found["label"]:
                label = found["label"]
            elif found["title"]:
                title = words(found["title"])
            elif found["section"]:
                section, place = words(found["section"]), place + 1
                if evidence and label:
                    if label in links.sections:
                        raise ValueError(f"{page}: another section of evidence has the label {label}")
                    links.sections[label] = Section(page, f"{int(numbered['number'])}.{place}", section)
                label = None
            elif (asked := found["asked"]) and not evidence:
                earlier = sum(each.page == page for each in links.places[asked])
                links.places[asked].append(Place(page, title, section, anchor_of(asked, earlier)))
    return links
