"""Course and evidence: each link has its section, each section is asked for and argues in order, and both find each other."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from browsing import ROOT, soup
from links import read_links
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from plain import Book, plain

PARTS = ["Claim", "Rivals", "Test", "Result", "Open"]
PART = re.compile(rf"(?m)^\*\*({'|'.join(PARTS)})\.\*\* \S")


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


ARGUED = "\n\n".join(f"**{part}.** Some words." for part in PARTS)
REPORTED = "share: 0.970 (quoted as 0.97, within 0.002)\n"
FIGURE = {"figure": {"caption": "What {evidence}`counterweight` draws.", "name": "fig-course"}, "image": {"alt": "A dot."}}
PYTHON = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def drawn(name):
    """A cell with a figure."""
    mystnb = FIGURE | {"figure": {"caption": "A dot.", "name": name}} if name else FIGURE
    output = new_output("display_data", {"image/png": DOT})
    return new_code_cell("draw()", metadata={"mystnb": mystnb}, outputs=[output])


def check(tags):
    """A cell that checks a number."""
    printed = new_output("stream", name="stdout", text=REPORTED)
    return new_code_cell('report("share", 0.97, 0.97, 0.002)', metadata={"tags": tags}, outputs=[printed])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The folder of a small book: an introduction, chapter 5 and its evidence."""
    root = tmp_path_factory.mktemp("small")
    chapter = [
        "# Attention\n\n## Break it\n\nThe rest is a counterweight ({evidence}`counterweight`).",
        "## Again\n\nSee {evidence}`counterweight` and {evidence}`place`.",
    ]
    evidence = [
        "# Evidence 5: Attention\n\nWhat holds the chapter.",
        f"(counterweight)=\n## The rest is a *counterweight*\n\n{ARGUED}",
        f"(place)=\n## By place\n\n{ARGUED}\n\n### A detail\n\nWords.",
    ]
    cells = {
        "chapters/05_attention": [*map(new_markdown_cell, chapter), check(["remove-cell"]), drawn(None)],
        "evidence/05_attention": [*map(new_markdown_cell, evidence), check(["check", "hide-cell"]), drawn("fig-evidence")],
    }
    for page, each in cells.items():
        (root / page).parent.mkdir()
        nbformat.write(new_notebook(cells=each, metadata=PYTHON), root / f"{page}.ipynb")
    parts = "".join(f"  - caption: {page[:5]}\n    numbered: 1\n    chapters:\n      - file: {page}\n" for page in cells)
    files = {
        "intro.md": "# A book\n\nIt begins with {evidence}`place`.\n",
        "pages/glossary.md": "# Words\n",
        "pages/references.bib": "",
        "_config.yml": (ROOT / "_config.yml").read_text(),
        "_toc.yml": f"format: jb-book\nroot: intro\nparts:\n{parts}",
    }
    (root / "pages").mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def site(small):
    """The pages of the small book, as Sphinx builds them with our extension."""
    extensions = "extensions=myst_nb,sphinx_external_toc,sphinx_multitoc_numbering,book_tidy,evidence"
    settings = ["html_theme=sphinx_book_theme", "nb_execution_mode=off", "numfig=1", "external_toc_exclude_missing=1"]
    options = [part for each in (extensions, *settings) for part in ("-D", each)]
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-C", *options, small, small / "site"]
    subprocess.run(
        command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join([f"{ROOT}/tools/site", f"{ROOT}/tools", str(ROOT)])}
    )
    return {page: soup(f"{page}.html", small / "site") for page in ("intro", "chapters/05_attention", "evidence/05_attention")}


def links_in(page, text):
    return [link["href"] for link in page.select("[role=main] a[href]") if link.get_text().startswith(text)]


def test_links_lead_to_their_sections_and_back(site):
    course, evidence = site["chapters/05_attention"], site["evidence/05_attention"]
    there = "../evidence/05_attention.html"
    assert links_in(course, "Evidence 5.1") == [f"{there}#counterweight"] * 3
    assert links_in(course, "Evidence 5.2") == [f"{there}#place"]
    assert links_in(site["intro"], "Evidence 5.2") == ["evidence/05_attention.html#place"]
    first, second = (paragraph.get_text() for paragraph in evidence.select(".asked-for"))
    assert first == "Asked for by: Chapter 5, Break it; Chapter 5, Again; Chapter 5, Again"
    assert second == "Asked for by: Chapter 5, Again; A book"
    back = [link["href"].partition("#")[2] for link in evidence.select(".asked-for a")]
    assert len({*back[:3]}) == 3 and all(course.find(id=anchor) for anchor in back[:4]) and site["intro"].find(id=back[4])
    assert [bool(evidence.find(id=label)) for label in ("counterweight", "place")] == [True, True]


def test_sections_have_the_number_of_the_file_and_figures_one_of_their_own(site):
    course, evidence = site["chapters/05_attention"], site["evidence/05_attention"]
    titles = [heading.get_text().removesuffix("#") for heading in evidence.select("article :is(h1, h2, h3)")]
    assert titles == ["Evidence 5: Attention", "5.1. The rest is a counterweight", "5.2. By place", "A detail"]
    listed = [link.get_text().strip() for link in evidence.select("nav.page-toc a")]
    assert listed == ["5.1. The rest is a counterweight", "5.2. By place", "A detail"]
    assert course.select_one("article h1").get_text().startswith("5. Attention")
    numbers = [page.select_one(".caption-number").get_text() for page in (course, evidence)]
    assert numbers == ["Fig. 5.1 ", "Fig. E5.1 "]


def test_checks_are_hidden_in_the_course_and_folded_in_the_evidence(site):
    assert "quoted as" not in site["chapters/05_attention"].get_text()
    fold = site["evidence/05_attention"].select_one("details.hide")
    assert fold.select_one(".collapsed").get_text() == "Check these numbers" and REPORTED in fold.get_text()
    fold.decompose()
    assert "quoted as" not in site["evidence/05_attention"].get_text()


def plain_text(book, page):
    """The Markdown of a page as a plain notebook has it."""
    return "\n\n".join(each.source for each in plain(book.notebooks()[page], page, book).cells if each.cell_type == "markdown")


def test_plain_notebooks_lead_to_the_section_and_back(site, small):
    book, there = Book(small, "https://example.org"), "https://example.org/evidence/05_attention.html"
    assert f"a counterweight ([Evidence 5.1]({there}#counterweight))" in plain_text(book, "chapters/05_attention")
    evidence, course = plain_text(book, "evidence/05_attention"), "https://example.org/chapters/05_attention.html"
    assert f"## 5.1 The rest is a *counterweight*\n\n*Asked for by:* [Chapter 5, Break it]({course}#" in evidence
    assert "**Fig. E5.1.** A dot." in evidence
    for anchor in re.findall(rf"{course}#([\w-]+)", evidence):
        assert site["chapters/05_attention"].find(id=anchor)
    hidden = plain(book.notebooks()["chapters/05_attention"], "chapters/05_attention", book).cells[2]
    assert hidden.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
