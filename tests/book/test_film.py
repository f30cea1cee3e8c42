"""The film of learning: each frame says what the network of that step says, and Play stops where nothing changes any more."""

import pytest
import torch
from moving import alive, set_to, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import Problem, load_run
from assign_add_lib.model import run

PROBLEMS = ("c=1, b=17, a=42, b+19=?", "k=5, c=20, 30+k=?")


@pytest.fixture(scope="module")
def film():
    """Of each problem the odds of its likeliest answer and that answer, by step."""
    kept, tokens = load_run("seed-42"), torch.stack([Problem.parse(text).tokens() for text in PROBLEMS])
    with torch.no_grad():
        odds = [run(kept.weights(step).to(torch.float), tokens).logits.softmax(-1).max(-1) for step in kept.steps]
    return kept, torch.stack([each.values for each in odds], 1), torch.stack([each.indices for each in odds], 1)


def settled(odds, answers):
    """The place from which neither the answer nor its odds, to one in a hundred, change any more."""
    thousandths = odds.mul(1000).round()
    moved = ((answers != answers[-1]) | ((thousandths - thousandths[-1]).abs() > 10)).nonzero()
    return int(moved.max()) + 1


def test_each_frame_is_that_of_its_step(browser, moving, film):
    kept, _, answers = film
    alive(browser, moving, "learning-film")
    for i, text in enumerate(PROBLEMS):
        browser.find_elements(By.CSS_SELECTOR, "learning-film [type='radio']")[i].click()
        for at, step in enumerate(kept.steps):
            set_to(browser, step=at)
            said, right = int(answers[i, at]), Problem.parse(text).answer
            line = verdict(browser).replace("\u2009", "")
            assert line.startswith(f"Step {step}: the network says {said}")
            assert ("that is right" in line) == (said == right)
            shares = browser.find_element(By.CSS_SELECTOR, ".shares").text
            assert all(
                f"{kind} {kept.metrics.loc[step, f'{kind} train'] * 100:.0f} %" in shares
                for kind in ("0-var", "2-var")
            )  # fmt: skip


def test_play_stops_where_nothing_changes_any_more(browser, moving, film):
    kept, odds, answers = film
    alive(browser, moving, "learning-film")
    play = browser.find_element(By.CSS_SELECTOR, "learning-film .steps button")
    for i, problem in enumerate(browser.find_elements(By.CSS_SELECTOR, "learning-film [type='radio']")):
        problem.click()
        end = settled(odds[i], answers[i])
        set_to(browser, step=end - 2)
        assert "In all later" not in verdict(browser)
        play.send_keys(Keys.ENTER)
        assert play.text == "Stop"
        WebDriverWait(browser, 20).until(lambda _: play.text == "Play")
        line = verdict(browser).replace("\u2009", "")
        assert line.startswith(f"Step {kept.steps[end]}: ") and line.endswith("In all later frames it says the same.")


def test_the_chart_and_keys_move_it(browser, moving, film):
    kept = film[0]
    alive(browser, moving, "learning-film")
    step = browser.find_element(By.CSS_SELECTOR, "learning-film .slider input")
    step.send_keys(Keys.ARROW_RIGHT)
    assert verdict(browser).startswith(f"Step {kept.steps[1]}: ")
    chart = browser.find_element(By.CSS_SELECTOR, "learning-film .chart")
    chart.click()  # its middle lies between steps 1000 and 3000
    assert 1000 < int(verdict(browser).split(":")[0].removeprefix("Step ").replace("\u2009", "")) < 3000
