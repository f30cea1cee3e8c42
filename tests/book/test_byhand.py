"""Set the weights yourself: of the problems on the page, the network with the weights so set solves as many in the package."""

import pytest
import torch
from browsing import errors, violations
from moving import alive, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import Problem, handmade
from assign_add_lib.analysis.interventions import answers
from assign_add_lib.views.explorables.byhand import knobs, strengthened

STRENGTHS = (
    (0, 0, 0, 0, 0),
    (0, 0, 1, 0, 0),
    (1, 1, 0, 1, 0),
    (1, 1, 1, 0.8, 1),
    (0.2, 0.2, 0.2, 0.2, 0.2),
    (2, 2, 1, 1, 0),
)


@pytest.fixture(scope="module")
def weights():
    return handmade.weights().to(torch.half).to(torch.float32)


def asked(browser):
    """How many of all problems are right, once all are asked, and of each kind in percent."""
    part = lambda name: [each.text for each in browser.find_elements(By.CSS_SELECTOR, f"set-weights {name}")]  # noqa: E731
    WebDriverWait(browser, 30).until(lambda _: part(".score")[0].endswith(" of 500 right"))
    return int(part(".score")[0].split()[0]), [int(each[:-1]) for each in part(".share")]


def test_as_many_are_right_as_in_the_package(browser, moving, weights):
    alive(browser, moving, "set-weights")
    problems = [
        Problem.parse(text)
        for text in browser.execute_script("return document.querySelector('set-weights').problems.map(String)")
    ]
    tokens = torch.stack([each.tokens() for each in problems])
    right = torch.tensor([each.answer for each in problems])
    sliders = browser.find_elements(By.CSS_SELECTOR, "set-weights input")
    for strengths in (
        (0, 0, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (1, 1, 0, 1, 0),
        (1, 1, 1, 0.8, 1),
        (0.2, 0.2, 0.2, 0.2, 0.2),
        (2, 2, 1, 1, 0),
    ):
        browser.execute_script(
            "arguments[0].forEach((input, i) => { input.value = arguments[1][i]; input.dispatchEvent(new Event('input')) });"
            "return new Promise(requestAnimationFrame)",
            sliders,
            strengths,
        )
        so = answers(strengthened(weights, dict(zip(knobs(weights.task), strengths))), tokens) == right
        total, shares = asked(browser)
        by_kind = [so[weights.task.kind_of(tokens) == kind].float().mean().item() for kind in range(4)]
        assert abs(total - so.sum()) <= 2 and all(
            abs(100 * a - b) < 1.5 for a, b in zip(by_kind, shares)
        )  # ties in single precision
        ours = Problem.parse("c=1, b=17, a=42, b+19=?").tokens()[None]
        said = browser.find_element(By.CSS_SELECTOR, "set-weights .said strong").text
        assert int(said) == answers(strengthened(weights, dict(zip(knobs(weights.task), strengths))), ours).item()
    assert (total, verdict(browser)) == (500, "The network solves all four kinds of sums.")


def test_knobs_are_turned_by_keys_and_nothing_stands_still(browser, moving):
    alive(browser, moving, "set-weights")
    asked(browser)
    knob = browser.find_elements(By.CSS_SELECTOR, "set-weights input")[2]
    for _ in range(10):
        knob.send_keys(Keys.ARROW_RIGHT)
    assert knob.get_attribute("aria-valuetext") == "× 1"
    third_alone = "The network solves sums like 17+19, and fails at sums like b+19, 17+b, a+b."
    WebDriverWait(browser, 30).until(lambda _: verdict(browser) == third_alone)
    stale = "return document.querySelector('set-weights .verdict').matches('.stale')"  # what was said of other knobs
    assert browser.execute_script("document.querySelectorAll('set-weights button')[1].click();" + stale)
    WebDriverWait(browser, 30).until(lambda _: verdict(browser) == "The network solves all four kinds of sums.")
    assert not browser.execute_script(stale)
    assert asked(browser) == (500, [100] * 4) and violations(browser) == [] and not errors(browser)
