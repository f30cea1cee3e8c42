"""The built book in a real browser: where it lies, how a page is opened, and what was asked for on the way."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import yaml
from bs4 import BeautifulSoup
from chromium import served
from moved import former
from plain import FOLDERS, listed

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("ASSIGN_ADD_SITE", ROOT / "_build/html"))
OTHERS = {"_static", "_modules", "slides"}  # folders whose pages are not the book's
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
const laidOut = () => document.documentElement.dataset.rest === undefined && drawn();
const wait = () => there() && laidOut() ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(wait, 50);
document.fonts.ready.then(wait);
"""


def soup(path, folder=SITE):
    """A page of the site, read without a browser."""
    return BeautifulSoup((folder / path).read_text("utf-8"), "lxml")


def is_edition(root):
    """Whether a checkout has another title, leaves out chapters or their evidence, or has pages in folders of its own."""
    if yaml.safe_load((root / "_config.yml").read_text("utf-8"))["title"] != "Assign and Add":
        return True
    pages = {*listed(yaml.safe_load((root / "_toc.yml").read_text("utf-8")))} - {"intro"}
    whole = {f"{folder}/{path.stem}" for folder in ("chapters", "evidence") for path in root.glob(f"{folder}/*.md")}
    return not whole <= pages or any(not page.startswith(FOLDERS) for page in pages)


def look(browser, width=1280, height=900, scheme="light"):
    """Give the window this size and colour scheme."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def show(browser, address, **window):
    """Open a page in such a window, and wait until it is drawn."""
    look(browser, **window)
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
def on_paper(browser):
    """The page that is open is seen as it is printed."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    yield
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@contextmanager
def planted(browser, script):
    """Every page that is opened runs this script before its own."""
    name = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    yield
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", name)


# asks for what has this in its address, and gets something else until it is `well` again; there are the `bytes` that came
SPOILT = """{ const fetch = window.fetch;
const spoilt = async (answer) => { const bytes = new Uint8Array(await answer.arrayBuffer()); %s; };
window.fetch = (url) => !window.well && String(url).includes("%s") ? fetch(url).then(spoilt) : fetch(url); }"""
ALTERED = "bytes[bytes.length - 1] ^= 1; return new Response(bytes)"


@contextmanager
def opened(browser, folder):
    """Open a page beside which lie the modules of the live views, and what the folder holds; yields its address."""
    shutil.copytree(ROOT / "assign_add_lib/views/live", folder, dirs_exist_ok=True)
    (folder / "page.html").write_text("<!doctype html><link rel=icon href=data:,>", "utf-8")
    with served(folder) as address:
        show(browser, f"{address}/page.html")
        yield address


def jupyter_book(folder, *options):
    """Build the book of a folder with Jupyter Book, and return where its site lies; what it says where it fails."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", folder, *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tools")))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    return folder / "_build/html"


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


def faint(browser):
    """The words whose contrast is less than WCAG 2 asks for (1.4.3)."""
    texts = browser.execute_script(f"{TEXTS} return texts.map(({{ element, ...text }}) => text)")
    assert texts
    return [text for text in texts if text["contrast"] < text["asked"]]


# every element with words of its own, its contrast to what lies behind it, and the contrast asked of words of their size
TEXTS = """
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const over = ([r, g, b, alpha = 1], behind) => [r, g, b].map((part, i) => alpha * part + (1 - alpha) * behind[i]);
const grounds = new Map([[null, [255, 255, 255]]]);
const ground = (element) => {
  if (!grounds.has(element)) {
    grounds.set(element, over(channels(getComputedStyle(element).backgroundColor), ground(element.parentElement)));
  }
  return grounds.get(element);
};
const luminance = (rgb) => rgb
  .map((part) => part / 255)
  .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
const speaks = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
const texts = [...document.body.querySelectorAll("*:not(script, style)")]
  .filter((element) => speaks(element) && element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .map((element) => {
    const style = getComputedStyle(element), behind = ground(element);
    const [dark, light] = [over(channels(style.color), behind), behind].map(luminance).sort((a, b) => a - b);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const html = element.outerHTML.slice(0, 200);
    return { element, html, contrast: (light + 0.05) / (dark + 0.05), asked: large ? 3 : 4.5 };
  });
"""


def axe(browser, options, within="html"):
    """What axe finds on the page that is open."""
    browser.execute_script((ROOT / "tests/vendor/axe.min.js").read_text("utf-8"))
    return browser.execute_async_script(f"axe.run('{within}', {options}).then(arguments[0])")


def violations(browser, options="", within="html"):
    """What of it breaks a rule, of whatever weight."""
    found = axe(browser, f"{{ resultTypes: ['violations'], {options} }}", within)["violations"]
    nodes = [(each["id"], node["html"]) for each in found for node in each["nodes"]]
    # a cell with a formula has a name, but this rule of axe asks for words that are seen, and sees none in MathML
    return [(rule, html) for rule, html in nodes if rule != "empty-table-header" or "<math" not in html]


# links among words that are marked by their colour alone, since neither they nor what they hold is underlined (WCAG 2, 1.4.1)
UNMARKED = """
const inline = (element) => getComputedStyle(element).display === "inline";
const block = (element) => inline(element) ? block(element.parentElement) : element;
const among = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE
  ? /[\\p{L}\\p{N}]/u.test(node.data)
  : node.nodeType === Node.ELEMENT_NODE && !node.matches("a[href], script, style") && inline(node) && among(node));
const marked = (link) => [link, ...link.querySelectorAll("*")]
  .some((each) => getComputedStyle(each).textDecorationLine.includes("underline"));
return [...document.querySelectorAll("a[href]")]
  .filter((link) => link.checkVisibility({ visibilityProperty: true }) && inline(link) && link.textContent.trim()
    && among(block(link.parentElement)) && !marked(link))
  .map((link) => link.outerHTML.slice(0, 200));
"""

# boxes that scroll, by more than rounding, and that no key reaches, neither they nor what they hold (WCAG 2, 2.1.1)
UNREACHED = """
const scrolls = (box) => {
  const wide = box.scrollWidth > box.clientWidth + 13, high = box.scrollHeight > box.clientHeight + 13;
  const { overflowX, overflowY } = wide || high ? getComputedStyle(box) : {};
  return (wide && /auto|scroll/.test(overflowX)) || (high && /auto|scroll/.test(overflowY));
};
const seen = (element) => element.checkVisibility({ visibilityProperty: true });
return [...document.querySelectorAll("body, body *")]
  .filter((box) => scrolls(box) && seen(box))
  .filter((box) => ![box, ...box.querySelectorAll("*")].some((each) => each.tabIndex >= 0 && seen(each)))
  .map((box) => box.outerHTML.slice(0, 200));
"""

# what lies beyond the right edge with no box around it that scrolls
STICKING_OUT = """
const scrolls = (element) => element.matches("article *")
  && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
return [...document.querySelectorAll("article *")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element))
  .map((element) => element.outerHTML.slice(0, 200));
"""
