"""Transplant bench: what each socket recovers, and what A answers then, is what activation patching of the package finds."""

import re

import pytest
import torch
from browsing import errors, violations
from moving import alive, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis.interventions import attend_in_layer_2, output_of, patched, put_back
from assign_add_lib.model import run
from assign_add_lib.views.explorables.binding import carried

BASE = "c=1, b=17, a=42, b+19=?"
OTHERS = {
    "another value": "c=1, b=30, a=42, b+19=?",
    "other names": "b=1, c=17, a=42, b+19=?",
    "another letter asked": "c=1, b=17, a=42, c+19=?",
    "another typed number": "c=1, b=17, a=42, b+30=?",
}


@pytest.fixture(scope="module")
def weights():
    return load_run("seed-42").weights().to(torch.half).to(torch.float32)


def press(browser, text):
    browser.find_element(By.XPATH, f"//transplant-bench//button[text()='{text}']").click()


def sockets(browser):
    return browser.find_elements(By.CSS_SELECTOR, "transplant-bench .socket")


@torch.no_grad()
def answers(weights, here, there, places):
    """What A answers with each socket of B, in the order of the page."""
    site, last = weights.task.last, ("blocks.1.hook_resid_mid", "blocks.1.mlp.hook_post")
    kept = run(weights, there, keep=("hook_embed", output_of(1), *last), whole=True)
    alters = [put_back(name, kept[name], place) for name in ("hook_embed", output_of(1)) for place in places]
    alters += [attend_in_layer_2(kept.attention(2)[:, -1]), *(put_back(name, kept[name], site) for name in last)]
    return [run(weights, here, alter, whole=True).answers.item() for alter in alters]


@pytest.mark.parametrize("name", OTHERS)
def test_sockets_recover_what_patching_recovers(name, browser, moving, weights):
    here, there = (Problem.parse(text) for text in (BASE, OTHERS[name]))
    places, rows = carried(weights, here, there)
    tokens = [each.tokens()[None] for each in (here, there)]
    assert rows["layer 1's output"] == patched(weights, tokens[1], tokens[0], [output_of(1)])[0, 0, places].tolist()
    alive(browser, moving, "transplant-bench")
    press(browser, name)
    press(browser, "Open all sockets")
    WebDriverWait(browser, 20).until(lambda _: all(each.text for each in sockets(browser)))
    shown = [int(each.text.replace("−", "-")[:-1]) for each in sockets(browser)]
    recovered = sum(rows.values(), [])
    assert all(abs(100 * a - b) < 0.51 for a, b in zip(recovered, shown, strict=True))
    said = [int(re.search("A answers (.*)", each.get_attribute("aria-label"))[1]) for each in sockets(browser)]
    assert said == answers(weights, *tokens, places) and not errors(browser)
    assert violations(browser) == []


def test_the_reader_guesses_by_pointer(browser, moving):
    """Nothing lies over the guesses, or the click would be refused."""
    alive(browser, moving, "transplant-bench")
    press(browser, "other names")
    sockets(browser)[11].click()
    press(browser, "20, as B")
    assert verdict(browser).startswith("Foreseen: A answers 20")


def test_the_reader_guesses_by_keys_and_is_told(browser, moving):
    alive(browser, moving, "transplant-bench")
    press(browser, "other names")
    for socket, guess, said in (
        (11, 1, "Foreseen: A answers 20, as B does. 96% of the logit difference comes across."),
        (13, 0, "Not foreseen: A answers 38, as neither did. 28% of the logit difference comes across."),
    ):
        sockets(browser)[socket].send_keys(Keys.ENTER)
        for _ in range(guess):
            browser.switch_to.active_element.send_keys(Keys.TAB)
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        assert verdict(browser) == said and browser.switch_to.active_element == sockets(browser)[socket]
    assert browser.find_element(By.CSS_SELECTOR, "transplant-bench .result").text == "38"
    assert "You foresaw 1 of 2." in browser.find_element(By.CSS_SELECTOR, "transplant-bench").text
    sockets(browser)[11].click()
    assert verdict(browser) == "A answers 20, as B does. 96% of the logit difference comes across."
    press(browser, "another value")
    assert not verdict(browser) and browser.find_element(By.CSS_SELECTOR, "transplant-bench .result").text == "36"
