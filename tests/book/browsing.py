"""The built book in a real browser: where it lies, how a page is served and opened, and what was asked for on the way."""

import json
import os
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("ASSIGN_ADD_SITE", ROOT / "_build/html"))
# index.html only leads on to the introduction
PAGES = sorted({str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts} - {"index.html"})
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """Serve a folder on this machine and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


# resolves once the fonts are there, every attention view has its maps and no colour is still changing
SETTLED = """
const resolve = arguments[0];
const done = () => {
  document.getAnimations().forEach((animation) => animation.finish());
  resolve();
};
const drawn = () => [...document.querySelectorAll(".attention-view")].every(
  (figure) => figure.dataset.drawn !== undefined && figure.querySelectorAll("table, canvas").length === 2);
const wait = () => drawn() ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(wait, 50);
document.fonts.ready.then(wait);
"""


def show(browser, address, width=1280, height=900, scheme="light"):
    """Open a page in a window of this size and colour scheme, and wait until it is drawn."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(address)
    browser.execute_async_script(SETTLED)


def requests(browser):
    """Every address asked for since the page was opened."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def errors(browser):
    """Every error in the console since the page was opened."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
