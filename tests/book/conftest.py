"""The built book's address, and a browser that reaches nothing else."""

import pytest
from browsing import PAGES, SITE
from chromium import chromium, served
from moving import write


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
