"""The whole book as one PDF, from the built site: `python tools/pdf.py`, after `make book`; `make pdf` does both.

The pages follow each other in the order of the book, links between them lead within the PDF, and solutions and answers stand
at the end.  A link to the PDF is put at the foot of every page of the site.
"""

import posixpath
import sys
import tempfile
from pathlib import Path

import yaml
from bs4 import BeautifulSoup
from chromium import chromium, print_page, served

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build/html"
NAME = "assign-and-add.pdf"
TOGETHER = "whole-book.html"  # the page that is printed, gone again when it is
NOT_PRINTED = ("pages/explorer", "teaching/lecturers/course")  # nothing without a screen, and nothing for readers
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


def pages_of(root=ROOT):
    """The pages of the book in their order, without suffix."""
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    files = [entry["file"] for part in contents["parts"] for entry in part["chapters"]]
    return [page for page in (contents["root"], *files) if page not in NOT_PRINTED]


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


def take_solutions(article, document):
    """Take the solutions and answers out of a page, each under the heading of its exercise; nothing where there are none."""
    section = document.new_tag("section")
    for part in article.select(".cell.tag_solution, details.answer"):
        heading = part.find_previous("h3")
        if not section.contents:
            section.append(title := document.new_tag("h2"))
            title.string = article.h1.get_text()
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


def together(site, pages):
    """The document of these pages."""
    document = BeautifulSoup((site / f"{pages[0]}.html").read_text("utf-8"), "html.parser")
    body = document.new_tag("div", attrs={"class": "bd-article-container bd-content whole-book"})
    ends = document.new_tag("article", attrs={"class": "bd-article", "id": "solutions"})
    ends.append(title := document.new_tag("h1"))
    title.string = "Solutions and answers"
    for page in pages:
        article = article_of(site, page, pages)
        if solutions := take_solutions(article, document):
            ends.append(solutions)
        body.append(article)
    if len(ends.contents) > 1:
        body.append(ends)
    for check in body.select(".cell.tag_check"):  # which can be opened on the site
        check.decompose()
    for fold in body.select("details:not(.quiz)"):
        fold["open"] = ""
    for code in body.select("#solutions details.hide > summary") if len(ends.contents) > 1 else ():
        code.decompose()
    document.body.clear()
    document.body.append(body)
    for policy in document.select("meta[http-equiv]"):
        policy.decompose()
    document.head.append(document.new_tag("link", rel="stylesheet", href="_static/print.css"))
    for script in document.select("script:not([type='application/json'])"):  # those hold the data of views
        script.decompose()
    document.head.append(document.new_tag("script", defer="", src="_static/live.js"))
    return document


def put_link(site):
    """A link to the PDF at the foot of every page of the site."""
    for path in site.rglob("*.html"):
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        foot = page.select_one(".bd-footer-content .footer-items__start, .bd-footer-content .footer-item, .bd-footer-content")
        if foot and not page.select_one(f"a[href$='{NAME}']"):
            foot.append(line := page.new_tag("p"))
            line.append(link := page.new_tag("a", href=posixpath.relpath(NAME, path.parent.relative_to(site).as_posix())))
            link.string = "The whole book as a PDF"
            path.write_text(str(page), "utf-8")


def print_book(site, pages, path):
    """Print these pages of a site into one PDF."""
    (site / TOGETHER).write_text(str(together(site, pages)), "utf-8")
    try:
        with served(site) as address, tempfile.TemporaryDirectory() as profile, chromium(profile) as driver:
            driver.get(f"{address}/{TOGETHER}")
            driver.execute_async_script(DRAWN)
            print_page(driver, path, **PAPER)
    finally:
        (site / TOGETHER).unlink()


if __name__ == "__main__":
    if not (SITE / "intro.html").is_file():
        sys.exit(f"there is no book at {SITE}; run `make book` first")
    print_book(SITE, pages_of(), SITE / NAME)
    put_link(SITE)
    print(f"The book is printed in {SITE / NAME}")
