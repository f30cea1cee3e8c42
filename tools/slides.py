"""Print the decks of slides that `make book` built, each beside its page: `python tools/slides.py`; `make slides` does both."""

import sys
import tempfile
from pathlib import Path

from chromium import HANG, chromium, print_page, served
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build/html"
LAID_OUT = "return document.querySelectorAll('.pdf-page').length && document.readyState == 'complete'"


def main(site=SITE):
    """Print every deck, a slide a page."""
    decks = sorted(path.stem for path in (site / "slides").glob("[0-9]*.html"))
    if not decks:
        sys.exit(f"there are no slides below {site}; run `make book` first")
    with served(site) as address, tempfile.TemporaryDirectory() as profile, chromium(profile) as driver:
        for deck in decks:
            driver.get(f"{address}/slides/{deck}.html?print-pdf")
            WebDriverWait(driver, HANG).until(lambda driver: driver.execute_script(LAID_OUT))
            print_page(driver, site / f"slides/{deck}.pdf", preferCSSPageSize=True)
            print(site / f"slides/{deck}.pdf")


if __name__ == "__main__":
    main()
