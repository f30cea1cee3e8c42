"""A book may leave out any chapters: what refers to them says its words, on the site and in plain notebooks, without a link."""

import re

import pytest
import yaml
from browsing import ROOT, jupyter_book, soup
from plain import Book, plain

WHOLE = Book(ROOT, "https://owner.github.io/repository")
NOTEBOOKS = {page: notebook for page, notebook in WHOLE.notebooks().items() if not page.startswith("evidence/")}
AROUND = ["intro", "pages/notation", "pages/bibliography"]  # what stays in every book here; the glossary does not
CHAPTERS = "02_model", "04_generalisation", "05_attention", "08_binding", "09_causes", "10_handmade"
# what no chapter of the part need say: a formula and a figure that are left out, and a figure that is there
PLANTED = "# Planted\n\n{eq}`eq-first`, {numref}`fig-spectra`, {numref}`fig-tidied`.\n"
PART = [*AROUND, *(f"chapters/{each}" for each in CHAPTERS), "teaching/lecturers/16_rules"]


def left(pages):
    """The whole book's catalogue, with these pages and no others."""
    book, all_pages = Book.__new__(Book), WHOLE.files | WHOLE.absent
    book.__dict__ |= WHOLE.__dict__
    book.files = {page: all_pages[page] for page in pages}
    book.absent = {page: file for page, file in all_pages.items() if page not in pages}
    return book


def build(folder, pages):
    """Build these pages with warnings as errors, in a checkout that has other contents and is else as this one."""
    for path in ROOT.iterdir():
        if path.name not in ("_toc.yml", "_build"):
            (folder / path.name).symlink_to(path)
    (folder / "planted.md").write_text(PLANTED, "utf-8")
    part = {"caption": "Left", "numbered": 1, "chapters": [{"file": page} for page in [*pages[1:], "planted"]]}
    (folder / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": pages[0], "parts": [part]}))
    return jupyter_book(folder, "-W", "-n", "--keep-going")


def test_a_part_of_the_book_builds_and_says_what_is_not_there(tmp_path):
    site, linked = build(tmp_path, PART), set()
    sources = {f"chapters/{each}": (ROOT / f"chapters/{each}.md").read_text("utf-8") for each in CHAPTERS} | {"planted": PLANTED}
    for name, source in sources.items():
        article, folder = soup(f"{name}.html", site).select_one("article"), (site / name).parent
        if name != "planted":
            assert article.select_one("h1 .section-number").get_text().strip() == f"{int(name[9:11])}."
        for role, label in re.findall(r"\{(eq|numref|evidence)\}`([^`<]*)`", source):
            if role == "evidence":
                words, page = WHOLE.links.sections[label].name, "evidence/"
            else:
                target = WHOLE.targets["equation-" * (role == "eq") + label]
                words, page = target.text, target.page
            assert words in article.get_text() and bool(article.find("a", string=words)) == (page in PART), label
            linked.add((role, page in PART))
        inner = [link["href"].partition("#")[0] for link in article.select("a.internal[href]")]
        assert inner and all((folder / address).exists() for address in inner)
    assert linked >= {("eq", False), ("eq", True), ("numref", False), ("numref", True), ("evidence", False)}


@pytest.mark.parametrize("alone", NOTEBOOKS)
def test_a_page_alone_is_plain_and_leads_to_no_other(alone):
    book = left([*AROUND, alone])
    text, whole = (
        "\n".join(cell.source for cell in plain(NOTEBOOKS[alone], alone, each).cells if cell.cell_type == "markdown")
        for each in (book, WHOLE)
    )
    pages = {address.partition(".html")[0] for address in re.findall(rf"\]\({WHOLE.site}/([^)]*)\)", text)}
    assert pages <= {*AROUND, alone}
    words = re.compile(r"\[((?:[^][]|\[[^][]*\])*)\]\([^()\s]*\)")
    assert words.sub(r"\1", text) == words.sub(r"\1", whole)


def test_a_reference_to_nothing_is_still_an_error():
    with pytest.raises(KeyError):
        left(AROUND).markdown("{numref}`fig-nothing`", "intro")
