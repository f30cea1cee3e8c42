"""A book may leave out any chapters: what refers to them says its words, on the site and in plain notebooks, without a link."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from browsing import ROOT
from bs4 import BeautifulSoup
from plain import Book, plain

WHOLE = Book(ROOT, "https://owner.github.io/repository")
CHAPTERS = [page for page in WHOLE.files if page.startswith("chapters/")]
AROUND = ["intro", "pages/notation", "pages/bibliography"]  # what stays in every book here; the glossary does not


def left(pages):
    """The whole book's catalogue, with these pages and no others."""
    book, all_pages = Book.__new__(Book), WHOLE.files | WHOLE.absent
    book.__dict__ |= WHOLE.__dict__
    book.files = {page: all_pages[page] for page in pages}
    book.absent = {page: file for page, file in all_pages.items() if page not in pages}
    return book


def build(folder, pages, builder):
    """Build these pages with warnings as errors, in a checkout that has other contents and is else as this one."""
    for path in ROOT.iterdir():
        if path.name not in ("_toc.yml", "_build"):
            (folder / path.name).symlink_to(path)
    part = {"caption": "Left", "numbered": 1, "chapters": [{"file": page} for page in pages[1:]]}
    (folder / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": pages[0], "parts": [part]}))
    command = [Path(sys.executable).with_name("jupyter-book"), "build", folder, "-W", "-n", "--keep-going", "--builder", builder]
    done = subprocess.run([*command, *["--custom-builder", "dummy"] * (builder == "custom")], capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr


def test_a_part_of_the_book_builds_and_says_what_is_not_there(tmp_path):
    build(tmp_path, [*AROUND, "chapters/08_binding", "teaching/lecturers/16_rules"], "html")
    page = BeautifulSoup((tmp_path / "_build/html/chapters/08_binding.html").read_text("utf-8"), "html.parser")
    article = page.select_one("article")
    assert page.select_one("h1 .section-number").get_text().strip() == "8."
    said = article.get_text()
    for role, label in re.findall(r"\{(eq|numref)\}`([^`<]*)`", (ROOT / "chapters/08_binding.md").read_text("utf-8")):
        target = WHOLE.targets["equation-" * (role == "eq") + label]
        assert target.text in said
        assert bool(article.find("a", string=target.text)) == (target.page == "chapters/08_binding"), label
    folder = tmp_path / "_build/html/chapters"
    inner = [link["href"].partition("#")[0] for link in article.select("a.internal[href]")]
    assert inner and all((folder / address).exists() for address in inner)


def test_another_part_builds(tmp_path):
    build(
        tmp_path,
        ["intro", "chapters/05_attention", "chapters/10_handmade", "chapters/17_laboratory", "pages/bibliography"],
        "custom",
    )


@pytest.mark.parametrize("alone", CHAPTERS)
def test_a_chapter_alone_is_plain_and_leads_to_no_other(alone):
    book = left([*AROUND, alone])
    notebook = plain(book.notebooks()[alone], alone, book)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    whole = plain(WHOLE.notebooks()[alone], alone, WHOLE)
    pages = {address.partition(".html")[0] for address in re.findall(rf"\]\({WHOLE.site}/([^)]*)\)", text)}
    assert pages <= {*AROUND, alone}

    def words(notebook):
        sources = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        return re.sub(r"\[((?:[^][]|\[[^][]*\])*)\]\([^()\s]*\)", r"\1", sources)

    assert words(notebook) == words(whole)


def test_parts_of_the_book_are_plain():
    """The first two parts alone, and all but the fourth."""
    for numbers in (range(1, 11), (*range(1, 14), 17)):
        pages = [page for page in CHAPTERS if int(re.search(r"\d+", page)[0]) in numbers]
        book = left([*AROUND, "pages/glossary", "pages/algorithm", *pages])
        for page, notebook in book.notebooks().items():
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    linked = re.findall(rf"{WHOLE.site}/([\w/]+)\.html", book.markdown(cell.source, page))
                    assert {*linked} <= {*book.files}


def test_a_reference_to_nothing_is_still_an_error():
    with pytest.raises(KeyError):
        left(AROUND).markdown("{numref}`fig-nothing`", "intro")
