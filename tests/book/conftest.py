"""The built book's address, a browser that reaches nothing else, and what is asked of an edition."""

from pathlib import Path

import pytest
from browsing import PAGES, ROOT, SITE, is_edition
from chromium import chromium, served
from moving import write


def pytest_collection_modifyitems(config, items):
    """Each page of an edition must have what every page has; the other tests here ask for the whole book."""
    if not is_edition(ROOT):
        return
    here, kept, left = Path(__file__).parent, [], []
    for item in items:
        of_a_page = hasattr(item, "callspec") and item.callspec.params.get("page") in PAGES
        (kept if of_a_page or here not in item.path.parents else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(scope="module")
def site():
    """The address of the built book."""
    if not PAGES:
        pytest.fail(f"no page is built below {SITE}; run `make book` first")
    with served(SITE) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium that reaches nothing but this machine."""
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="session")
def moving(tmp_path_factory):
    """The address of a page for each of the things to move, light and dark, as a notebook gets it."""
    folder = tmp_path_factory.mktemp("moving")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ASSIGN_ADD_RENDER", raising=False)
        write(folder)
    with served(folder) as address:
        yield address
