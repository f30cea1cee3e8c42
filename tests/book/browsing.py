"""The built book in a real browser: where it lies, how a page is opened, and what was asked for on the way."""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from chromium import served
from moved import former

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("ASSIGN_ADD_SITE", ROOT / "_build/html"))
OTHERS = {"_static", "slides"}  # folders whose pages are not the book's
BUILT = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if not OTHERS & {*path.parts}}
# index.html only leads on to the introduction, and a former address of a page to that page
PAGES = sorted(BUILT - {"index.html"} - {f"{former(page.removesuffix('.html'))}.html" for page in BUILT})

# resolves once the fonts and all scripts are there, every attention view has its maps and no colour is still changing
SETTLED = """
const resolve = arguments[0];
const done = () => {
  document.getAnimations().filter(({ timeline }) => timeline === document.timeline).forEach((each) => each.finish());
  resolve();
};
const drawn = () => [...document.querySelectorAll(".attention-view")].every(
  (figure) => figure.dataset.drawn !== undefined && figure.querySelectorAll("table, canvas").length === 2);
const there = () => [...document.scripts].every(
  ({ type, src }) => type !== "later" && (!src || performance.getEntriesByName(src).length));
const wait = () => there() && drawn() ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(wait, 50);
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


@contextmanager
def opened(browser, folder):
    """Open a page beside which lie the modules of the live views, and what the folder holds; yields its address."""
    shutil.copytree(ROOT / "assign_add_lib/views/live", folder, dirs_exist_ok=True)
    (folder / "page.html").write_text("<!doctype html><link rel=icon href=data:,>", "utf-8")
    with served(folder) as address:
        show(browser, f"{address}/page.html")
        yield address


def run_script(browser, modules, body, *given):
    """What an asynchronous piece of JavaScript returns on the page of `opened`, with modules by name and files of tensors."""
    answer = browser.execute_async_script(f"""
    const resolve = arguments[arguments.length - 1], given = [...arguments];
    (async () => {{
      const [{", ".join(modules)}] = await Promise.all({modules}.map((name) => import(`${{location.origin}}/${{name}}.js`)));
      const file = async (name) => (await fetch(encodeURIComponent(`${{name}}.safetensors`))).arrayBuffer();
      {body}
    }})().then((value) => resolve({{ value }}), (error) => resolve({{ error: error.message }}));
    """, *given)  # fmt: skip
    assert "value" in answer, answer["error"]
    return answer["value"]
