"""One gradient step: at every length the page reads, answers and counts as the package does."""

import pytest
import torch
from moving import alive, set_to, verdict
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from assign_add_lib import Problem, theory
from assign_add_lib.theory import Setting, sweeps

SETTING = Setting(lam=24.0, gamma=1e-11)
STEP = SETTING.step_size * theory.exact(SETTING)
PLACES = (0, 60, 100, 117, 119, 121, 123, 125, 129, 150)  # hundredths of the theorem's step


@pytest.fixture(scope="module")
def shares():
    """Of 1000 problems with one variable, how many are right, by place."""
    problems = {"1-var": sweeps.fresh_problems(1000)["1-var"]}
    return {place: sweeps.outcomes(SETTING, place / 100, problems)[0]["1-var"] for place in PLACES}


def test_it_reads_and_answers_as_the_package_does(browser, moving, shares):
    alive(browser, moving, "one-step")
    tokens = Problem.parse("c=1, b=17, a=42, b+19=?").tokens()[None]
    answers = []
    for place in PLACES:
        set_to(browser, length=place)
        W = SETTING.initial() + place / 100 * STEP
        content = theory.content(SETTING.task, theory.attention(SETTING.task, W, tokens), tokens)[0]
        answers.append(answer := int(theory.logits(SETTING, W, tokens)[0].argmax()))
        why = {38: ", twice 19", 34: ", twice 17", 36: ": right"}[answer]
        reads = f"= reads 17 with {content[17]:.2f} and 19 with {content[19]:.2f}, and answers {answer}{why}."
        assert verdict(browser) == f"{reads} Of other problems {min(99, round(100 * shares[place]))}% are right."
    assert answers[0] == 38 and 36 in answers and answers[-1] == 34


def test_the_curve_has_a_narrow_peak_in_the_window(browser, moving, shares):
    alive(browser, moving, "one-step")
    right = browser.execute_script("return document.querySelector('one-step').right")
    assert len(right) == 184 and all(right[place] == share for place, share in shares.items())
    assert max(right) > 0.98 and sum(share > 0.5 for share in right) < 10
    window = browser.execute_script("return document.querySelector('one-step').window")
    step, at = SETTING.lam / theory.balance(SETTING), torch.tensor(2.0).log().item()
    assert [SETTING.lam - step * h for h in window] == pytest.approx([at, -at])


def test_the_theorems_own_step_ranks_and_answers_little(shares):
    tokens = sweeps.fresh_problems(1000)["1-var"]
    assert theory.ranks_first(SETTING.task, SETTING.initial() + STEP, tokens).all() and shares[100] < 0.05


def test_the_diagonal_is_the_block_of_moved_variables(browser, moving):
    alive(browser, moving, "one-step")
    names = theory.coordinates(SETTING.task)["moved variable"]
    block = STEP[names, names]
    found = browser.execute_script("return document.querySelector('one-step').block")
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64).view(12, 12), block, rtol=0, atol=1e-9)
    cells = "return [...document.querySelectorAll('.letters .plus')].map((cell) => Number(cell.getAttribute('fill-opacity')))"
    for place in (0, 80):
        set_to(browser, length=place)
        seen = torch.tensor(browser.execute_script(cells), dtype=torch.float64).view(12, 12)
        torch.testing.assert_close(seen, 0.6 * place / 183 * block, rtol=0, atol=1e-6)


def test_it_is_moved_by_keys_and_by_the_pointer(browser, moving):
    alive(browser, moving, "one-step")
    slider = browser.find_element(By.CSS_SELECTOR, "one-step input")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert slider.get_attribute("aria-valuetext") == "0.01"
    curve = browser.find_element(By.CSS_SELECTOR, "one-step .curve")
    across = curve.size["width"] * ((36 + 350 * 121 / 183) / 400 - 0.5)
    ActionChains(browser).move_to_element_with_offset(curve, round(across), 0).click().perform()
    assert abs(float(slider.get_attribute("aria-valuetext")) - 1.21) <= 0.01
    assert "answers 36: right" in verdict(browser)
