"""The search: one small file says which section of the book holds which word, so that no page is fetched to look for it.

A result leads to its section, where book.js marks the words; what it does not mark is not in the file.
"""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

from bs4 import NavigableString

INDEX = "searchindex.js"
# what is not read: code and what it prints, questions with their answers, buttons (book.js has the same list)
UNREAD = {"cell_input", "dataframe", "guess-first", "headerlink", "quiz", "quiz-answers"}
UNREAD_ELEMENTS = {"pre", "script", "style", "button"}
LEAD = 140  # letters of a section's beginning that a result shows
OFTEN = 3  # times that make a section one of a word


def _said(element):
    """The words of an element without those of sections within it."""
    for child in element.children:
        if type(child) is NavigableString:
            yield str(child)
        elif child.name and child.name not in UNREAD_ELEMENTS and not UNREAD & {*child.get("class", ())}:
            if child.name != "section" or not child.get("id"):
                yield from _said(child)


def read(page):
    """The sections of a page: anchor, heading, and what follows it."""
    found = []
    for section in page.article.find_all("section", id=True) if page.article else ():
        if heading := section.find(re.compile("^h[1-6]$"), recursive=False):
            words, text = (" ".join("".join(_said(each)).split()) for each in (heading, section))
            found.append((section["id"], words, text.removeprefix(words).strip()))
    return found


def write(pages, site):
    """Write the index of pages, each by its name the sections that `read` found.

    Of a word it says the sections as steps from one to the next, doubled, and odd where the word is there often.
    """
    words, sections, last = defaultdict(list), [], Counter()
    titles = {name: found[0][1] for name, found in sorted(pages.items()) if found}
    for page, name in enumerate(titles):
        for anchor, heading, text in pages[name]:
            lead = text if len(text) <= LEAD else text[:LEAD].rsplit(" ", 1)[0] + " …"
            sections.append((page, anchor, heading, lead))
            for word, times in Counter(re.findall(r"[^\W\d_]\w*", f"{heading} {text}".lower())).items():
                words[word].append(2 * (len(sections) - last[word]) + (times >= OFTEN))
                last[word] = len(sections)
    book = {"pages": [*titles.items()], "sections": sections, "words": words}
    Path(site, INDEX).write_text(f"const BOOK = {json.dumps(book, ensure_ascii=False, separators=(',', ':'))};\n", "utf-8")


def know_template(app, config):
    """The page of the search has a template of its own."""
    config.templates_path.append(str(Path(__file__).with_name("templates")))


def setup(app):
    """Take the place of Sphinx's search."""
    app.connect("config-inited", know_template)
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    return {"parallel_read_safe": True, "parallel_write_safe": True}
