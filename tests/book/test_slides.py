"""Slides: a deck for each chapter, each slide with words for the speaker, and nothing that sticks out."""

import posixpath
import re

import pytest
from browsing import ROOT, errors, requests, show, soup
from selenium.webdriver.support.ui import WebDriverWait

CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))
# what is too large of each slide that it shows in turn, and the pictures that did not load
FITS = """
const found = [];
for (let i = 0; i < Reveal.getTotalSlides(); i++) {
  Reveal.slide(i);
  const slide = Reveal.getCurrentSlide();
  if (slide.scrollHeight > 632 || slide.scrollWidth > 1122) found.push([i + 1, slide.scrollWidth, slide.scrollHeight]);
  for (const picture of slide.querySelectorAll("img")) {
    if (!picture.naturalWidth || !picture.alt) found.push([i + 1, picture.src]);
  }
}
return found;
"""


@pytest.fixture(scope="module", params=CHAPTERS)
def deck(request):
    return request.param


def test_every_chapter_has_a_deck():
    listed = re.findall(r"(?m)^\d\d_\w+$", (ROOT / "teaching/slides/index.md").read_text("utf-8"))
    assert listed == CHAPTERS == sorted(path.stem for path in (ROOT / "teaching/slides").glob("[0-9]*.md"))


def test_every_slide_has_words_for_the_speaker(deck):
    slides = re.split(r"(?m)^##? ", (ROOT / f"teaching/slides/{deck}.md").read_text("utf-8"))[1:]
    assert 10 <= len(slides) <= 24
    for slide in slides:
        assert len(re.findall(r"(?m)^% .{40,}", slide)) == 1, slide.splitlines()[0]


def test_deck_fits_and_asks_no_other_host(browser, site, deck):
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.set_window_size(1280, 800)
    browser.get(f"{site}/slides/{deck}.html")
    WebDriverWait(browser, 60).until(lambda browser: browser.execute_script("return window.Reveal && Reveal.isReady()"))
    assert browser.execute_script(FITS) == []
    assert "user-scalable" not in browser.page_source  # a phone may zoom in
    slides = len(re.findall(r"(?m)^##? ", (ROOT / f"teaching/slides/{deck}.md").read_text("utf-8")))
    assert browser.execute_script("return Reveal.getTotalSlides()") == slides
    assert len(browser.find_elements("css selector", "aside.notes")) == slides
    asked = [address for address in requests(browser) if address.startswith("http")]
    assert asked and all(address.startswith(site) for address in asked)
    assert errors(browser) == []
    policy = browser.find_element("css selector", "meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert "default-src 'self'" in policy and "unsafe" not in policy and "object-src 'none'" in policy


SPEAKER = """
const open = window.open;
window.open = (...all) => window.opened = open.apply(window, all);
Reveal.slide(3);
document.dispatchEvent(new KeyboardEvent("keydown", {keyCode: 83, key: "s", bubbles: true}));
"""
SPOKEN = "return window.opened?.document.querySelector('.speaker-controls-notes .value')?.textContent"


def test_the_speaker_has_a_window_of_notes_under_the_policy(browser, site):
    browser.get(f"{site}/slides/05_attention.html")
    WebDriverWait(browser, 60).until(lambda browser: browser.execute_script("return window.Reveal && Reveal.isReady()"))
    notes = browser.execute_script(f"{SPEAKER} return Reveal.getCurrentSlide().querySelector('aside.notes').textContent")
    try:
        WebDriverWait(browser, 60).until(lambda browser: browser.execute_script(SPOKEN) == notes)
    finally:
        browser.execute_script("window.opened?.close()")


def test_chapters_and_lecture_notes_lead_to_their_slides_and_these_back(deck):
    for page in (f"teaching/lecturers/{deck}", f"chapters/{deck}"):
        links = [link["href"] for link in soup(f"{page}.html").select(f"a[href$='slides/{deck}.html']")]
        assert links and all(posixpath.normpath(f"{page}/../{link}") == f"slides/{deck}.html" for link in links)
    assert soup(f"slides/{deck}.html").select_one(".reveal > a.way-back")["href"] == f"../chapters/{deck}.html"


def test_list_of_slides_can_be_read_to_its_end(browser, site):
    """Also on a phone."""
    show(browser, f"{site}/slides/index.html", width=390)
    links = browser.find_elements("css selector", ".list li a")
    assert [link.get_attribute("href") for link in links] == [f"{site}/slides/{chapter}.html" for chapter in CHAPTERS]
    browser.execute_script("arguments[0].scrollIntoView()", links[-1])
    seen = "const { top, bottom } = arguments[0].getBoundingClientRect(); return top >= 0 && bottom <= innerHeight"
    assert browser.execute_script(seen, links[-1])
    assert browser.find_element("link text", "The book").get_attribute("href") == f"{site}/intro.html"
