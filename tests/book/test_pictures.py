"""Figures can be read: short captions, true in both themes; letters large enough on phones and slides; links with a picture."""

import re

import pytest
import yaml
from browsing import PAGES, ROOT, SITE, look, show, soup
from PIL import Image
from selenium.webdriver.support.ui import WebDriverWait

from assign_add_lib.views.figures import LETTERS
from assign_add_lib.views.page import DENSITY, INCH

ILLUSTRATED = [page for page in PAGES if "<figcaption" in (SITE / page).read_text("utf-8")]
DECKS = sorted(path.stem for path in SITE.glob("slides/[0-9]*.html"))
TITLE = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
DRAWN = [path for folder in ("chapters/*.md", "assign_add_lib/views/**/*.py") for path in sorted(ROOT.glob(folder))]
# of each picture that is seen, how wide it is there, and how wide in itself, in pixels
ON_A_PAGE = """
const pictures = [...document.querySelectorAll("article figure img")].filter((each) => each.clientWidth);
return pictures.map((each) => [each.alt, each.clientWidth, arguments[0] * each.getAttribute("width")]);
"""
ON_SLIDES = """
const found = [];
for (let i = 0; i < Reveal.getTotalSlides(); i++) {
  Reveal.slide(i);
  const slide = Reveal.getCurrentSlide();
  for (const each of slide.querySelectorAll("img.figure")) found.push([slide.id, each.clientWidth, each.naturalWidth]);
}
return found;
"""


def smaller(pictures, pixels):
    """The pictures whose smallest letters are not so many pixels high."""
    heights = {name: round(LETTERS / 72 * DENSITY * INCH * seen / whole, 1) for name, seen, whole in pictures}
    return {name: height for name, height in heights.items() if height < pixels}


@pytest.mark.parametrize("page", ILLUSTRATED)
def test_captions_are_short_and_true_in_both_themes(page):
    """What is dark in one theme is light in the other."""
    for caption in soup(page).select("article figcaption"):
        for beside in caption.select(".caption-number, .view-number, .headerlink"):
            beside.decompose()
        words = caption.get_text(" ").split()
        assert len(words) <= 40 and not {"white", "black", "dark", "darker", "lighter"} & {*words}, " ".join(words)


@pytest.mark.parametrize("page", ILLUSTRATED)
def test_letters_are_large_enough_on_a_phone(page, site, browser):
    show(browser, f"{site}/{page}", width=390, height=844)
    assert smaller(browser.execute_script(ON_A_PAGE, DENSITY), 9) == {}


@pytest.mark.parametrize("deck", DECKS)
def test_letters_are_large_enough_on_a_slide(deck, site, browser):
    look(browser, 1280, 800)
    browser.get(f"{site}/slides/{deck}.html")
    WebDriverWait(browser, 60).until(lambda browser: browser.execute_script("return window.Reveal && Reveal.isReady()"))
    assert smaller(browser.execute_script(ON_SLIDES), 16) == {}


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_no_figure_asks_for_smaller_letters(path):
    sizes = re.findall(r"\b(?:font|label|title)size\"?[=:] *([\d.]+|\"[a-z-]*small\")", path.read_text("utf-8"))
    assert [size for size in sizes if "small" in size or float(size) < LETTERS] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_link_elsewhere_has_words_and_a_picture(page):
    head = soup(page).head
    told = {each["property"]: each["content"] for each in head.select("meta[property]")}
    assert told["og:title"] == head.title.get_text() and told["og:site_name"] == TITLE
    said, kind = (head.select_one(f"meta[name='{name}']")["content"] for name in ("description", "twitter:card"))
    assert 60 < len(said) <= 202 and said == told["og:description"] and kind == "summary_large_image"
    card = (SITE / page).parent / told["og:image"]  # where no public address is known
    assert Image.open(card).size == (1200, 630) == (int(told["og:image:width"]), int(told["og:image:height"]))
