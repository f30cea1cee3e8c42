"""Cold loads of the front page, of the page with the live network and of three chapters, in turn with an empty page.

`python tools/bench/page_speed.py [SITE [LOADS [PAGE ...]]]`: medians in milliseconds, at the processor's own speed and at a
quarter of it, each with an empty cache, in a browser that has been open for two seconds and in one that is still starting,
which takes the processor as well.  Last come all pages, or those named alone, as a phone shows them at a quarter of the speed.
The first paint is that of something to be seen, not that of an empty ground.  The page is blocked while a task after it
goes on beyond 50 ms; what else the machine does counts as well, which the empty page tells.  A word changed on that page is
the least that a new answer can take.
"""

import re
import sys
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import sleep

OPEN = {"open": 2, "still starting": 0}  # seconds before the load
PAGES = ("intro.html", "pages/explorer.html", "chapters/03_training.html", "chapters/08_binding.html", "chapters/13_theorem.html")
ROOT = Path(__file__).resolve().parents[2]
LINKS = re.compile(r'class="reference internal" href="((?:chapters|evidence|pages|teaching)/[^"#]+)"')
sys.path.insert(0, str(ROOT / "tools"))
from chromium import chromium, served  # noqa: E402

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
EMPTY = "<!doctype html><title>Empty</title><link rel=icon href=data:,><p>Word"
# notes when an answer is first painted, and the end of the frame after which the fetched network has given it
WATCH = """
window.seen = {};
window.tasks = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: "longtask", buffered: true });
window.framed = (then) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = then;
  channel.port2.postMessage(0);
});
new PerformanceObserver((list) => list.getEntries().forEach(({ renderTime }) => (seen["first answer"] ??= renderTime)))
  .observe({ type: "element", buffered: true });
const { animate } = Element.prototype;
Element.prototype.animate = function (...how) {
  if (this.closest("the-flow")) seen["flow moves"] ??= performance.now();
  return animate.apply(this, how);
};
new MutationObserver((changes, observer) => {
  const [first, verdict] = [".said", ".verdict"].map((name) => document.querySelector(`assign-add[address] ${name}`));
  if (first && !first.hasAttribute("elementtiming")) first.setAttribute("elementtiming", "");
  if (verdict?.textContent.includes("says") && !verdict.hasAttribute("elementtiming")) verdict.setAttribute("elementtiming", "");
  if (!verdict?.dataset.right) return;
  observer.disconnect();
  framed(() => {
    seen["network answers"] = performance.now();
    setTimeout(() => (seen["first answer"] ??= seen["network answers"]));
  });
}).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
"""
LOADED = """
const [asks, resolve] = arguments;
const wait = () => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  if (!paint || (asks && !seen["network answers"]) || document.readyState !== "complete") return setTimeout(wait, 20);
  const beyond = ({ startTime, duration }) => startTime + duration - Math.max(startTime, paint.startTime) - 50;
  const blocked = () => tasks.reduce((sum, task) => sum + Math.max(0, beyond(task)), 0);
  const longest = () => Math.max(0, ...tasks.map(({ duration }) => duration));
  setTimeout(() => resolve({ "first paint": paint.startTime, "blocked": blocked(), "longest task": longest(), ...seen }), 1000);
};
wait();
"""
TYPED = """
const [number, resolve] = arguments, field = document.querySelector("assign-add .problem input"), start = performance.now();
field.value = `a=${number}, b=40, b+a=?`;
field.dispatchEvent(new Event("input"));
const said = performance.now() - start; // what lies behind the answer follows once that is painted
framed(() => {
  const painted = performance.now() - start;
  framed(() => framed(() => resolve({ "a new one said": said, "painted": painted, "all behind it": performance.now() - start })));
});
"""
CHANGED = """
const [number, resolve] = arguments, start = performance.now();
document.querySelector("p").textContent = `Word ${number}`;
framed(() => resolve({ "a new word painted": performance.now() - start }));
"""
AFTER = {"pages/explorer.html": TYPED, "empty page": CHANGED}


def load(address, slow, rest, asks, after, phone=False):
    """The times of one load in a fresh browser, of the first answer where a network is asked, and of a change after that."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium(profile) as browser:
        browser.get("about:blank")
        sleep(rest)
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        if phone:
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        browser.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slow})
        browser.get(address)
        times = browser.execute_async_script(LOADED, asks)
        if after:
            changes = [browser.execute_async_script(after, number) for number in range(1, 6)]
            times |= {name: median(each[name] for each in changes) for name in changes[0]}
        return times


def told(times):
    """The median of each time that all loads of a page have."""
    return ", ".join(f"{key} {median(each[key] for each in times):.0f}" for key in times[0] if all(key in each for each in times))


def main(site=ROOT / "_build/html", loads="10", *pages):
    """Print the medians."""
    with TemporaryDirectory() as folder:
        Path(folder, "index.html").write_text(EMPTY, "utf-8")
        with served(folder) as empty, served(site) as book:
            addresses = {"empty page": empty} | {page: f"{book}/{page}" for page in PAGES}
            for slow, (browser, rest) in product((1, 4), OPEN.items()) if not pages else ():
                found = {name: [] for name in addresses}
                for name in list(addresses) * int(loads):
                    found[name].append(load(addresses[name], slow, rest, name == "pages/explorer.html", AFTER.get(name)))
                for name, times in found.items():
                    print(f"processor / {slow}, browser {browser}, {name}:", told(times), flush=True)
            every = sorted({*LINKS.findall(Path(site, "intro.html").read_text("utf-8"))})
            for page in pages or ("intro.html", *every):
                both = [
                    [load(there, 4, 2, False, None, phone=True) for there in (empty, f"{book}/{page}")] for _ in range(int(loads))
                ]
                alone, times = zip(*both)
                print(f"phone, processor / 4, {page}:", told(times), "| empty page:", told(alone), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
