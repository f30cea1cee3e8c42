"""The printed book: one document of all pages, whose links lead within it, and solutions at its end."""

from collections import Counter

import pdf
import pikepdf
import pytest
from browsing import ROOT, SITE
from chromium import HANG, served

PRINTED = ["intro", "chapters/05_attention", "chapters/17_laboratory"]  # with a live view, and with a heading of two lines


@pytest.fixture(scope="module")
def document():
    return pdf.together(SITE, pdf.pages_of())


def test_pages_of_both_volumes_are_the_books_in_its_order():
    pages, evidence = pdf.pages_of(), pdf.pages_of(pdf.EVIDENCE)
    assert pages[0] == "intro"
    for volume, folder in ((pages, "chapters"), (evidence, "evidence")):
        there = sorted(f"{folder}/{path.stem}" for path in (ROOT / folder).glob("*.ipynb"))
        assert [page for page in volume if page.startswith(f"{folder}/")] == there
    assert not set(pages) & set(evidence) and all((SITE / f"{page}.html").is_file() for page in pages + evidence)


@pytest.mark.parametrize("name", pdf.TITLES)
def test_every_link_within_leads_somewhere(document, name):
    if name == pdf.EVIDENCE:
        document = pdf.together(SITE, pdf.pages_of(name), pdf.TITLES[name])
    ids = Counter(element["id"] for element in document.select("[id]"))
    assert max(ids.values()) == 1
    within = [link["href"] for link in document.select("a[href]") if "://" not in link["href"]]
    assert len(within) > (300 if name == pdf.NAME else 30)
    assert all(link[:1] == "#" and link[1:] in ids for link in within)


def test_every_picture_is_there(document):
    pictures = document.select("img")
    assert len(pictures) > 50
    assert all((SITE / picture["src"]).is_file() and "loading" not in picture.attrs for picture in pictures)


def test_solutions_stand_at_the_end_open_and_once(document):
    built = sum(
        page.count('<div class="cell tag_solution')
        for page in (SITE.joinpath(f"{each}.html").read_text("utf-8") for each in pdf.pages_of())
    )
    ends = document.select_one("#solutions")
    cells = document.select(".cell.tag_solution")
    assert len(cells) == built > 50
    assert all(ends in cell.parents for cell in cells)
    assert all("open" in box.attrs for box in document.select("details:not(.quiz, .hide)"))
    assert not ends.select("details.hide, .cell_output") and all(cell.select_one("pre") for cell in cells)
    for exercise in ends.select("h3 > a"):
        assert exercise.get_text().startswith("Exercise ")


def test_no_answer_stands_beside_its_question(document):
    """Guesses and quizzes are answered at the end, and each guess leads to its answer."""
    ends = document.select_one("#solutions")
    guesses = [guess for article in document.select("article:not(#solutions)") for guess in article.select(".guess-first")]
    assert len(guesses) > 50
    for guess in guesses:
        link = guess.select_one("a[href$=':answer']")
        assert not guess.details and ends.find(id=link["href"][1:]).get_text(strip=True)
    quizzes = document.select(".quiz-answers")
    assert len(quizzes) == len(document.select("ol.quiz")) and all(ends in each.parents for each in quizzes)


def test_book_prints_with_its_contents_and_outline(tmp_path):
    pdf.print_book(SITE, PRINTED, tmp_path / "book.pdf")
    assert not (SITE / pdf.TOGETHER).exists()
    with pikepdf.open(tmp_path / "book.pdf") as printed, printed.open_outline() as outline:
        assert len(printed.pages) > 10
        titles = [entry.title for entry in outline.root]
    assert titles[:-2] == ["Contents", "Assign and Add", "5. Attention"] and titles[-1] == "Answers and solutions"
    assert titles[-2] == "17. " + (ROOT / "chapters/17_laboratory.md").read_text("utf-8").partition("\n# ")[2].partition("\n")[0]
    numbers = pdf.numbers_of(tmp_path / "book.pdf")
    begins = [numbers[pdf.squeezed(title)] for title in titles]
    assert begins[0] == 1 and begins == sorted(set(begins))
    first = pdf.together(SITE, PRINTED, numbers=numbers).select("#contents li")
    assert [each.span.string for each in first] == [str(number) for number in begins[1:]]


LATE = """<!doctype html><figure class="attention-view"></figure><script>
let frames = 0;
const later = () => (++frames < 30 ? requestAnimationFrame(later) : (document.querySelector("figure").dataset.drawn = ""));
addEventListener("load", () => requestAnimationFrame(later));
</script>"""


def test_printing_waits_until_all_is_drawn_and_never_by_the_clock(browser, tmp_path):
    (tmp_path / "page.html").write_text(LATE)
    with served(tmp_path) as address:
        browser.get(f"{address}/page.html")
        browser.execute_async_script(pdf.DRAWN)
        assert browser.execute_script("return document.querySelector('figure').dataset.drawn") == ""
    assert browser.command_executor.client_config.timeout == browser.timeouts.script == browser.timeouts.page_load == HANG


def test_link_to_the_pdf_is_put_once(tmp_path):
    (tmp_path / "chapters").mkdir()
    for name in ("intro.html", "chapters/01_task.html"):
        (tmp_path / name).write_text((SITE / name).read_text("utf-8"), "utf-8")
    for _ in range(2):
        pdf.put_links(tmp_path)
    for name in pdf.TITLES:
        assert (tmp_path / "intro.html").read_text("utf-8").count(f'href="{name}"') == 1
        assert (tmp_path / "chapters/01_task.html").read_text("utf-8").count(f'href="../{name}"') == 1
