"""The flow: drawn before any weights, cut by pointer and by keys, and what it says is what the network says."""

import pytest
import torch
from browsing import STICKING_OUT, faint, show, violations
from chromium import served
from moving import PAGE, alive, verdict
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import Problem, Split, load_run
from assign_add_lib.analysis.interventions import together
from assign_add_lib.model import run
from assign_add_lib.sampling import training_population
from assign_add_lib.task import STUDY
from assign_add_lib.views import explorables
from assign_add_lib.views.explorer import live_script

OPENING = "c=1, b=17, a=42, b+19=?"
SITES = "return [...document.querySelectorAll('the-flow .chip')].map((chip) => chip.dataset.arrow + ' ' + chip.textContent)"


@pytest.fixture(scope="module")
def weights():
    return load_run("seed-42").weights().to(torch.float)


@pytest.fixture
def flow(browser, moving):
    """The page of the flow, with its network there."""
    alive(browser, moving, "the-flow")
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script("return !!document.querySelector('the-flow').weights"))
    return browser


def ask(browser, text):
    browser.execute_script(
        "const [text, input] = [arguments[0], document.querySelector('the-flow input')]; input.value = text;"
        "input.dispatchEvent(new Event('input'))",
        text,
    )


def tap(browser, place):
    """Tap the token at a place; returns (layer, query, key) and the percent of each arrow that is then listed."""
    browser.execute_script("document.querySelectorAll('the-flow .flow .tokens > *')[arguments[0]].click()", place)
    return {tuple(map(int, line.split()[0].split(","))): line.split(" ", 1)[1] for line in browser.execute_script(SITES)}


def cut(layer, query, key):
    """An alteration that sets one weight of a pattern to 0."""

    def act(pattern):
        kept = torch.ones_like(pattern)
        kept[..., query - STUDY.length, key] = 0  # of all queries, or the last alone
        return pattern * kept

    return {f"blocks.{layer - 1}.attn.hook_pattern": act}


def answer(weights, text, *cuts):
    return int(run(weights, Problem.parse(text).tokens()[None], together(*(cut(*each) for each in cuts))).answers)


def test_it_says_what_the_network_says(flow, weights):
    batch = training_population(Split.draw(STUDY, 0)).sample(40, torch.Generator().manual_seed(0))
    for text in (OPENING, "23+19=?", *(str(Problem.from_tokens(tokens, STUDY)) for tokens in batch.tokens)):
        ask(flow, text)
        assert verdict(flow).startswith(f"The network says {answer(weights, text)}")
        assert flow.execute_script("return document.querySelector('.flow .answer').textContent") == str(answer(weights, text))


def test_arrows_are_the_attention(flow, weights):
    tokens = Problem.parse(OPENING).tokens()
    seen = run(weights, tokens[None])
    for place in (0, 3, 5, 13, 14, 15):
        listed = {}
        for layer in (1, 2) if place == 15 else (1,):
            row = seen[f"blocks.{layer - 1}.attn.hook_pattern"][0, 0, place if layer == 1 else -1].tolist()
            listed |= {(layer, place, key): weight for key, weight in enumerate(row) if weight >= 0.04}
        found = tap(flow, place)
        assert found.keys() == listed.keys()
        for arrow, weight in listed.items():
            assert f" {round(100 * weight)} % " in found[arrow]
        wide = "return [...document.querySelectorAll('.arrow.lit .line')].map((each) => parseFloat(each.style.strokeWidth))"
        widths = sorted(flow.execute_script(wide))
        assert widths == pytest.approx(sorted(max(1.5, 22 * weight) for weight in listed.values()), abs=0.02)


def test_a_cut_is_that_of_the_package(flow, weights):
    """Without 17's look-up the network still adds, 19 and 19; without 19, = adds 17 and 17."""
    tap(flow, 3)
    chip = flow.find_element(By.CSS_SELECTOR, "[data-arrow='1,3,2']")
    chip.send_keys(Keys.ENTER)
    assert answer(weights, OPENING, (1, 3, 2)) == 38
    assert verdict(flow) == "Layer 1: 17 no longer attends to b. The network now says 38 = 19 + 19; right is 36."
    assert flow.execute_script("return document.activeElement.dataset.arrow") == "1,3,2"
    tap(flow, 15)
    flow.find_element(By.CSS_SELECTOR, "[data-arrow='2,15,14']").click()
    said = answer(weights, OPENING, (1, 3, 2), (2, 15, 14))
    assert verdict(flow).startswith(f"With 2 arrows cut, the network says {said}")
    flow.find_element(By.CSS_SELECTOR, "[data-arrow='1,3,2'], the-flow .reads > button").click()
    assert verdict(flow) == "The network says 36 = 17 + 19, and that is right."
    flow.find_element(By.CSS_SELECTOR, "[data-arrow='2,15,14']").click()
    assert answer(weights, OPENING, (2, 15, 14)) == 34
    assert verdict(flow).endswith("The network now says 34 = 17 + 17; right is 36.")


def test_a_cut_stays_where_the_same_tokens_stand(flow, weights):
    tap(flow, 3)
    flow.find_element(By.CSS_SELECTOR, "[data-arrow='1,3,2']").click()
    other = "d=8, b=30, a=42, b+11=?"
    ask(flow, other)
    assert verdict(flow).startswith("Layer 1: 30 no longer attends to b. ")
    assert f" now says {answer(weights, other, (1, 3, 2))}" in verdict(flow)
    ask(flow, "b=17, b+19=?")
    assert verdict(flow) == "The network says 36 = 17 + 19, and that is right."


def test_an_arrow_is_cut_and_mended_by_a_click(flow):
    spot = """const hit = document.querySelectorAll("the-flow .arrow .hit")[arguments[0]];
    const at = hit.getPointAtLength(hit.getTotalLength() / 2).matrixTransform(hit.getScreenCTM()); return [at.x, at.y]"""
    flow.execute_script("scrollTo(0, 0)")
    x, y = map(round, flow.execute_script(spot, 1))
    for said in ("Layer 1: 17 no longer attends to b.", "The network says 36 = 17 + 19, and that is right."):
        pointer = ActionBuilder(flow)
        pointer.pointer_action.move_to_location(x, y).click()
        pointer.perform()
        assert verdict(flow).startswith(said)


def test_what_comes_by_tapping_is_read_by_all(browser, moving):
    """In the dark, with arrows listed and cut."""
    alive(browser, moving, "the-flow-dark", width=360)
    tap(browser, 15)
    browser.execute_script("document.querySelectorAll('the-flow .chip')[1].click()")
    assert "no longer attends" in verdict(browser)
    assert violations(browser) == [] and faint(browser) == [] and browser.execute_script(STICKING_OUT) == []


def test_nothing_moves_for_those_who_ask_for_less_motion(browser, moving):
    for wish, moves in (("reduce", False), ("no-preference", True)):
        alive(browser, moving, "the-flow")
        media = {"features": [{"name": "prefers-reduced-motion", "value": wish}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        tap(browser, 3)
        browser.execute_script("document.querySelector('the-flow .chip').click()")
        assert browser.execute_script("return document.querySelectorAll('the-flow .pulse').length > 0") == moves


@pytest.mark.parametrize("given", (1, 30))
def test_a_sum_is_named_only_if_it_is_read(flow, weights, given):
    """With b's note gone, = reads the 5 almost alone, and no arrow leads from c's number, whatever it is."""
    asked = f"c={given}, b=17, a=42, b+5=?"
    ask(flow, asked)
    assert verdict(flow) == "The network says 22 = 17 + 5, and that is right."
    tap(flow, 3)
    flow.find_element(By.CSS_SELECTOR, "[data-arrow='1,3,2']").click()
    assert answer(weights, asked, (1, 3, 2)) == {1: 1 + 5, 30: 14}[given]
    assert verdict(flow).endswith(f"The network now says {answer(weights, asked, (1, 3, 2))}; right is 22.")


def test_a_letter_without_a_number_may_be_asked_for(flow):
    for asked, line in (
        ("d+19", "says 38 = 19 + 19; there is no right answer, for nothing is assigned to d."),
        ("d+26", "says 54; there is no right answer, for nothing is assigned to d."),
    ):
        ask(flow, f"c=1, b=17, a=42, {asked}=?")
        assert verdict(flow) == f"The network {line}"
        assert not flow.find_elements(By.CSS_SELECTOR, "the-flow .answer.wrong")
        assert "NaN" not in flow.find_element(By.CSS_SELECTOR, "the-flow .behind").text


def test_what_is_no_problem_is_said_in_one_line(flow):
    ask(flow, "c=1, b=99, b+19=?")
    with pytest.raises(ValueError) as error:
        Problem.parse("c=1, b=99, b+19=?")
    fault = flow.find_element(By.CSS_SELECTOR, "the-flow .error")
    WebDriverWait(flow, 5).until(lambda _: fault.text == str(error.value))
    ask(flow, OPENING)
    WebDriverWait(flow, 5).until(lambda _: not fault.text)


def test_it_is_drawn_and_tapped_before_its_network_is_there(browser, tmp_path, monkeypatch):
    """On the site, where the weights do not come."""
    monkeypatch.setenv("ASSIGN_ADD_RENDER", "static")
    output = explorables.the_flow(load_run("seed-42")).data
    assert len(output) < 40_000
    script = live_script(explorables.MODULES["the-flow"], "document.currentScript.src")
    (tmp_path / "the-flow.js").write_text(script, "utf-8")
    page = PAGE.format(theme="", colours="", output=output) + '<script src="the-flow.js"></script>'
    (tmp_path / "page.html").write_text(page, "utf-8")
    with served(tmp_path) as address:
        show(browser, f"{address}/page.html")
        assert verdict(browser) == "The network says 36 = 17 + 19, and that is right."
        assert "98 %" in tap(browser, 3)[1, 3, 2]
        alert = (By.CSS_SELECTOR, "the-flow [role='alert']")
        WebDriverWait(browser, 20).until(lambda _: browser.find_elements(*alert))
        assert "could not be fetched (404)" in browser.find_element(*alert).text
        tap_cut = browser.find_element(By.CSS_SELECTOR, "[data-arrow='1,3,2']")
        tap_cut.click()
        assert verdict(browser) == "The network is not here yet …"
