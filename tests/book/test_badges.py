"""Who holds which name: badges dragged, carried and blended, and the answers are those of the network so altered."""

import re

import pytest
import torch
from browsing import violations
from moving import alive, set_to, verdict
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis.interventions import output_of
from assign_add_lib.model import run

PROBLEMS = ("c=1, b=17, a=42, b+19=?", "h=5, c=31, e=44, j=12, l=20, g=3, e+19=?", "d=58, k=4, d+k=?", "f=8, k=23, d=51, 7+d=?")


@pytest.fixture(scope="module")
def weights():
    return load_run("seed-42").weights().to(torch.half).to(torch.float32)


def exchanged(weights, text, one, other, part):
    """The answer, and the attention of `=` on each number, where two positions exchange a part of what layer 1 wrote."""
    tokens = Problem.parse(text).tokens()[None]

    def mix(held):
        swapped = held.clone()
        swapped[:, [one, other]] = held[:, [other, one]]
        return (1 - part) * held + part * swapped

    seen = run(weights, tokens, {output_of(1): mix}, whole=True)
    return seen.answers.item(), seen.attention(2)[0, -1][tokens[0] < weights.task.n_numbers]


def ask(browser, text):
    field = browser.find_element(By.CSS_SELECTOR, "name-badges input[type=text]")
    field.clear()
    field.send_keys(text)


def badges(browser):
    return browser.find_elements(By.CSS_SELECTOR, "name-badges button.name-badge")


def answer(browser):
    return int(browser.find_element(By.CSS_SELECTOR, "name-badges .question strong").text)


@pytest.mark.parametrize("text", PROBLEMS)
def test_the_answer_and_the_bars_are_those_of_the_altered_network(text, browser, moving, weights):
    alive(browser, moving, "name-badges")
    ask(browser, text)
    many = len(badges(browser))
    assert [each.text for each in badges(browser)] == [str(name) for name, _ in Problem.parse(text).assignments]
    for one, other in [(0, 1), (many - 1, many - 2), (0, many - 1)]:
        browser.find_element(By.XPATH, "//button[text()='Put badges back']").click()
        badges(browser)[one].click()
        assert badges(browser)[one].get_attribute("aria-pressed") == "true"
        badges(browser)[other].click()
        for part in (1, 0.6, 0.25, 0):
            set_to(browser, exchange=part)
            right, shares = exchanged(weights, text, 2 * one + 1, 2 * other + 1, part)
            shown = [int(each.text[:-1]) for each in browser.find_elements(By.CSS_SELECTOR, "name-badges .share")]
            assert answer(browser) == right and all(abs(100 * a - b) < 0.51 for a, b in zip(shares.tolist(), shown, strict=True))
            assert re.search(rf"answers .*\b{right}\b", verdict(browser))


def test_the_answer_follows_the_badge(browser, moving):
    alive(browser, moving, "name-badges")
    assert verdict(browser) == "17 wears b, and the network answers 17 + 19 = 36."
    of_17, of_42 = badges(browser)[1:]
    ActionChains(browser, duration=20).click_and_hold(of_17).move_to_element(of_42).release().perform()
    assert verdict(browser) == "42 wears b, and the network answers 42 + 19 = 2 (mod 59)."
    assert [each.text for each in badges(browser)] == ["c", "a", "b"]
    assert badges(browser)[2].get_attribute("aria-pressed") == "false"
    badges(browser)[2].send_keys(Keys.ARROW_LEFT)
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert browser.switch_to.active_element == badges(browser)[0]
    assert verdict(browser) == "1 wears b, and the network answers 1 + 19 = 20."
    set_to(browser, exchange=0.5)
    assert verdict(browser).startswith("1 and 17 share b, and the network answers ")
    assert violations(browser) == []


def test_what_is_no_problem_is_said(browser, moving):
    alive(browser, moving, "name-badges")
    for text, said in (
        ("b=1, b+c=?", "the right operand c is never assigned; assigned variables: b"),
        ("b=1, b+2=?", "Only two"),
    ):
        ask(browser, text + Keys.ENTER)
        assert browser.find_element(By.CSS_SELECTOR, "name-badges .error").text.startswith(said)
    browser.find_element(By.XPATH, "//button[text()='Another problem']").click()
    assert len(badges(browser)) > 2 and not browser.find_element(By.CSS_SELECTOR, "name-badges .error").text
