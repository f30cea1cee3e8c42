"""The things to move: alive with nothing beside them, on a phone, in the dark and on paper."""

import re
from pathlib import Path

import pydata_sphinx_theme
import pytest
from browsing import PAGES, ROOT, SITE, STICKING_OUT, errors, faint, on_paper, requests, show, violations
from moving import OUT_OF_REACH, SHOWN, alive
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib.views import explorables


@pytest.mark.parametrize("tag", SHOWN)
def test_it_is_alive_alone_and_fits(tag, browser, moving):
    """On a narrow phone and a desk, in the light and in the dark, with nothing to mend for axe."""
    for name, width in ((tag, 360), (f"{tag}-dark", 1280)):
        alive(browser, moving, name, width=width)
        assert not errors(browser)
        assert {url for url in requests(browser) if not url.startswith("data:")} == {f"{moving}/{name}.html"}
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert browser.execute_script(STICKING_OUT) == []
        assert violations(browser) == [] and faint(browser) == []


@pytest.mark.parametrize("tag", SHOWN)
def test_paper_and_pages_without_scripts_show_its_still_picture(tag, browser, moving):
    alive(browser, moving, tag)
    seen = f"return ['img', '.live-view'].map((part) => document.querySelector(`{tag} ${{part}}`).checkVisibility())"
    assert browser.execute_script(seen) == [False, True]
    with on_paper(browser):
        assert browser.execute_script(seen) == [True, False]
    parts = (f"{tag} img", ".explorable > figcaption")
    picture, caption = (browser.find_element(By.CSS_SELECTOR, part) for part in parts)
    assert len(picture.get_attribute("alt")) > 60 and len(caption.text.split()) <= 40


def test_every_element_is_tried_and_has_its_modules():
    assert SHOWN.keys() == explorables.MODULES.keys()
    live = ROOT / "assign_add_lib/views/live"
    assert all((live / f"{name}.js").is_file() for modules in explorables.MODULES.values() for name in modules)


def test_on_the_site_each_is_alive_where_it_stands(site, browser):
    """In the built chapters and on the front page, where a narrow phone shows it whole; each element stands somewhere."""
    stands = {}
    for page in PAGES:
        text = (SITE / page).read_text("utf-8")
        stands |= {tag: page for tag in SHOWN if re.search(f"<{tag}[ >]", text)}
    assert stands.keys() == SHOWN.keys()
    for tag, page in stands.items():
        show(browser, f"{site}/{page}", width=360, height=844)
        browser.execute_script("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", tag)
        drawn = f"return document.querySelector('{tag}.live > .live-view')?.childElementCount > 0"
        WebDriverWait(browser, 60).until(lambda _, drawn=drawn: browser.execute_script(drawn))
        assert not errors(browser)
        box = f"document.querySelector('{tag}').closest('.text_html, article')"
        assert browser.execute_script(f"return {box}.scrollWidth <= {box}.clientWidth"), tag
        assert browser.execute_script(OUT_OF_REACH) == [], tag
    browser.execute_script("document.querySelector(arguments[0]).style.pointerEvents = 'none'", f"{tag} :is(button, input)")
    assert len(browser.execute_script(OUT_OF_REACH)) == 1  # as if something lay over it


def test_no_class_of_the_sheet_is_one_that_the_theme_draws():
    """Such as Bootstrap's row, badge and card, whose margins and grounds would come along."""
    sheet = (ROOT / "assign_add_lib/views/live/explorable.css").read_text("utf-8")
    named = set(re.findall(r"\.([A-Za-z][\w-]*)", re.sub(r"/\*.*?\*/|\{[^{}]*\}", "", sheet, flags=re.DOTALL)))
    styles = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/styles"
    theme = "".join(path.read_text("utf-8") for path in styles.glob("*.css"))
    drawn = set(re.findall(r"(?:^|[},])\s*\.([A-Za-z][\w-]*)\s*(?=[{,])", theme))
    assert {"row", "badge", "card", "table"} <= drawn and not named & drawn
