"""Train it here: what the page trains is what PyTorch trains from the same start, and what it shows is what it trained."""

import re

import pytest
import torch
from browsing import opened, run_script
from moving import alive, set_to, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib.views import small_adder

START = """
const [p, decay, steps] = given, of = { p, width: 32, neurons: 128 };
const pairs = trainer.pairsOf(p, 0.8, 5), adder = trainer.untrained(of, 5), lists = (all) => all.map((each) => [...each]);
const start = lists(adder.weights), right = (seen) => {
  const some = pairs.filter((pair) => pair.seen === seen);
  return some.filter((pair) => pair.right).length / some.length;
};
"""
TRAIN = (
    START
    + """
const history = {}, work = trainer.training(adder, pairs, () => decay, () => {
  history[adder.steps] = [adder.loss, right(true), right(false)];
});
let pieces = 0;
for (; adder.steps < steps; pieces++) work.next();
const marked = { pairs: pairs.map(({ x, y }) => [x, y]), seen: pairs.map(({ seen }) => seen) };
return { pieces, start, history, end: lists(adder.weights), ...marked };
"""
)


def tensors(lists, p):
    shapes = (p, 32), (32, 128), (128, p)
    return [torch.tensor(each, dtype=torch.float64).view(shape) for each, shape in zip(lists, shapes)]


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    with opened(browser, tmp_path_factory.mktemp("page")):
        yield browser


@pytest.mark.parametrize("p, decay, steps", [(29, 1, 121), (29, 0, 61), (59, 0.3, 6)])
def test_it_trains_as_pytorch_does(page, p, decay, steps):
    found = run_script(page, ["trainer"], TRAIN, p, decay, steps)
    start, end = (tensors(found[name], p) for name in ("start", "end"))
    pairs, seen = small_adder.pairs_of(p), torch.tensor(found["seen"])
    assert found["pairs"] == pairs.tolist() and seen.sum() == -(-8 * len(pairs) // 10)
    history, weights = small_adder.train(start, seen, decay, steps)
    assert sorted(map(int, found["history"])) == list(range(0, steps, 5))
    for step, now in found["history"].items():
        assert now == pytest.approx(history.loc[int(step)].tolist(), rel=1e-6)
    assert found["pieces"] > steps * seen.sum() / 16  # so that no piece of work takes long
    for ours, theirs in zip(weights, end):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_gradients_are_right(page):
    body = START + "for (const _ of trainer.differentiate(adder, pairs)); return [start, lists(adder.gradient), adder.loss];"
    start, gradient, loss = run_script(page, ["trainer"], body, 29, 0, 0)
    weights, pairs = [each.requires_grad_() for each in tensors(start, 29)], small_adder.pairs_of(29)
    found = torch.nn.functional.cross_entropy(small_adder.logits(weights, pairs), pairs.sum(1) % 29)
    torch.testing.assert_close(found.item(), loss, rtol=1e-12, atol=0)
    for ours, theirs in zip(torch.autograd.grad(found, weights), tensors(gradient, 29)):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def test_a_start_is_kept_for_its_seed_and_is_normal(page):
    body = START + "return [start, lists(trainer.untrained(of, 5).weights), lists(trainer.untrained(of, 6).weights)];"
    one, again, other = run_script(page, ["trainer"], body, 59, 0, 0)
    assert one == again and one != other
    for weights, size in zip(tensors(one, 59), (32, 32, 128)):
        assert abs(weights.mean() * size**0.5) < 0.1 and abs(weights.std() * size**0.5 - 1) < 0.05


def numbers(browser):
    return list(map(int, re.findall(r"\d+", verdict(browser))))


def button(browser, text):
    found = browser.find_elements(By.CSS_SELECTOR, "train-here button")
    return next(each for each in found if each.text == text)


def wait(browser, words):
    WebDriverWait(browser, 120, 0.05).until(lambda _: words in verdict(browser))


def test_the_reader_trains_it(browser, moving):
    """From nothing to the last new pair, and the same start anew."""
    alive(browser, moving, "train-here")
    button(browser, "Train").click()
    wait(browser, "Does the other line follow?")
    learned, seen, new = numbers(browser)
    assert seen == 100 and new < 20 and button(browser, "Pause")
    wait(browser, "It adds pairs that it never saw")
    steps, *right = numbers(browser)
    assert right == [100, 100] and learned + 40 < steps and button(browser, "Train on")
    drawn = "return [...document.querySelectorAll('train-here .board path[d^=M]')].map((each) => each.getAttribute('class'))"
    assert {*browser.execute_script(drawn)} == {"seen right", "new right"}
    large = browser.find_elements(By.CSS_SELECTOR, "train-here rect.large")
    assert 2 <= len(large) <= 6

    button(browser, "Start anew").click()
    wait(browser, "Does the other line follow?")
    assert numbers(browser) == [learned, seen, new]  # the same start learns the same
    button(browser, "Pause").click()
    assert verdict(browser).startswith("Paused. After ")
    button(browser, "Another start").click()
    wait(browser, "Does the other line follow?")
    assert browser.execute_script("return document.querySelector('train-here polyline.former').getAttribute('points')")


def test_settings_begin_anew_and_nothing_runs_out_of_sight(browser, moving):
    alive(browser, moving, "train-here")
    set_to(browser, pairs=30, weight=0)
    cells = (
        "return ['seen', 'new'].map((k) => document.querySelector(`.board .${k}.wrong`).getAttribute('d').split('M').length - 1)"
    )
    assert browser.execute_script(cells) == pytest.approx([0.3 * 29**2, 0.7 * 29**2], rel=0.03)
    assert verdict(browser).startswith("Nothing is learned yet.")
    browser.execute_script("document.body.style.paddingBottom = '300vh'")
    button(browser, "Train").click()
    wait(browser, "Does the other line follow?")
    browser.execute_script("scrollTo(0, document.body.scrollHeight)")
    told = "const [done] = arguments; setTimeout(() => done(document.querySelector('train-here svg').ariaLabel), 300)"
    first = browser.execute_async_script(told)
    assert browser.execute_async_script(told) == first
    browser.execute_script("scrollTo(0, 0)")
    WebDriverWait(browser, 20).until(lambda _: browser.execute_async_script(told) != first)
