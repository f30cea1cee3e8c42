"""512 neurons: their groups, tiles and votes are those of the network's adder, by sliders, by clicks and by dragging."""

import pytest
import torch
from moving import alive, set_to, verdict
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import load_run
from assign_add_lib.analysis.fourier import amplitudes_and_phases, number_table

WALL = "document.querySelector('neuron-wall')"


@pytest.fixture(scope="module")
def adder():
    """What the neurons get of each number, what they write, and the frequency of each."""
    w = load_run("seed-42").weights().to(torch.half).to(torch.double)
    table = number_table(w) @ w.W_in
    return table, w.W_out @ w.W_U, amplitudes_and_phases(table)[0][1:].argmax(0) + 1


def sentence(adder, x, y, off=()):
    table, out, ks = adder
    votes = ~torch.isin(ks, torch.tensor(off, dtype=torch.long))
    active = (table[x] + table[y]).relu() * votes
    answer, total = int((active @ out).argmax()), (x + y) % 59
    said = f"{x} + {y}: {int((active > 0).sum())} of {int(votes.sum())} neurons are active, and say {answer}"
    return said + ("." if answer == total else f", not {total}.")


def painted(browser):
    """Wait until all tiles are painted."""
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script(f"return {WALL}.most.every((each) => each > 0)"))


def test_neurons_vote_as_the_adder_does(browser, moving, adder):
    alive(browser, moving, "neuron-wall")
    ks = adder[2].tolist()
    buttons = browser.find_elements(By.CSS_SELECTOR, "neuron-wall .group button")
    assert [each.text.split() for each in buttons] == [[str(k), str(ks.count(k)), "neurons", "silence"] for k in sorted(set(ks))]
    for x, y in torch.randint(59, (20, 2), generator=torch.Generator().manual_seed(0)).tolist():
        set_to(browser, left=x, right=y)
        assert verdict(browser) == sentence(adder, x, y)
    off = []
    for button in buttons:
        button.click()
        off.append(int(button.text.split()[0]))
        assert button.get_attribute("aria-pressed") == "true" and button.text.endswith("silenced")
        if len(off) < len(buttons):
            assert verdict(browser) == sentence(adder, x, y, off)
    assert verdict(browser) == f"{x} + {y}: no neuron votes."


def test_a_tile_shows_its_neuron_over_all_pairs(browser, moving, adder):
    alive(browser, moving, "neuron-wall")
    for box in (False, True):
        painted(browser)
        place, k, neuron, alpha = browser.execute_script(
            f"""const wall = {WALL}, at = wall.places[wall.chosen], [side, columns] = [59 + 5, wall.columns];
                const corner = [(at.place % columns) * side, Math.floor(at.place / columns) * side];
                const image = at.group.atlas.getContext("2d").getImageData(...corner, 59, 59).data;
                return [at.place, at.group.k, at.neuron, Array.from(image).filter((_, i) => i % 4 === 3)];"""
        )
        order = sorted(range(59), key=lambda number: k * number % 59) if box else list(range(59))
        active = (adder[0][order, None, neuron] + adder[0][order, neuron]).relu()
        expected = 255 * active.T.flip(0) / active.max()  # y goes up
        assert adder[2][neuron] == k and (torch.tensor(alpha).view(59, 59) - expected).abs().max() <= 1
        browser.execute_script(f"{WALL}.most.fill(0); {WALL}.querySelector('.check input').click()")


def test_a_tile_is_chosen_by_a_click_and_the_pair_dragged_on_it(browser, moving, adder):
    alive(browser, moving, "neuron-wall")
    painted(browser)
    third = browser.find_elements(By.CSS_SELECTOR, "neuron-wall .group canvas")[2]
    tile = browser.execute_script(f"return {WALL}.tile")
    half = [third.size["width"] / 2, third.size["height"] / 2]
    ActionChains(browser).move_to_element_with_offset(
        third, round(4.5 * tile - half[0]), round(tile / 2 - half[1])
    ).click().perform()
    says = "return document.querySelector('neuron-wall .tile output').textContent"
    assert browser.execute_script(says) == "5 of group 3"
    large = browser.find_element(By.CSS_SELECTOR, "neuron-wall .tile canvas")
    cell = large.size["width"] / 59

    def on(x, y):
        return [round((x + 0.5 - 29.5) * cell), round((29.5 - y - 0.5) * cell)]

    drag = ActionChains(browser, duration=20).move_to_element_with_offset(large, *on(5, 50)).click_and_hold()
    drag.move_to_element_with_offset(large, *on(20, 30)).release().perform()
    assert verdict(browser) == sentence(adder, 20, 30)
    browser.find_element(By.CSS_SELECTOR, "neuron-wall .check input").click()
    ActionChains(browser).move_to_element_with_offset(large, *on(6, 9)).click().perform()
    assert verdict(browser) == sentence(adder, 2, 3)  # at 6 and 9 on a clock that goes 3 times round
