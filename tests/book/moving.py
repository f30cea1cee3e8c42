"""The things to move, each on a page as a notebook shows it, and how a reader is played there."""

from browsing import show
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from torch import Generator

from assign_add_lib import load_run
from assign_add_lib.companions.reasoning.data import sample_graphs
from assign_add_lib.companions.reasoning.seeds import ReasoningSeed
from assign_add_lib.companions.reasoning.training import TOKENS_PASS
from assign_add_lib.views import explorables


def one_graph():
    """The graph of sums of chapter 14."""
    return sample_graphs(1, 8, Generator().manual_seed(12))


def looped_networks():
    """Its two networks."""
    return {arm: ReasoningSeed(0).network(arm) for arm in TOKENS_PASS}


# each element as a chapter shows it
SHOWN = {
    "the-flow": explorables.the_flow,
    "learning-film": explorables.learning_film,
    "nine-clocks": explorables.nine_clocks,
    "name-badges": explorables.name_badges,
    "transplant-bench": explorables.transplant_bench,
    "set-weights": lambda _: explorables.set_weights(),
    "clock-board": explorables.clock_board,
    "neuron-wall": lambda run: explorables.neuron_wall(run, clocks=True),
    "train-here": lambda _: explorables.train_here(),
    "one-head": lambda _: explorables.one_head(),
    "is-it-new": explorables.is_it_new,
    "worlds-fell": lambda _: explorables.worlds_fell(),
    "module-pairs": lambda _: explorables.module_pairs(),
    "claim-board": lambda _: explorables.claim_board(),
    "one-step": lambda _: explorables.one_step(),
    "break-it": lambda run: explorables.break_it([run, load_run("seed-6"), load_run("seed-8")]),
    "sum-graph": lambda _: explorables.sum_graph(one_graph(), looped_networks()),
}
# what one acts on that, scrolled to from above or from below, lies behind something else, or has no answer beside it in sight
OUT_OF_REACH = """
const seen = (element) => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
};
return [...document.querySelectorAll(".explorable .live-view")].flatMap((view) => {
  const answers = [...view.querySelectorAll(".verdict:not(:empty)")];
  const shown = (each) => each.checkVisibility({ visibilityProperty: true });
  const controls = [...view.querySelectorAll("button, input, select")].filter(shown);
  return controls.filter((control) => [0, document.body.scrollHeight].some((from) => {
    scrollTo({ top: from, behavior: "instant" });
    control.scrollIntoView({ block: "nearest", behavior: "instant" });
    return ![control, ...answers].every(seen);
  })).map((control) => control.outerHTML.slice(0, 150));
});
"""
PAGE = """<!doctype html><html lang="en"{theme}><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><style>{colours}</style>
<main><article><h1>A page</h1>{output}</article></main>"""
# those of the book's theme in the dark
DARK = """body { background: #14181e; color: #ced6dd } :root { --pst-color-text-base: #ced6dd; --pst-color-border: #48566b;
--pst-color-surface: #29313d; --pst-color-text-muted: #9ca4af; --pst-color-link: #5fb4c8; --pst-color-background: #14181e }"""


def write(folder):
    """Write a page of each element as a notebook gets it, TAG.html, and one in the dark, TAG-dark.html."""
    run = load_run("seed-42")
    for tag, view in SHOWN.items():
        output = view(run).data
        (folder / f"{tag}.html").write_text(PAGE.format(theme="", colours="", output=output), "utf-8")
        (folder / f"{tag}-dark.html").write_text(PAGE.format(theme=' data-theme="dark"', colours=DARK, output=output), "utf-8")


def alive(browser, address, tag, **window):
    """Open the page of an element, and wait until it is alive."""
    show(browser, f"{address}/{tag}.html", **window)
    drawn = "return document.querySelector('.explorable .live > .live-view')?.childElementCount > 0"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(drawn))
    browser.execute_async_script("const [done] = arguments; requestAnimationFrame(() => requestAnimationFrame(done))")


def verdict(browser):
    return browser.find_element(By.CSS_SELECTOR, ".explorable .verdict").text


def set_to(browser, **values):
    """Move sliders, by the first letters of their names."""
    browser.execute_script(
        """for (const [name, value] of Object.entries(arguments[0])) {
             const labels = [...document.querySelectorAll(".explorable label.slider")];
             const input = labels.find((each) => each.textContent.startsWith(name)).querySelector("input");
             input.value = value;
             input.dispatchEvent(new Event("input"));
           }""",
        {name.replace("_", " "): value for name, value in values.items()},
    )
