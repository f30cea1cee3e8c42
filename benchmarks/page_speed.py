"""Cold loads of the page with the live network, beside an empty page: python benchmarks/page_speed.py [SITE [LOADS]].

Medians in milliseconds, at the processor's own speed and at a quarter of it.
"""

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from chromium import chromium, served  # noqa: E402

EMPTY = "<!doctype html><title>Empty</title><link rel=icon href=data:,><p>Word"
# notes when an answer is first painted, and the end of the frame after which the fetched network has given it
WATCH = """
window.seen = {};
window.framed = (then) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = then;
  channel.port2.postMessage(0);
});
new PerformanceObserver((list) => list.getEntries().forEach(({ renderTime }) => (seen["first answer"] ??= renderTime)))
  .observe({ type: "element", buffered: true });
new MutationObserver((changes, observer) => {
  const verdict = document.querySelector("assign-add[address] .verdict");
  if (!verdict?.textContent.includes("says")) return;
  if (!verdict.hasAttribute("elementtiming")) verdict.setAttribute("elementtiming", "");
  if (!verdict.dataset.right) return;
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
  const [paint] = performance.getEntriesByName("first-paint");
  if (!paint || (asks && !seen["network answers"]) || document.readyState !== "complete") return setTimeout(wait, 20);
  setTimeout(() => resolve({ "first paint": paint.startTime, ...seen }), 500);
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


def load(address, slow, asks):
    """The times of one load in a fresh browser and, where a network can be asked, of a new problem."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium(profile) as browser:
        browser.get("about:blank")
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        browser.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slow})
        browser.get(address)
        times = browser.execute_async_script(LOADED, asks)
        if asks:
            typed = [browser.execute_async_script(TYPED, number) for number in range(1, 6)]
            times |= {name: median(each[name] for each in typed) for name in typed[0]}
        return times


def main(site=ROOT / "_build/html", loads="10"):
    """Print the medians."""
    with TemporaryDirectory() as folder:
        Path(folder, "index.html").write_text(EMPTY, "utf-8")
        with served(folder) as empty, served(site) as book:
            for slow in (1, 4):
                for name, address in (("empty page", empty), ("explorer.html", f"{book}/explorer.html")):
                    found = [load(address, slow, name != "empty page") for _ in range(int(loads))]
                    medians = (f"{key} {median(each[key] for each in found):.0f}" for key in found[0])
                    print(f"processor / {slow}, {name}:", ", ".join(medians), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
