"""The book as two PDFs, the course and its evidence, from the built site: `python tools/pdf.py`; `make pdf` builds it first.

Each begins with its contents. The pages follow each other in the order of the book, links between them lead within the PDF, and
what a reader should not see too soon stands at the end: answers to guesses and quizzes, and solutions. A link to each PDF is put
at the foot of every page of the site.
"""

import posixpath
import sys
import tempfile
from pathlib import Path

import pikepdf
import yaml
from bs4 import BeautifulSoup
from chromium import chromium, print_page, served

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build/html"
NAME, EVIDENCE = "assign-and-add.pdf", "assign-and-add-evidence.pdf"
TITLES = {NAME: "Assign and Add", EVIDENCE: "Assign and Add: the evidence"}
TOGETHER = "whole-book.html"  # the page that is printed, gone again when it is
# nothing without a screen, nothing for readers, and what is about the site
NOT_PRINTED = ("pages/explorer", "teaching/lecturers/course", "pages/made", "pages/changes", "pages/status")
# resolves once every attention view has its maps
DRAWN = """
const resolve = arguments[0];
const drawn = () => [...document.querySelectorAll(".attention-view")].every((figure) => figure.dataset.drawn !== undefined);
const wait = () => drawn() ? resolve() : requestAnimationFrame(wait);
wait();
"""
FOOT = '<div style="width: 100%; font-size: 8px; text-align: center"><span class="pageNumber"></span></div>'
PAPER = {  # A4, lengths in inches, and the number of each page at its foot
    "paperWidth": 8.27,
    "paperHeight": 11.69,
    "marginTop": 0.7,
    "marginBottom": 0.8,
    "marginLeft": 0.8,
    "marginRight": 0.8,
    "displayHeaderFooter": True,
    "headerTemplate": "<span></span>",
    "footerTemplate": FOOT,
}


def pages_of(name=NAME, root=ROOT):
    """The pages of a volume in the order of the book, without suffix."""
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    files = [entry["file"] for part in contents["parts"] for entry in part["chapters"]]
    pages = [page for page in (contents["root"], *files) if page not in NOT_PRINTED]
    return [page for page in pages if page.startswith("evidence/") == (name == EVIDENCE)]


def article_of(site, page, pages):
    """A page's text, its ids and links as they are in one document with the other pages; a link to any further page is none."""
    folder = posixpath.dirname(page)
    article = BeautifulSoup((site / f"{page}.html").read_text("utf-8"), "html.parser").select_one("article")
    for element in article.select("[id]"):
        element["id"] = f"{page}:{element['id']}"
    article["id"] = page
    for link in article.select("a[href]"):
        path, _, anchor = link["href"].partition("#")
        there = posixpath.normpath(posixpath.join(folder, path)).removesuffix(".html") if path else page
        if there in pages:
            link["href"] = f"#{there}:{anchor}" if anchor else f"#{there}"
        elif "://" not in path:
            del link["href"]
    for element in article.select("[src]"):
        element["src"] = posixpath.normpath(posixpath.join(folder, element["src"]))
        element.attrs.pop("loading", None)
    for link in article.select(".headerlink"):
        link.decompose()
    return article


def take_answers(article, document):
    """Take out of a page what is to stand at the end, under its title; nothing where there is none.

    These are the answers to its guesses, by number, its quiz, and its solutions, each under the heading of its exercise.
    """
    section = document.new_tag("section")
    for number, guess in enumerate(article.select(".guess-first"), start=1):
        if number == 1:
            start(section, article, document)
            section.append(title := document.new_tag("h3"))
            title.string = "Guesses"
            section.append(listed := document.new_tag("ol"))
        answer = guess.select_one("details > div").extract()
        answer.name, answer["id"] = "li", f"{guess['id']}:answer"
        listed.append(answer)
        guess.details.replace_with(there := document.new_tag("p"))
        there.append(onward := document.new_tag("a", href=f"#{answer['id']}"))
        onward.string = f"Answer {number} at the end of the book"
    if quiz := article.select_one(".quiz-answers"):
        start(section, article, document)
        section.append(quiz.extract())
    for part in article.select(".cell.tag_solution, details.answer"):
        heading = part.find_previous("h3")
        start(section, article, document)
        if f"{heading.parent['id']}:solution" != section.contents[-1].get("id"):
            box = document.new_tag("div", attrs={"id": f"{heading.parent['id']}:solution"})
            box.append(name := document.new_tag("h3"))
            name.append(back := document.new_tag("a", href=f"#{heading.parent['id']}"))
            back.string = heading.get_text()
            section.append(box)
            part.insert_before(there := document.new_tag("p"))
            there.append(onward := document.new_tag("a", href=f"#{box['id']}"))
            onward.string = "Solution at the end of the book"
        box.append(part.extract())
    return section if section.contents else None


def start(section, article, document):
    """Begin a section with the title of its page, unless it has begun."""
    if not section.contents:
        section.append(title := document.new_tag("h2"))
        title.string = article.h1.get_text()


def contents_of(body, title, document, numbers):
    """The first page: the title, and the heading of each page that follows, with its number where it is known."""
    article = document.new_tag("article", attrs={"class": "bd-article contents", "id": "contents"})
    article.append(name := document.new_tag("p", attrs={"class": "volume"}))
    name.string = title
    article.append(heading := document.new_tag("h1"))
    heading.string = "Contents"
    article.append(listed := document.new_tag("ul"))
    for page in body.find_all("article", recursive=False):
        listed.append(line := document.new_tag("li"))
        line.append(link := document.new_tag("a", href=f"#{page['id']}"))
        link.string = page.h1.get_text()
        line.append(number := document.new_tag("span"))
        number.string = str(numbers.get(squeezed(link.string), ""))
    return article


def together(site, pages, title=TITLES[NAME], numbers=()):
    """The document of these pages, under a title; `numbers` has the number of the page on which each begins, by its heading."""
    document = BeautifulSoup((site / f"{pages[0]}.html").read_text("utf-8"), "html.parser")
    body = document.new_tag("div", attrs={"class": "bd-article-container bd-content whole-book"})
    ends = document.new_tag("article", attrs={"class": "bd-article", "id": "solutions"})
    ends.append(heading := document.new_tag("h1"))
    heading.string = "Answers and solutions"
    for page in pages:
        article = article_of(site, page, pages)
        if answers := take_answers(article, document):
            ends.append(answers)
        body.append(article)
    if len(ends.contents) > 1:
        body.append(ends)
    body.insert(0, contents_of(body, title, document, dict(numbers)))
    for unseen in body.select(".cell.tag_check, :is(.tag_exercise, .tag_solution) .cell_output"):  # to be tried on the site
        unseen.decompose()
    for fold in body.select("details:not(.quiz, .hide)"):
        fold["open"] = ""
    for code in ends.select("details.hide"):
        code.summary.decompose()
        code.unwrap()
    document.body.clear()
    document.body.append(body)
    for policy in document.select("meta[http-equiv]"):
        policy.decompose()
    document.head.append(document.new_tag("link", rel="stylesheet", href="_static/print.css"))
    for script in document.select("script:not([type='application/json'])"):  # those hold the data of views
        script.decompose()
    document.head.append(document.new_tag("script", defer="", src="_static/live.js"))
    return document


def put_links(site):
    """A link to each PDF at the foot of every page of the site."""
    for path in site.rglob("*.html"):
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        foot = page.select_one(".bd-footer-content .footer-items__start, .bd-footer-content .footer-item, .bd-footer-content")
        if foot and not page.select_one(f"a[href$='{NAME}']"):
            foot.append(line := page.new_tag("p"))
            for name, words in ((NAME, "The course as a PDF"), (EVIDENCE, "its evidence")):
                line.append(link := page.new_tag("a", href=posixpath.relpath(name, path.parent.relative_to(site).as_posix())))
                link.string = words
                line.append(", " if name == NAME else "")
            path.write_text(str(page), "utf-8")


def print_book(site, pages, path, title=TITLES[NAME]):
    """Print these pages of a site into one PDF, twice: its contents name the pages that the first print shows."""
    numbers = {}
    try:
        with served(site) as address, tempfile.TemporaryDirectory() as profile, chromium(profile) as driver:
            for _ in range(2):
                (site / TOGETHER).write_text(str(together(site, pages, title, numbers)), "utf-8")
                driver.get(f"{address}/{TOGETHER}")
                driver.execute_async_script(DRAWN)
                print_page(driver, path, **PAPER)
                numbers = numbers_of(path)
        name_headings(path, together(site, pages, title))
    finally:
        (site / TOGETHER).unlink(missing_ok=True)


def numbers_of(path):
    """The number of the page on which each of the first headings of a PDF's outline stands, by the heading without spaces."""
    with pikepdf.open(path) as printed, printed.open_outline() as outline:
        pages = {page.objgen: number for number, page in enumerate(printed.pages, start=1)}
        return {squeezed(entry.title): pages[destination_of(printed, entry)] for entry in outline.root}


def name_headings(path, document):
    """Give the outline of a PDF the headings' own words: Chromium leaves out the space where a heading's line breaks."""
    words = {squeezed(heading.get_text()): " ".join(heading.get_text().split()) for heading in document.select("h1, h2, h3, h4")}
    with pikepdf.open(path, allow_overwriting_input=True) as printed:
        with printed.open_outline() as outline:
            entries = list(outline.root)
            for entry in entries:  # which grows by the entries below each
                entry.title = words.get(squeezed(entry.title), entry.title)
                entries += entry.children
        printed.save(path)


def squeezed(text):
    return "".join(text.split())


def destination_of(printed, entry):
    """Which page an entry of an outline leads to."""
    there = entry.destination if entry.destination is not None else entry.action.D
    if isinstance(there, pikepdf.Array):
        return there[0].objgen
    names = pikepdf.NameTree(printed.Root.Names.Dests) if "/Names" in printed.Root else printed.Root.Dests
    there = names[str(there)]
    return (there.D if isinstance(there, pikepdf.Dictionary) else there)[0].objgen


if __name__ == "__main__":
    if not (SITE / "intro.html").is_file():
        sys.exit(f"there is no book at {SITE}; run `make book` first")
    for name, title in TITLES.items():
        print_book(SITE, pages_of(name), SITE / name, title)
        print(SITE / name)
    put_links(SITE)
