"""The built book's address, and a browser that reaches nothing else."""

import shutil

import pytest
from browsing import FLAGS, PAGES, SITE, served
from selenium import webdriver
from selenium.webdriver.chrome.service import Service


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
    found = [name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)]
    if not found or not shutil.which("chromedriver"):
        pytest.fail("Chromium and its driver are not installed; on Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(found[0])
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(300)
    yield driver
    driver.quit()
