"""The live network on the built page: it reads problems, weights and what is wrong with them as the package does."""

import json
import random
import re
import shutil
from pathlib import Path

import pytest
import torch
from browsing import SITE, errors, requests, show
from chromium import served
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from assign_add_lib import Problem, handmade, load_run
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.circuits import OV, variable_identity
from assign_add_lib.model import Weights, forward, read_out, trace
from assign_add_lib.model import run as run_network
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.task import KINDS
from assign_add_lib.views.explorer import Asked, sentence
from assign_add_lib.views.explorer import explorer as explorer_view

CASES = json.loads((Path(__file__).parents[1] / "problems.json").read_text("utf-8"))
RUNS = [("seed-42", 0), ("seed-42", 3000), ("seed-42", 30000), ("seed-0", 2000), ("seed-8", 30000), ("hand-built", 0)]


@pytest.fixture(scope="module")
def page(site, browser):
    """A page of the book from which modules can be imported."""
    show(browser, f"{site}/intro.html")
    return site


@pytest.fixture(scope="module")
def tokens():
    """1000 problems (problem, position) of all kinds, with trained and held-out pairs, variables and restricted ones."""
    drawn = torch.cat([batch.tokens for batch in evaluation_sets(load_run("seed-42").split, size=125).values()])[:1000]
    assert len(drawn) == 1000 and set(load_run("seed-42").task.kind_of(drawn).tolist()) == set(range(4))
    return drawn


def run(browser, body, *given):
    """What an asynchronous piece of JavaScript returns, with the modules of the live network at hand."""
    script = f"""
    const resolve = arguments[arguments.length - 1], given = [...arguments];
    (async () => {{
      const base = document.querySelector("script[src*='book.js']").src;
      const [network, problems] = await Promise.all(["network.js", "problem.js"].map((name) => import(new URL(name, base))));
      const file = async (run, step) => (await fetch(new URL(
        `runs/${{run}}/checkpoints/step-${{String(step).padStart(6, "0")}}.safetensors`, base))).arrayBuffer();
      const load = async (...of) => network.readWeights(await file(...of));
      {body}
    }})().then((value) => resolve({{ value }}), (error) => resolve({{ error: error.message }}));
    """
    answer = browser.execute_async_script(script, *given)
    assert "value" in answer, answer["error"]
    return answer["value"]


PARSED = """return given[0].map((text) => {
  try { const it = problems.Problem.parse(text); return [String(it), it.answer, it.kind, it.tokens()]; }
  catch (error) { return error.message; }
});"""


def parsed(text):
    """What the package makes of a text."""
    try:
        problem = Problem.parse(text)
    except ValueError as error:
        return str(error)
    return [str(problem), problem.answer, KINDS.index(problem.kind), problem.tokens().tolist()]


def test_page_reads_problems_as_the_package_does(page, browser):
    written = [text for text, *_ in CASES["accepted"]]
    assert [found[:2] for found in run(browser, PARSED, written)] == [rest for _, *rest in CASES["accepted"]]
    refused, said = zip(*CASES["refused"])
    assert run(browser, PARSED, list(refused)) == list(said)


def test_page_reads_garbled_problems_as_the_package_does(page, browser):
    """Texts near the grammar, some of them problems."""
    rng, texts = random.Random(0), []
    for _ in range(3000):
        text = list(rng.choice(CASES["accepted"])[0])
        for _ in range(rng.randrange(4)):
            place = rng.randrange(len(text) + 1)
            text[place : place + rng.randrange(2)] = rng.choice(" ,;=+?\n\tabklmz0159'\"\\-\x1cé")
        texts.append("".join(text))
    ours = [parsed(text) for text in texts]
    assert 500 < sum(isinstance(each, list) for each in ours) < 2500
    assert run(browser, PARSED, texts) == ours


def weights(name, step):
    return handmade.weights() if name == "hand-built" else load_run(name).weights(step)


@pytest.mark.parametrize("name, step", RUNS)
def test_logits_are_those_of_the_package(page, browser, tokens, name, step):
    found = run(browser, """const w = await load(given[0], given[1]);
      return given[2].map((tokens) => [...network.trace(w, tokens).logits]);""", name, step, tokens.tolist())  # fmt: skip
    ours = forward(weights(name, step), tokens)[:, -1]
    assert (torch.tensor(found) - ours).abs().max() < 1e-3
    assert torch.tensor(found).argmax(1).equal(ours.argmax(1))


def test_every_intermediate_result_is_that_of_the_package(page, browser, tokens):
    found = run(browser, """const w = await load("seed-42", 3000), result = {};
      const acts = network.complete(w, network.trace(w, given[0]));
      for (const [name, each] of Object.entries(acts)) {
        result[name] = (Array.isArray(each) ? each : [each]).map((values) => Array.from(values, (x) => isFinite(x) ? x : "-inf"));
      }
      return result;""", tokens[-1].tolist())  # fmt: skip
    ours = trace(weights("seed-42", 3000), tokens[-1:])
    assert set(found) == set(ours._fields)
    last = {name: getattr(ours, name)[:, -1] for name in ("mlp_in", "pre", "mlp_out", "logits")}
    wanted = ours._asdict() | last | {"attn_out": torch.cat([ours.attn_out[0, 0], ours.attn_out[0, 1, -1:]])}
    for name, each in found.items():
        flat = torch.tensor([float(x) for layer in each for x in layer])
        assert torch.allclose(flat, wanted[name].flatten(), atol=1e-3, rtol=1e-4), name


DAMAGES = {
    "cut at the end": ("return bytes.slice(0, -100)", "the checkpoint is damaged: it is cut short"),
    "cut in the header": ("return bytes.slice(0, 100)", "the checkpoint is damaged: it is cut short"),
    "empty": ("return bytes.slice(0, 0)", "the checkpoint is damaged: it is cut short"),
    "longer": ("return new Uint8Array([...bytes, 0])", "the checkpoint is damaged: it is longer than its header says"),
    "a page in its place": ("return new TextEncoder().encode('<!doctype html>' + ' '.repeat(999))", "it is cut short"),
    "a header that is no JSON": ("bytes[8] = 0; return bytes", "the checkpoint is damaged: its header is no JSON"),
    "a shape that its bytes do not fit": (
        "return edited(bytes, '\"shape\":[74,', '\"shape\":[75,')", "W_E has no shape that fits its bytes"),
    "a name that is not ours": ("return edited(bytes, '\"W_pos\"', '\"W_top\"')", "does not fit this network: W_pos is missing"),
    "an infinite value": ("bytes.fill(0x7c, -2); return bytes", "holds a value that is no number"),
}  # fmt: skip


@pytest.mark.parametrize("damage, said", DAMAGES.values(), ids=DAMAGES)
def test_damaged_checkpoints_are_refused_in_one_line(page, browser, damage, said):
    answer = run(
        browser,
        f"""
      const edited = (bytes, old, fresh) => {{
        const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""), at = text.indexOf(old);
        [...fresh].forEach((letter, i) => (bytes[at + i] = letter.charCodeAt(0)));
        return bytes;
      }};
      const damage = (bytes) => {{ {damage}; }};
      try {{ network.readWeights(damage(new Uint8Array(await file("seed-42", 3000))).buffer); }}
      catch (error) {{ return error.message; }}""",
    )
    assert said in answer and "\n" not in answer


@pytest.fixture
def explorer(site, browser):
    """Opens the explorer with what stands behind its address, and waits until it has said something."""

    def opened(asked="", waits="verdict", **window):
        show(browser, f"{site}/pages/explorer.html{asked}", **window)
        until(browser, lambda: said(browser, waits) and "Fetching" not in said(browser, "verdict"))
        browser.execute_async_script(PAINTED)
        return browser

    return opened


# what lies behind an answer is drawn once the answer is painted
PAINTED = "requestAnimationFrame(() => requestIdleCallback(() => setTimeout(arguments[0])))"


def said(browser, what):
    return browser.find_element(By.CSS_SELECTOR, f"assign-add .{what}").text


def until(browser, holds):
    """Wait until something holds, and then for what is drawn behind an answer once nothing else waits."""
    WebDriverWait(browser, 30).until(lambda _: holds())
    browser.execute_async_script("requestAnimationFrame(() => requestIdleCallback(() => arguments[0](), { timeout: 1000 }))")


def answered(name, step, tokens):
    """The answer of the package, and its probability."""
    odds = forward(weights(name, step), tokens[None])[0, -1].softmax(0)
    return int(odds.argmax()), odds.max().item()


def typed(browser, text):
    field = browser.find_element(By.CSS_SELECTOR, "assign-add .problem input")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)
    return field


def test_explorer_answers_what_is_typed(explorer):
    browser = explorer()
    assert said(browser, "verdict") == "On c=1, b=17, a=42, b+19=? the network says 36, with probability above 0.99: right."
    typed(browser, "a=50, c=2, a+c=?")
    answer, _ = answered("seed-42", 30000, Problem.parse("a=50, c=2, a+c=?").tokens())
    until(browser, lambda: f"the network says {answer}," in said(browser, "verdict"))
    typed(browser, "a=50, z+1")
    until(browser, lambda: said(browser, "error") == parsed("a=50, z+1"))
    assert f"the network says {answer}," in said(browser, "verdict")  # of the last that could be read
    assert not errors(browser)


@pytest.mark.parametrize("name, step", [("seed-42", 30000), ("seed-42", 1900), ("seed-0", 2000), ("hand-built", 0)])
def test_the_sentence_of_the_package_is_that_of_the_browser(explorer, name, step):
    text = "c=1, b=17, a=42, b+19=?"
    browser = explorer(f"?run={name}&step={step}")
    until(browser, lambda: answer_of(browser).get_attribute("data-right"))
    assert answer_of(browser).get_attribute("innerHTML") == sentence(Problem.parse(text), weights(name, step))


def answer_of(browser):
    return browser.find_element(By.CSS_SELECTOR, "assign-add[address] .verdict")


HELD = """{ const fetch = window.fetch; window.held = [];
const later = (url) => new Promise((go) => held.push(() => go(fetch(url))));
window.fetch = (url) => (String(url).endsWith(".safetensors") ? later : fetch)(url); }"""


@pytest.fixture
def held(site, browser):
    """Opens the explorer while its weights are on their way: until `held` is called in the page, they do not come."""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HELD})
    yield lambda asked="", **window: show(browser, f"{site}/pages/explorer.html{asked}", **window) or browser
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


# the page as before its script has run
UNBUILT = """const network = document.querySelector("assign-add");
network.classList.remove("live");
network.querySelector(".live-view").remove();"""
# how much has moved since the page was opened, as browsers count it
SHIFTED = """const seen = new PerformanceObserver(() => {});
seen.observe({ type: "layout-shift", buffered: true });
return seen.takeRecords().reduce((sum, { value }) => sum + value, 0);"""
PACKED = "problem=c%3D1%2C+b%3D17%2C+a%3D42%2C+b%2B19%3D%3F"


@pytest.mark.parametrize("link, width", [("", 1280), ("", 390), (f"?{PACKED}&run=seed-42&step=30000", 1280)])
def test_the_page_answers_before_the_network_is_there(held, link, width):
    browser = held(link, width=width)
    first, place = answer_of(browser), "return arguments[0].getBoundingClientRect().top"
    words, top = first.get_attribute("innerHTML"), browser.execute_script(place, first)
    assert words == sentence(Problem.parse("c=1, b=17, a=42, b+19=?"), weights("seed-42", 30000)) and first.is_displayed()
    until(browser, lambda: browser.execute_script("return held.length"))
    browser.execute_script("held.forEach((go) => go())")
    until(browser, lambda: first.get_attribute("data-right") and browser.find_elements(By.CSS_SELECTOR, "assign-add .layers"))
    assert first.get_attribute("innerHTML") == words and browser.execute_script(place, first) == top
    assert browser.execute_script(SHIFTED) < 0.01
    if not link:  # before the script has run, the page says it at the same place, to half a line
        browser.execute_script(UNBUILT)
        sentence_of_page = browser.find_element(By.CSS_SELECTOR, "assign-add[address] > .said")
        assert sentence_of_page.is_displayed() and abs(browser.execute_script(place, sentence_of_page) - top) < 12


@pytest.mark.parametrize("width", [1280, 390])
def test_what_lies_beyond_the_first_sight_comes_once_that_is_painted(site, browser, width):
    """And from the start where a link leads there."""
    beyond = ["assign-add[address] ~ *", ".bd-sidebar-primary", ".bd-sidebar-secondary"]
    drawn = "return arguments[0].every((name) => getComputedStyle(document.querySelector(name)).contentVisibility === 'visible')"
    for asked in ("", "#predict-then-look"):
        browser.get("about:blank")
        show(browser, f"{site}/pages/explorer.html{asked}", width=width)
        assert browser.execute_script(drawn, beyond) and bool(browser.execute_script("return scrollY")) == bool(asked)
    browser.execute_script("document.documentElement.dataset.top = ''")  # as it was before
    assert not browser.execute_script(drawn, beyond[:1])
    assert browser.execute_script(drawn, beyond[1:]) == (width > 1200)


@pytest.mark.parametrize("link", ["?problem=3%2B4%3D%3F", "?step=1900", "?run=seed-0", f"?{PACKED}&mlp=1", "?tokens=a"])
def test_a_link_is_not_answered_by_the_sentence_of_the_page(held, link):
    browser = held(link)
    assert answer_of(browser).text == "Fetching the network …"
    browser.execute_script(UNBUILT)
    assert not browser.find_element(By.CSS_SELECTOR, "assign-add .said").is_displayed()


def test_what_is_asked_meanwhile_is_not_answered_by_the_sentence_of_the_page(held):
    browser = held()
    typed(browser, "3+4=?")
    assert answer_of(browser).text == "Fetching the network …"
    held()
    browser.find_element(By.CSS_SELECTOR, "assign-add .changes summary").click()
    browser.find_element(By.NAME, "mlp").click()
    assert answer_of(browser).text == "Fetching the network …"
    held()
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "assign-add .controls option"))
    browser.find_element(By.CSS_SELECTOR, "assign-add .steps input").send_keys(Keys.HOME)
    until(browser, lambda: answer_of(browser).text == "Fetching the network …")


def choose(browser, place, token):
    """Take a token from the list that opens at a place."""
    choice = browser.find_elements(By.CSS_SELECTOR, "assign-add .tokens select")[place]
    choice.send_keys(Keys.SHIFT)
    Select(choice).select_by_visible_text(token)


def test_explorer_draws_problems_by_kind_and_takes_tokens_one_by_one(explorer):
    browser = explorer()
    for kind, button in enumerate(browser.find_elements(By.CSS_SELECTOR, "assign-add[address] .draws button")):
        button.click()
        text = browser.find_element(By.CSS_SELECTOR, "assign-add .problem input").get_attribute("value")
        assert KINDS.index(Problem.parse(text).kind) == kind
    typed(browser, "a=1, b=2, a+b=?")
    choose(browser, 1, "7")
    tokens = Problem.parse("a=7, b=2, a+b=?").tokens()
    until(browser, lambda: f"says {answered('seed-42', 30000, tokens)[0]}," in said(browser, "verdict"))
    choose(browser, 0, "PAD")
    until(browser, lambda: said(browser, "verdict").startswith("These tokens spell no problem: position 1 holds 7"))
    until(browser, lambda: "tokens=PAD+7+b+2+PAD" in browser.current_url)
    state = browser.current_url
    explorer(state[state.index("?") :])
    assert said(browser, "verdict").startswith("These tokens spell no problem: position 1 holds 7")


def test_explorer_shows_the_attention_and_its_terms(explorer):
    browser = explorer("?problem=b%3D17%2C+b%2B19%3D%3F&run=seed-0&step=2000")
    acts = trace(weights("seed-0", 2000), Problem.parse("b=17, b+19=?").tokens()[None])
    for layer in (0, 1):
        cells = browser.execute_script(
            "return [...document.querySelectorAll(`assign-add .attention`)[arguments[0]].querySelectorAll('td[tabindex]')]"
            ".map((cell) => [cell.textContent, cell.style.backgroundColor])", layer)  # fmt: skip
        weight = acts.pattern[0, layer][tuple(torch.tril_indices(16, 16))]
        assert [text for text, _ in cells] == [str(round(100 * each)) if each >= 0.1 else "" for each in weight.tolist()]
        reds = torch.tensor([int(re.search(r"\d+", colour)[0]) for _, colour in cells])
        assert torch.allclose((255 - reds) / (255 - 8), weight, atol=3e-3)  # white is 0, and 8 is the red of 1
    cell = browser.find_elements(By.CSS_SELECTOR, "assign-add .attention")[1].find_elements(By.TAG_NAME, "td")[-1]
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", cell)
    cell.click()
    for key in (Keys.ARROW_LEFT, Keys.ARROW_UP):
        browser.switch_to.active_element.send_keys(key)
    weight, score = acts.pattern[0, 1, 14, 14].item(), acts.scores[0, 1, 14, 14].item()
    at = "19 (position 14)"
    assert said(browser, "reading") == f"Layer 2: {at} reads {at} with weight {weight:.2f}; score {score:.1f}."
    terms = [float(each.text) for each in browser.find_elements(By.CSS_SELECTOR, "assign-add .terms td") if each.text]
    assert len(terms) == 9 and sum(terms) == pytest.approx(score, abs=0.5)


def test_explorer_scrubs_and_plays_the_steps(explorer):
    browser = explorer("?run=seed-42&step=1500")
    until(browser, lambda: "run=seed-42&step=1500" in browser.current_url)
    slider = browser.find_element(By.CSS_SELECTOR, "assign-add input[type='range']")
    slider.send_keys(Keys.HOME)
    answer, odds = answered("seed-42", 0, Problem.parse("c=1, b=17, a=42, b+19=?").tokens())
    until(browser, lambda: f"the network says {answer}, with probability {odds:.2f}" in said(browser, "verdict"))
    browser.find_element(By.XPATH, "//assign-add//button[text()='Play']").click()
    until(browser, lambda: load_run("seed-42").steps[2] <= int(browser.current_url.split("step=")[1]))
    browser.find_element(By.XPATH, "//assign-add//button[text()='Stop']").click()
    Select(browser.find_element(By.CSS_SELECTOR, "assign-add .controls select")).select_by_visible_text("hand-built")
    until(browser, lambda: "the network says 36" in said(browser, "verdict") and "run=hand-built&step=0" in browser.current_url)
    assert not errors(browser)


BAD_LINKS = {
    "?problem=nonsense": "the last piece must be one sum of two operands such as b+19=?, not 'nonsense'",
    "?run=seed-77": "there is no run seed-77; there are seed-0, ",
    "?names=many": "names is a number from 0 to 2 in steps of 0.25, not many",
    "?shift=1.5": "shift is a number from 0 to 11 in steps of 1, not 1.5",
    "?run=constructor": "there is no run constructor; there are seed-0, ",
    "?step=soon": "the step is a whole number, not soon",
    "?tokens=a+b": "the link does not name 16 tokens of this task",
    "?step=1234": "step 1234 of seed-42 is not kept; this is 1000",
    "?names=9&shift=x": "names is a number from 0 to 2 in steps of 0.25, not 9; shift is a number from 0 to 11",
}


@pytest.mark.parametrize("link, words", BAD_LINKS.items(), ids=BAD_LINKS)
def test_a_bad_link_gets_one_line(explorer, link, words):
    browser = explorer(link, waits="error")
    assert said(browser, "error").startswith(words) and "\n" not in said(browser, "error")
    slider = browser.find_element(By.CSS_SELECTOR, "assign-add input[type='range']")
    slider.send_keys(Keys.HOME, Keys.END)  # and all else goes on
    typed(browser, "3+4=?")
    until(browser, lambda: said(browser, "verdict").startswith("On 3+4=? the network says 7,"))
    assert not errors(browser)


def test_what_is_shown_is_named_until_other_weights_are_there(explorer):
    """A run whose weights cannot be had leaves run, step and address at what is shown."""
    browser = explorer("?run=seed-42&step=3000")
    until(browser, lambda: "step=3000" in browser.current_url)
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*seed-1/*"]})
    browser.execute_cdp_cmd("Network.enable", {})
    choice = Select(browser.find_element(By.CSS_SELECTOR, "assign-add .controls select"))
    choice.select_by_visible_text("seed-1")
    until(browser, lambda: "could not be fetched" in said(browser, "error"))
    assert choice.first_selected_option.text == "seed-42" and "run=seed-42&step=3000" in browser.current_url
    assert not browser.find_elements(By.CSS_SELECTOR, "assign-add[address] .stale")  # it is what the controls say
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    choice.select_by_visible_text("seed-1")
    until(browser, lambda: "run=seed-1&step=30000" in browser.current_url and not said(browser, "error"))
    browser.get_log("browser")


@pytest.mark.parametrize("damage", ["gone", "cut", "altered"])
def test_a_checkpoint_that_is_gone_or_damaged_gets_one_line(damage, browser, tmp_path):
    shutil.copytree(SITE / "_static", tmp_path / "_static", ignore=shutil.ignore_patterns("seed-[0-35-9]*", "vendor", "scripts"))
    (tmp_path / "pages").mkdir()
    shutil.copy(SITE / "pages/explorer.html", tmp_path / "pages")
    path = tmp_path / "_static/runs/seed-42/checkpoints/step-003000.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.unlink() if damage == "gone" else path.write_bytes(content[:-1000] if damage == "cut" else content)
    with served(tmp_path) as address:
        browser.get(f"{address}/pages/explorer.html?run=seed-42&step=3000")
        until(browser, lambda: said(browser, "error"))
        lines = {"gone": "could not be fetched (404)", "cut": "it is cut short", "altered": "its checksum is not"}
        assert lines[damage] in said(browser, "error") and not said(browser, "verdict")
        until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, "assign-add .tokens select")) >= 16)
        typed(browser, "3+4=?")
        slider = browser.find_element(By.CSS_SELECTOR, "assign-add input[type='range']")
        slider.send_keys(Keys.END)  # the others go on
        until(browser, lambda: said(browser, "verdict").startswith("On 3+4=? the network says 7"))
    browser.get_log("browser")


def test_a_link_to_a_run_alone_shows_its_last_step(explorer):
    browser = explorer("?run=hand-built")
    until(browser, lambda: "run=hand-built&step=0" in browser.current_url)
    assert not said(browser, "error")
    browser = explorer("?run=seed-3")
    until(browser, lambda: "run=seed-3&step=30000" in browser.current_url)


def test_steps_that_are_passed_over_are_not_fetched(explorer):
    browser = explorer("?run=seed-42&step=0")
    until(browser, lambda: "step=0" in browser.current_url)
    let_go = slowed(browser, "checkpoints")
    slider = browser.find_element(By.CSS_SELECTOR, "assign-add input[type='range']")
    slider.send_keys(*[Keys.ARROW_RIGHT] * 6)
    browser.execute_async_script("setTimeout(arguments[0], 400)")
    assert browser.execute_script("return waiting.length") <= 3  # the first, the last, and perhaps one between
    let_go()
    step = load_run("seed-42").steps[6]
    until(browser, lambda: f"step={step}" in browser.current_url)
    assert not errors(browser)


def test_explorer_asks_for_one_checkpoint_and_no_other_host(explorer, site):
    browser = explorer("?problem=3%2B4%3D%3F")
    asked = requests(browser)
    assert not [url for url in asked if url.startswith("http") and not url.startswith(site)]
    assert len([url for url in asked if url.endswith(".safetensors")]) == 1


def altered_as(settings, w, tokens):
    """The same changes in the package."""
    task, changes = w.task, []
    if settings.get("numbers"):
        changes.append(iv.make_uniform(1, task.assigned_numbers(tokens)))
    if settings.get("equal"):
        changes.append(iv.make_uniform(1, iv.at(tokens, task.last)))
    if settings.get("ideal"):
        changes.append(iv.read_values(tokens, task))
    if settings.get("mlp"):
        changes.append(iv.put("blocks.1.hook_mlp_out", iv.at(tokens, task.last), torch.zeros(1, 1, w.d_model)))
    if "places" in settings:
        changes.append(iv.add_to_scores(1, (settings["places"] - 1) * iv.position_term(w)))
    if {"names", "shift"} & set(settings):
        block = variable_identity(w).roll(settings.get("shift", 0), 1)
        change = settings.get("names", 1) * iv.identity_term(w, tokens, block) - iv.identity_term(w, tokens)
        changes.append(iv.add_to_scores_of_equal(change))
    return iv.together(*changes)


CHANGES = [{"numbers": 1}, {"equal": 1}, {"ideal": 1}, {"mlp": 1}, {"places": 0.5}, {"names": 0}, {"names": 2}, {"shift": 1},
           {"names": 1.5, "shift": 5}, {"places": 0.25, "ideal": 1, "mlp": 1}]  # fmt: skip


@pytest.mark.parametrize("settings", CHANGES, ids=str)
def test_changes_are_those_of_the_package(page, browser, tokens, settings):
    some = tokens[::5]
    found = run(browser, """const w = await load("seed-42", 30000), task = new problems.Task();
      const changes = await import(new URL("interventions.js", base));
      const settings = { ...changes.untouched(), ...given[1] };
      return given[0].map((ids) => [...network.trace(w, ids, changes.alteration(w, task, ids, settings)).logits]);""",
      some.tolist(), settings)  # fmt: skip
    w = weights("seed-42", 30000)
    ours = run_network(w, some, altered_as(settings, w, some)).logits
    assert (torch.tensor(found) - ours).abs().max() < 2e-3
    assert (ours - forward(w, some)[:, -1]).abs().max() > 0.1  # it does change something


def test_without_a_change_nothing_is_altered(page, browser):
    assert run(browser, """const w = await load("seed-42", 30000), changes = await import(new URL("interventions.js", base));
      const task = new problems.Task(), ids = problems.Problem.parse("a=1, a+a").tokens();
      return changes.alteration(w, task, ids, changes.untouched()) === undefined;""")  # fmt: skip


def test_explorer_changes_the_network_and_says_so_in_its_address(explorer):
    browser = explorer("?problem=a%3D3%2C+b%3D50%2C+a%2B4%3D%3F&shift=1")
    assert said(browser, "verdict") == "On a=3, b=50, a+4=? the network says 54, with probability above 0.99; right is 7 " \
        "(probability below 0.01). Unchanged it says 7."  # fmt: skip
    w, tokens = weights("seed-42", 30000), Problem.parse("a=3, b=50, a+4=?").tokens()[None]
    shifted = iv.identity_term(w, tokens, variable_identity(w).roll(1, 1)) - iv.identity_term(w, tokens)
    assert f", of which {shifted[0, 3].item():.1f} by the change." in said(browser, "reading")
    browser.find_element(By.NAME, "mlp").click()
    until(browser, lambda: "shift=1" in browser.current_url and "mlp=1" in browser.current_url)
    state = browser.current_url
    explorer(state[state.index("?") :])
    assert browser.find_element(By.NAME, "mlp").is_selected()
    assert browser.find_element(By.NAME, "shift").get_attribute("value") == "1"
    assert not errors(browser)


def test_explorer_takes_accuracies_on_fresh_problems(explorer):
    browser = explorer("?names=0")
    browser.find_element(By.CSS_SELECTOR, "assign-add .more button:nth-of-type(2)").send_keys(Keys.ENTER)
    until(browser, lambda: said(browser, "more div").endswith("."))
    shares = [float(each) for each in re.findall(r"\d\.\d\d", said(browser, "more div"))]
    assert len(shares) == 4 and shares[0] > 0.95 and max(shares[1:]) < 0.6


def test_two_networks_stand_beside_each_other(explorer):
    browser = explorer("?problem=a%3D3%2C+b%3D50%2C+a%2B4%3D%3F&step2=0")
    verdicts = lambda: [each.text for each in browser.find_elements(By.CSS_SELECTOR, "assign-add[address] .verdict")]  # noqa: E731
    untrained, _ = answered("seed-42", 0, Problem.parse("a=3, b=50, a+4=?").tokens())
    until(browser, lambda: len(verdicts()) == 2 and f"says {untrained}," in verdicts()[1])
    assert "says 7," in verdicts()[0]
    browser.find_element(By.CSS_SELECTOR, "assign-add[address] [role='gridcell'][tabindex='0']").send_keys(Keys.ARROW_UP)
    readings = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "assign-add[address] .reading")]
    assert len(readings) == 2 and all("4 (position 14) reads" in each for each in readings) and readings[0] != readings[1]
    browser.find_elements(By.CSS_SELECTOR, "assign-add .changes summary")[1].send_keys(Keys.ENTER)
    browser.find_elements(By.NAME, "ideal")[1].send_keys(Keys.SPACE)
    until(browser, lambda: "run2=seed-42&step2=0&ideal2=1" in browser.current_url and "ideal=1" not in browser.current_url)
    state = browser.current_url
    explorer(state[state.index("?") :])
    until(browser, lambda: len(verdicts()) == 2 and "Unchanged it says" in verdicts()[1])
    button = browser.find_element(By.XPATH, "//assign-add//button[text()='Close the second network']")
    button.send_keys(Keys.ENTER)
    until(browser, lambda: "run2" not in browser.current_url and len(verdicts()) == 1)
    button.send_keys(Keys.ENTER)
    until(browser, lambda: len(verdicts()) == 2 and verdicts()[0] == verdicts()[1])
    assert not errors(browser)


def test_a_prediction_comes_before_the_answer(explorer):
    browser = explorer()
    second = browser.find_elements(By.TAG_NAME, "assign-add")[1]
    verdict, guess = (second.find_element(By.CLASS_NAME, each) for each in ("verdict", "guess"))
    assert not second.find_elements(By.CSS_SELECTOR, ".controls option")  # nothing is fetched for what is far below
    browser.execute_script("arguments[0].scrollIntoView()", second)
    until(browser, lambda: second.find_elements(By.CSS_SELECTOR, ".controls option"))
    assert not verdict.is_displayed() and not second.find_elements(By.CLASS_NAME, "layers")
    guess.find_element(By.TAG_NAME, "input").send_keys("24", Keys.ENTER)
    until(browser, lambda: verdict.is_displayed())
    assert browser.switch_to.active_element == verdict  # from where the Tab key goes on
    answer, _ = answered("seed-42", 1900, Problem.parse("f=49, c=12, f+34=?").tokens())
    assert verdict.text.startswith(f"On f=49, c=12, f+34=? the network says {answer},") and verdict.text.endswith("You said 24.")
    assert answer == 12 + 34  # as the page would have it: the other number
    field = second.find_element(By.CSS_SELECTOR, ".problem input")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("1+2=?")
    until(browser, lambda: verdict.text.startswith("On 1+2=? the network says 3,") and "You said" not in verdict.text)
    assert not guess.is_displayed()  # one prediction opens all


def test_what_the_page_says_of_its_examples_holds():
    answers = {step: int(said_of(step, "c=1, b=17, a=42, b+19=?")[0].argmax()) for step in (1900, 30000)}
    assert answers == {1900: (19 + 42) % 59, 30000: 36}
    seen = {1900: (46, 0.26, 0.36), 2100: (24, 0.42, 0.26), 2500: (24, 0.53, 0.07), 30000: (24, 0.34, 0.03)}
    for step, (answer, *weights_read) in seen.items():
        odds, read = said_of(step, "f=49, c=12, f+34=?")
        assert odds.argmax() == answer and near(read[1, 15, [1, 3]], *weights_read)
    metrics = load_run("seed-42").metrics.loc[1900]
    assert metrics["0-var train"] == 1 and metrics["1-var train"] == pytest.approx(0.56, abs=0.005)


def slowed(browser, pattern):
    """Let what matches wait until it is let go: returns what lets it go."""
    browser.execute_script("""
        window.waiting = [];
        const fetch = window.fetch;
        window.fetch = (url) =>
          String(url).includes(arguments[0]) ? new Promise((go) => waiting.push(go)).then(() => fetch(url)) : fetch(url);
    """, pattern)  # fmt: skip
    return lambda: browser.execute_script("window.fetch = fetch; waiting.splice(0).forEach((go) => go())")


def test_what_is_asked_while_weights_are_on_their_way_is_kept(explorer):
    browser = explorer("?run=seed-42&step=3000")
    until(browser, lambda: "step=3000" in browser.current_url)
    let_go = slowed(browser, "seed-42/checkpoints/step-008900")
    slider = browser.find_element(By.CSS_SELECTOR, "assign-add input[type='range']")
    place = load_run("seed-42").steps.index(8900)
    browser.execute_script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", slider, place)
    pane = browser.find_element(By.CLASS_NAME, "pane")
    assert pane.get_attribute("aria-busy") == "true" and pane.get_attribute("aria-label") == "first network"
    browser.find_element(By.XPATH, "//assign-add//button[text()='Compare with a second network']").send_keys(Keys.ENTER)
    until(browser, lambda: "run2=seed-42&step2=3000" in browser.current_url)  # as the first, which shows this still
    let_go()
    until(browser, lambda: "step=8900" in browser.current_url and pane.get_attribute("aria-busy") == "false")
    assert not said(browser, "error") and not errors(browser)


def test_a_closed_network_plays_no_more(explorer):
    browser = explorer("?step2=0")
    until(browser, lambda: "step2=0" in browser.current_url)
    browser.find_elements(By.XPATH, "//assign-add//button[text()='Play']")[1].send_keys(Keys.ENTER)
    until(browser, lambda: "step2=0" not in browser.current_url)
    browser.find_element(By.XPATH, "//assign-add//button[text()='Close the second network']").send_keys(Keys.ENTER)
    requests(browser)
    browser.execute_async_script("setTimeout(arguments[0], 1500)")
    assert len([url for url in requests(browser) if url.endswith(".safetensors")]) <= 1  # the one on its way


def test_both_layers_are_reached_by_keys_and_name_what_they_hold(explorer):
    browser = explorer()
    stops = browser.find_elements(By.CSS_SELECTOR, "assign-add[address] [role='gridcell'][tabindex='0']")
    assert len(stops) == 2
    stops[0].send_keys(Keys.HOME)
    browser.switch_to.active_element.send_keys(Keys.ARROW_UP)
    assert said(browser, "reading").startswith("Layer 1: 19 (position 14) reads c (position 0)")
    typed(browser, "a=50, c=2, a+c=?")
    until(browser, lambda: "On a=50" in said(browser, "verdict"))
    named = browser.find_elements(By.CSS_SELECTOR, "assign-add[address] [aria-label^='Layer']")
    labels = [each.get_attribute("aria-label") for each in named]
    w = trace(weights("seed-42", 30000), Problem.parse("a=50, c=2, a+c=?").tokens()[None]).pattern[0]
    assert f"Layer 1: c (position 14) reads a (position 0) with weight {w[0, 14, 0]:.2f}" in labels and len(labels) == 2


def test_print_shows_the_picture_alone(explorer):
    browser = explorer()
    picture, live = (browser.find_element(By.CSS_SELECTOR, f"assign-add {each}") for each in ("img", ".live-view"))
    assert live.is_displayed() and not picture.is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert picture.is_displayed() and not live.is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def said_of(step, text, put=(), **changed):
    """What the package says of a problem, tokens put in by position, after a change: probabilities, attention of both layers."""
    w, tokens = weights("seed-42", step), Problem.parse(text).tokens()
    for place, name in dict(put).items():
        tokens[place] = w.task.names(torch.arange(w.task.d_vocab)).index(name)
    odds = run_network(w, tokens[None], altered_as(changed, w, tokens[None])).logits[0].softmax(0)
    return odds, trace(w, tokens[None]).pattern[0]


def near(found, *quoted):
    return found.tolist() == pytest.approx(quoted, abs=0.005)


def test_what_chapter_1_says_of_its_example_holds():
    text = "c=1, b=17, a=42, b+{}=?"
    for variable in "defghijkl":
        assert said_of(30000, text.format(19), {13: variable})[0].argmax() == 38
        assert variable in "hfk" or said_of(30000, text.format(5), {13: variable})[0].argmax() != 10
    assert said_of(30000, text.format(19), {13: "d"})[0][38] > 0.99


def test_what_chapter_3_says_of_its_example_holds():
    odds, read = said_of(1500, "d=30, g=12, g+7=?")
    assert near(odds[[37, 42, 19]], 0.51, 0.40, 0.01) and near(read[0, 15, 14:15], 0.93) and read[0, 15, 13] < 0.01
    assert (said_of(1500, "d=30, g=12, d+7=?")[0][[37, 42]] - odds[[37, 42]]).abs().max() < 0.001
    odds, read = said_of(1900, "d=30, g=12, g+7=?")
    assert odds.argmax() == 19 and near(read[0, 15, 13:14], 0.44) and said_of(1900, "d=30, g=12, d+7=?")[0].argmax() == 42


def test_what_chapter_5_says_of_its_example_holds():
    _, read = said_of(30000, "h=30, b=8, f=8, d=51, f+d=?")
    assert near(read[1, 15, 5:6], 0.38) and read[1, 15, 3] < 0.01
    odds, read = said_of(30000, "h=30, b=17, f=8, d=51, f+d=?", {2: "f"})
    assert odds.argmax() == 0 and near(read[1, 15, [5, 3, 7]], 0.31, 0.25, 0.25)


def test_what_chapter_9_says_of_its_example_holds():
    assert said_of(30000, "e=8, f=31, e+20=?")[0].argmax() == 28
    for text, answer, odds in (("f=31, e+20", 51, 1), ("d=11, e+20", 28, 0.73), ("f=31, b=40, c=2, e+b", 33, 0.76)):
        found = said_of(30000, f"e=8, {text}=?", shift=1)[0]
        assert found.argmax() == answer and near(found.max()[None], odds)


def test_what_chapter_10_says_of_its_example_holds():
    odds, read = said_of(30000, "c=1, b=17, a=42, b+19=?", {3: "PAD"})
    assert odds.argmax() == 38 and near(read[1, 15, 14:15], 0.61) and read[1, 15].sort().values[-2] < 0.1
    assert said_of(30000, "c=1, b=17, a=42, b+5=?", {3: "PAD"})[0].argmax() == 6
    assert said_of(30000, "5+5=?")[0].argmax() != 10 and not load_run("seed-42").split.train_pairs[5, 5]
    by_hand = handmade.weights()
    tokens = torch.stack([Problem.parse(f"c=1, b=17, a=42, b+{number}=?").tokens() for number in range(59)])
    tokens[:, 3] = by_hand.task.pad
    assert forward(by_hand, tokens)[:, -1].argmax(1).equal(2 * torch.arange(59) % 59)


def test_what_chapter_11_says_of_its_example_holds():
    odds, read = said_of(8900, "k=5, c=20, 30+k=?")
    assert odds.argmax() == 50 and near(odds[50:51], 0.56) and near(read[1, 15, 14:15], 0.99) and read[1, 15, 3] < 0.01
    assert ((read[0, 14, [3, 13, 1]] - 0.2).abs() < 0.03).all()
    follows = [said_of(8900, f"k=5, c={c}, 30+k=?")[0].argmax() == (30 + c) % 59 for c in (0, 1, 7, 13, 20, 33, 41, 58)]
    assert sum(follows) >= 6
    own, other, typed = torch.randint(0, 59, (3, 400), generator=torch.Generator().manual_seed(0))
    w, each = weights("seed-42", 8900), zip(own.tolist(), other.tolist(), typed.tolist())
    tokens = torch.stack([Problem.parse(f"k={a}, c={b}, {c}+k=?").tokens() for a, b, c in each])
    acts = trace(w, tokens)
    for unread, right, wrong in (([], 0.445, 0.448), ([3], 0.948, 0.010), ([1], 0.010, 0.935)):
        pattern = acts.pattern[:, 0].clone()
        pattern[:, 14, unread] = 0
        stream = acts.resid_pre + pattern @ acts.resid_pre @ OV(w, 1)
        read = acts.pattern[:, 1, 15:] @ stream @ OV(w, 2)
        answers = read_out(w, stream[:, 15] + read[:, 0]).argmax(1)
        shares = torch.stack([(operand + typed) % 59 == answers for operand in (own, other)]).double().mean(1)
        assert near(shares, right, wrong)
    assert said_of(9100, "k=5, c=20, 30+k=?")[0].argmax() == 35
    beside = [said_of(step, "k=5, l=20, 30+k=?")[0] for step in (9100, 9300, 9900)]
    assert [int(each.argmax()) for each in beside] == [35, 50, 35] and near(beside[0].max()[None], 0.31)


def test_an_output_of_a_notebook_answers_without_the_site(browser, tmp_path, monkeypatch):
    monkeypatch.delenv("ASSIGN_ADD_RENDER", raising=False)
    own = Weights.init(seed=1)
    output = explorer_view("b=17, b+19=?", Asked("seed-42", 3000, steps=[1500]), own).data
    (tmp_path / "output.html").write_text(f"<!doctype html><link rel=icon href=data:,>{output}{output}", "utf-8")
    tokens = Problem.parse("b=17, b+19=?").tokens()[None]
    answers = [int(forward(each, tokens)[0, -1].argmax()) for each in (load_run("seed-42").weights(3000), own)]
    with served(tmp_path) as address:
        show(browser, f"{address}/output.html")
        until(browser, lambda: all(each.text for each in browser.find_elements(By.CLASS_NAME, "verdict")[:2]))
        verdicts = browser.find_elements(By.CLASS_NAME, "verdict")
        assert len(verdicts) == 4 and all(f"says {answer}," in each.text for each, answer in zip(verdicts, answers))
        browser.find_element(By.CSS_SELECTOR, "assign-add input[type='range']").send_keys(Keys.HOME)
        until(browser, lambda: browser.find_element(By.CSS_SELECTOR, "assign-add output").text.startswith("1"))
        assert not errors(browser)
        assert {url for url in requests(browser) if not url.startswith("data:")} == {f"{address}/output.html"}
