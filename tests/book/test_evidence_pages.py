"""Course and evidence: each link has its section, each section is asked for and argues in order, and both find each other."""

import re

import nbformat
import pytest
from browsing import ROOT, soup
from links import read_links
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from plain import Book, plain

PARTS = ["Claim", "Rivals", "Test", "Result", "Open"]
PART = re.compile(rf"(?m)^\*\*({'|'.join(PARTS)})\.\*\* \S")
COURSE, EVIDENCE = "chapters/05_attention", "evidence/05_attention"


def test_course_and_evidence_keep_to_each_other():
    """What is asked for is there; each section is asked for by a chapter, has a label, and argues in order."""
    files = Book(ROOT, "").files
    links = read_links(ROOT, {page: ROOT / file for page, file in files.items()})
    course = {label for label, places in links.places.items() if any(each.page.startswith("chapters/") for each in places)}
    assert links.places.keys() - links.sections.keys() == links.sections.keys() - course == set()
    for page in (page for page in files if page.startswith("evidence/")):
        cells = nbformat.read(ROOT / files[page], 4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        title, *sections = re.split(r"(?m)^(?=(?:\(.*\)=\n+)?## )(?<!=\n)", text)
        assert re.match(rf"# Evidence {int(page[9:11])}: \S", title), page
        for section in sections:
            assert section.startswith("(") and PART.findall(section) == PARTS, section[:300]


def asks(path):
    """What a chapter asks for, line by line: a label, and the heading above it."""
    found, heading = [], ""
    for line in path.read_text("utf-8").splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        found += [(label, heading) for label in re.findall(r"\{evidence\}`(.+?)`", line)]
    return found


@pytest.fixture(scope="module")
def asked():
    """What the chapter asks for."""
    return asks(ROOT / f"{COURSE}.md")


@pytest.fixture(scope="module")
def names():
    """What the sections of its evidence are called, by label."""
    labels = re.findall(r"(?m)^\((.+)\)=\n+## ", (ROOT / f"{EVIDENCE}.md").read_text("utf-8"))
    return {label: f"Evidence 5.{place}" for place, label in enumerate(labels, start=1)}


def test_links_lead_to_their_sections_and_back(asked, names):
    course, evidence = soup(f"{COURSE}.html"), soup(f"{EVIDENCE}.html")
    links = [(link.get_text(), link["href"]) for link in course.select("article a[href*='evidence/']")]
    assert [link for link in links if link[0] != "Evidence"] == [
        (names[label], f"../{EVIDENCE}.html#{label}") for label, _ in asked
    ]
    for label, back in zip(names, evidence.select(".asked-for"), strict=True):
        assert evidence.find(id=label)
        places = [
            f"Chapter {int(path.stem[:2])}, {heading}"
            for path in sorted((ROOT / "chapters").glob("*.md"))
            for each, heading in asks(path)
            if each == label
        ]
        algorithm = (ROOT / "pages" / "algorithm.md").read_text("utf-8")
        places += ["The algorithm on one page"] * (f"{{evidence}}`{label}`" in algorithm)
        assert back.get_text() == f"Asked for by: {'; '.join(places)}"
        leading = [link["href"].removeprefix("../").partition("#") for link in back.select("a")]
        assert len(leading) == len({*leading}) == len(places)
        assert all(soup(page).find(id=anchor) for page, _, anchor in leading)


def test_sections_have_the_number_of_the_file(names):
    evidence = soup(f"{EVIDENCE}.html")
    titles = [heading.get_text().removesuffix("#") for heading in evidence.select("article :is(h1, h2)")]
    listed = [link.get_text().strip() for link in evidence.select("nav.page-toc a")]
    assert titles[0].startswith("Evidence 5: ") and titles[1:] == [each for each in listed if each[0].isdigit()]
    assert [title.split(" ")[0] for title in titles[1:]] == [f"5.{place}." for place in range(1, len(names) + 1)]


def test_checks_are_folded_under_their_name():
    folds = [fold for fold in soup(f"{EVIDENCE}.html").select("details.hide") if "(quoted as" in fold.get_text()]
    assert {fold.select_one(".collapsed").get_text() for fold in folds} == {"Check these numbers"}


def test_plain_notebooks_lead_to_the_section_and_back(asked, names):
    book = Book(ROOT, "https://example.org")
    course, evidence = (
        "\n\n".join(cell.source for cell in plain(nbformat.read(ROOT / f"{page}.ipynb", 4), page, book).cells)
        for page in (COURSE, EVIDENCE)
    )
    assert evidence.count("*Asked for by:*") == len(names)
    for label, heading in asked:
        assert f"[{names[label]}]({book.site}/{EVIDENCE}.html#{label})" in course
        back = rf".*\[Chapter 5, {re.escape(heading)}\]\({book.site}/{COURSE}\.html#asks-{label}"
        assert re.search(rf"(?m)^## {names[label].removeprefix('Evidence ')} .*\n\n{back}", evidence)


def test_captions_boxes_and_pages_without_a_number_ask_and_listings_do_not(tmp_path):
    caption = {"figure": {"caption": "What {evidence}`place` draws.", "name": "fig"}}
    notebooks = {
        "chapters/05_one": [new_markdown_cell("# One\n\n## Break it"), new_code_cell("", metadata={"mystnb": caption})],
        "evidence/05_one": [new_markdown_cell("# Evidence 5: One\n\n(place)=\n## By place\n")],
    }
    files = {page: tmp_path / f"{page}.ipynb" for page in notebooks} | {"intro": tmp_path / "intro.md"}
    for page, cells in notebooks.items():
        files[page].parent.mkdir()
        nbformat.write(new_notebook(cells=cells), files[page])
    boxed, listed = "```{note}\nFirst {evidence}`place`.\n```\n\n", "```\nas {evidence}`code`\n```\n\n"
    asks = f"# A book\n\n{boxed}Then {{evidence}}`place`.\n\n{listed}Last {{evidence}}`place`.\n"
    files["intro"].write_text(asks)
    places = read_links(tmp_path, files).places
    assert places.keys() == {"place"}
    assert [(place.whole, place.section) for place in places["place"]] == [("Chapter 5", "Break it"), *[("A book", "")] * 3]
