"""Nine clocks: turned by keys, by a pointer and by clicks, and what they say is what the network's adder says."""

import pytest
import torch
from moving import alive, set_to, verdict
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from assign_add_lib import load_run
from assign_add_lib.analysis.fourier import keep, key_frequencies, number_table


@pytest.fixture(scope="module")
def adder():
    """What the neurons get of each number by the key frequencies alone, what they write, and these frequencies."""
    w = load_run("seed-42").weights().to(torch.half).to(torch.double)
    ks = key_frequencies(number_table(w))
    return keep(number_table(w) @ w.W_in, [0, *ks]), w.W_out @ w.W_U, ks


def test_clocks_say_what_the_adder_says(browser, moving, adder):
    table, out, ks = adder
    alive(browser, moving, "nine-clocks")
    assert len(browser.find_elements(By.CSS_SELECTOR, "nine-clocks .face")) == len(ks) == 9
    pairs = torch.randint(len(table), (40, 2), generator=torch.Generator().manual_seed(0)).tolist()
    for x, y in pairs:
        set_to(browser, left=x, right=y, try_an=(x + y) % 59)
        answer = int(((table[x] + table[y]).relu() @ out).argmax())
        assert verdict(browser) == f"{x} + {y}: the network's adder says {answer}. For {(x + y) % 59} the clocks vote 9.0 of 9."


def test_a_number_between_two_is_on_the_waves_between_them(browser, moving, adder):
    table, out, ks = adder
    alive(browser, moving, "nine-clocks")
    n = torch.arange(59, dtype=torch.double)
    for x, votes in ((17.25, 40), (17.5, 36), (17.75, 7)):
        turned = [2 / 59 * (2 * torch.pi * k / 59 * (x - n)).cos() for k in ks]  # of a sum of waves, what stands at x
        between = table.mean(0) + torch.stack(turned).sum(0) @ table
        answer = int(((between + table[19]).relu() @ out).argmax())
        set_to(browser, left=x, right=19, try_an=votes)
        agree = sum(torch.cos(torch.tensor(2 * torch.pi * k / 59 * (votes - x - 19))).item() for k in ks)
        said = f"{agree:.1f}".replace("-", "−")
        near = f"{'' if abs(answer - x - 19) <= 0.5 else 'not '}the nearest to {x + 19}"
        says = f"{x} + 19: the network's adder says {answer}, {near}."
        assert verdict(browser) == f"{says} For {votes} the clocks vote {said} of 9."


def test_clocks_are_turned_by_keys_and_by_dragging(browser, moving):
    alive(browser, moving, "nine-clocks")
    first = browser.find_element(By.CSS_SELECTOR, "nine-clocks .slider input")
    first.send_keys(Keys.ARROW_RIGHT)
    assert verdict(browser).startswith("17.25 + 19:") and first.get_attribute("aria-valuetext") == "17.25"
    face = browser.find_element(By.CSS_SELECTOR, "nine-clocks .face svg")  # once round: a quarter of it is 59 / 4
    reach = face.size["width"] / 4
    start = browser.execute_script(
        "const [x] = arguments; return [Math.sin, Math.cos].map((f) => f(2 * Math.PI * x / 59))", 17.25
    )
    by = [round(reach * start[0]), round(-reach * start[1])]
    turned = [-by[1], by[0]]  # a quarter further
    drag = ActionChains(browser, duration=20).move_to_element_with_offset(face, *by).click_and_hold()
    for part in (0.25, 0.5, 0.75, 1):
        step = [round((1 - part) * by[i] + part * turned[i]) for i in (0, 1)]
        drag = drag.move_to_element_with_offset(face, *step)
    drag.release().perform()
    assert abs(float(verdict(browser).split(" ")[0]) - (17.25 + 59 / 4)) < 1
    bars = browser.find_element(By.CSS_SELECTOR, "nine-clocks .bars")
    ActionChains(browser).move_to_element_with_offset(
        bars, round(-bars.size["width"] / 2 + bars.size["width"] * 36.5 / 59), 0
    ).click().perform()
    assert " For 36 the clocks vote " in verdict(browser)
