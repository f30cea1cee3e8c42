"""Chromium without a window, and a server of a folder on this machine: for tests, and for all that is printed."""

import shutil
from base64 import b64decode
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread

import pikepdf
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
CHUNK = 1 << 22  # bytes of a print that are fetched at once
HANG = 1800  # seconds after which a page, a script or a print is taken to hang; a busy machine may need many
# resolves once letters and pictures are there, and drawn
PAINTED = """
const resolve = arguments[0];
Promise.allSettled([document.fonts.ready, ...[...document.images].map((picture) => picture.decode())])
  .then(() => requestAnimationFrame(() => requestAnimationFrame(resolve)));
"""


class QuietHandler(SimpleHTTPRequestHandler):
    """What serves files and says nothing."""

    def log_message(self, *_):
        """Keep quiet."""


@contextmanager
def served(folder):
    """Serve a folder on this machine and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def chromium(profile):
    """Chromium, with an empty folder for its profile, that reaches nothing but this machine; SystemExit where there is none."""
    found = [name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)]
    if not found or not shutil.which("chromedriver"):
        raise SystemExit("Chromium and its driver are not installed; on Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(found[0])
    for flag in (*FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(HANG)
    driver.set_page_load_timeout(HANG)
    driver.command_executor.client_config.timeout = HANG
    try:
        yield driver
    finally:
        driver.quit()


def print_page(driver, path: Path, **options):
    """Print the page that is open into a PDF, with an outline of its headings; options are those of Page.printToPDF."""
    driver.execute_async_script(PAINTED)
    settings = {"printBackground": True, "generateDocumentOutline": True, "generateTaggedPDF": True}
    settings |= {"transferMode": "ReturnAsStream"}
    stream, parts = driver.execute_cdp_cmd("Page.printToPDF", settings | options)["stream"], []
    while not parts or not parts[-1]["eof"]:
        parts.append(driver.execute_cdp_cmd("IO.read", {"handle": stream, "size": CHUNK}))
    path.parent.mkdir(parents=True, exist_ok=True)
    printed = b"".join(b64decode(part["data"]) for part in parts)
    with pikepdf.open(BytesIO(printed)) as pdf:  # a third of the size
        pdf.save(path, object_stream_mode=pikepdf.ObjectStreamMode.generate, recompress_flate=True)
