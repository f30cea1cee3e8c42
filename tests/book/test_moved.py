"""Addresses that pages had before lead on to them, with what stands behind `?` and `#`, under the policy of every page."""

import pytest
from browsing import ROOT, SITE, errors, soup
from finish import POLICY
from selenium.webdriver.support.wait import WebDriverWait

BEFORE = ["explorer", "algorithm", "notation", "glossary", "bibliography", "made", "changes", "status"]
BEFORE += [f"lecturers/{name}" for name in ("course", "marking", *(path.stem for path in (ROOT / "chapters").glob("*.ipynb")))]


@pytest.mark.parametrize("old", BEFORE)
def test_old_address_leads_on_without_scripts(old):
    page = soup(f"{old}.html")
    (link,) = page.select("a")
    there = (SITE / old).parent / link["href"]
    new = soup(there)
    assert there.resolve() != SITE / f"{old}.html" and new.select_one("h1").get_text().startswith(page.h1.get_text())
    assert page.select_one("noscript > meta[http-equiv=refresh]")["content"] == f"0; url={link['href']}"
    assert page.select_one("link[rel=canonical]")["href"] == link["href"]
    assert page.select_one("meta[http-equiv=Content-Security-Policy]")["content"] == POLICY
    assert not page.script.get_text() and ((SITE / old).parent / page.script["src"]).is_file()


@pytest.mark.parametrize(
    "old, new",
    [
        ("explorer.html?problem=3%2B4%3D%3F&run=seed-3", "pages/explorer.html?problem=3%2B4%3D%3F&run=seed-3"),
        ("glossary.html#term-logit", "pages/glossary.html#term-logit"),
        ("lecturers/course.html", "teaching/lecturers/course.html"),
    ],
)
def test_what_was_asked_for_goes_along(old, new, site, browser):
    for before in ("about:blank", f"{site}/intro.html"):
        browser.get(before)
        pages = browser.execute_script("return history.length")
        browser.get(f"{site}/{old}")
        WebDriverWait(browser, 60).until(lambda _: browser.current_url.startswith(f"{site}/{new}"))
        assert browser.execute_script("return history.length") == pages + 1  # the old address itself is no step back
    assert not errors(browser)
