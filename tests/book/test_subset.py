"""A book may leave out any chapters, under any title: what refers to them says its words, without a link, and has no slides."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import qti
import yaml
from browsing import ROOT, is_edition, jupyter_book, soup
from marking.assignments import read_chapters
from plain import Book, plain

WHOLE = Book(ROOT, "https://owner.github.io/repository")
NOTEBOOKS = {page: notebook for page, notebook in WHOLE.notebooks().items() if not page.startswith("evidence/")}
AROUND = ["intro", "pages/notation", "pages/bibliography"]  # what stays in every book here; the glossary does not
CHAPTERS = "02_model", "04_generalisation", "05_attention", "08_binding", "09_causes", "10_handmade"
# what no chapter of the part need say: a formula and a figure that are left out, and a figure that is there
PLANTED = "# Planted\n\n{eq}`eq-first`, {numref}`fig-spectra`, {numref}`fig-tidied`.\n"
OWN = "teaching", "tools"  # copied, since slides look for the book by where their own files lie
TITLE = "Look up: then add"
PART = [*AROUND, *(f"chapters/{each}" for each in CHAPTERS), "teaching/lecturers/16_rules"]


def left(pages):
    """The whole book's catalogue, with these pages and no others."""
    book, all_pages = Book.__new__(Book), WHOLE.files | WHOLE.absent
    book.__dict__ |= WHOLE.__dict__
    book.files = {page: all_pages[page] for page in pages}
    book.absent = {page: file for page, file in all_pages.items() if page not in pages}
    return book


def edition(folder, pages):
    """A checkout that has other contents, another title and another author, and is else as this one."""
    for path in ROOT.iterdir():
        if path.name not in ("_toc.yml", "_config.yml", "_build", *OWN):
            (folder / path.name).symlink_to(path)
    for name in OWN:
        shutil.copytree(ROOT / name, folder / name)
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8")) | {"title": TITLE, "author": "Somebody"}
    (folder / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")
    (folder / "planted.md").write_text(PLANTED, "utf-8")
    part = {"caption": "Left", "numbered": 1, "chapters": [{"file": page} for page in [*pages[1:], "planted"]]}
    (folder / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": pages[0], "parts": [part]}))


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """The folder of an edition of a part of the book; its name has a space, as a lecturer's may."""
    folder = tmp_path_factory.mktemp("an edition")
    edition(folder, PART)
    return folder


def test_a_part_of_the_book_builds_and_says_what_is_not_there(part):
    site, linked = jupyter_book(part, "-W", "-n", "--keep-going"), set()
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
        head = soup(f"{name}.html", site).head
        assert head.title.get_text().endswith(f" — {TITLE}")
        assert head.select_one("meta[property='og:site_name']")["content"] == TITLE
    assert linked >= {("eq", False), ("eq", True), ("numref", False), ("numref", True), ("evidence", False)}


def test_slides_are_those_that_a_page_leads_to_and_lead_back_to_the_book(part):
    slides, options = part / "slides", ["-q", "-W", "--keep-going", "-n", "-b", "revealjs"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "sphinx", *options, part / "teaching/slides", slides]
    done = subprocess.run(command, cwd=part, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    decks = [*CHAPTERS, "16_rules"]  # of which it has the notes
    assert sorted(path.stem for path in slides.glob("[0-9]*.html")) == sorted(decks)
    assert [link["href"] for link in soup("index.html", slides).select("li a")] == [f"{deck}.html" for deck in decks]
    for deck, way in (("05_attention", "chapters/05_attention"), ("16_rules", "intro")):
        assert soup(f"{deck}.html", slides).select_one(".way-back")["href"] == f"../{way}.html"


def test_what_is_handed_out_is_of_the_chapters_that_are_there(part, tmp_path):
    qti.write(tmp_path, part)
    assert [*read_chapters(part)] == [path.stem for path in sorted(tmp_path.glob("*.zip"))] == [*CHAPTERS]


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("_config.yml", "title: Assign and Add", "title: Ours"),
        ("_toc.yml", "      - file: chapters/14_reasoning\n", ""),
        ("_toc.yml", "file: pages/status", "file: ours/status"),
    ],
)
def test_an_edition_is_told_from_the_whole_book(tmp_path, file, old, new):
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("chapters", "evidence"):
        (tmp_path / name).symlink_to(ROOT / name)
    assert not is_edition(tmp_path)
    text = (tmp_path / file).read_text("utf-8")
    (tmp_path / file).write_text(text.replace(old, new), "utf-8")
    assert old in text and is_edition(tmp_path)


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
