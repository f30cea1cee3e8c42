"""How many clocks: what the board counts and a cell says is what the network's adder says with these frequencies alone."""

import pytest
import torch
from moving import alive, verdict
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import load_run
from assign_add_lib.analysis.fourier import keep, key_frequencies, number_table, pair_logits

SUMS = (torch.arange(59)[:, None] + torch.arange(59)) % 59


@pytest.fixture(scope="module")
def answers():
    """What the adder says of each pair, (N, N), where these frequencies alone, or all, stand in what its neurons get."""
    w = load_run("seed-42").weights().to(torch.half).to(torch.double)
    table, ks = number_table(w) @ w.W_in, key_frequencies(number_table(w))
    assert ks == [1, 2, 3, 11, 15, 18, 21, 22, 28]

    def answers(on):
        part = table if on == "all" else keep(table, [0, *on])
        return pair_logits(part, part, w.W_out @ w.W_U).argmax(2)

    return answers


def press(browser, *names):
    """Press these switches, one straight after the other, and wait for what came out of the last."""
    browser.execute_script(
        """const buttons = [...document.querySelectorAll("clock-board button")];
           document.querySelector("clock-board .verdict").textContent = "";
           for (const name of arguments) buttons.find((each) => each.textContent === name).click();""",
        *map(str, names),
    )
    return WebDriverWait(browser, 20).until(lambda _: verdict(browser))


def test_the_board_counts_what_the_adder_gets_right(browser, moving, answers):
    alive(browser, moving, "clock-board")
    for on, many in (((), 59), ((15,), 474), ((1, 11), 1490), ((1, 11, 21), 2443), ((3, 11, 21, 22, 28), 3373)):
        assert int((answers(on) == SUMS).sum()) == many
        assert press(browser, "none", *on).endswith(f": {many} of 3481 sums right.")  # each press in the middle of the last
    drawn = browser.execute_script("return Array.from(document.querySelector('clock-board').said)")
    assert drawn == answers((3, 11, 21, 22, 28)).flatten().tolist()
    share = browser.find_element(By.CSS_SELECTOR, "clock-board .share")
    assert share.text == "96.9 %" and len(browser.find_elements(By.CSS_SELECTOR, "clock-board circle")) == 6


def test_the_key_frequencies_alone_beat_the_whole(browser, moving, answers):
    alive(browser, moving, "clock-board")
    parts, whole = (int((answers(on) == SUMS).sum()) for on in ([1, 2, 3, 11, 15, 18, 21, 22, 28], "all"))
    assert press(browser, "all 9") == f"With clocks 1, 2, 3, 11, 15, 18, 21, 22 and 28: {parts} of 3481 sums right."
    assert press(browser, "the other 20").endswith(f" and the other 20: {whole} of 3481 sums right.")
    assert press(browser, 2, "the other 20") and whole < parts
    assert press(browser, "all 9", 21, 2).endswith(": 3480 of 3481 sums right.")  # seven do as well as any


def test_a_cell_is_read_by_keys_and_by_a_pointer(browser, moving, answers):
    alive(browser, moving, "clock-board")
    press(browser, "none", 1, 11)
    canvas, reading = (browser.find_element(By.CSS_SELECTOR, f"clock-board {part}") for part in ("canvas", ".board .caption"))

    def says(x, y):
        answer = int(answers((1, 11))[x, y])
        return f"{x} + {y}: says {answer}, " + ("right" if answer == (x + y) % 59 else f"not {(x + y) % 59}")

    assert reading.text == says(17, 19)
    canvas.send_keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_LEFT)
    assert reading.text == says(16, 21)
    side, edge = canvas.size["width"], canvas.size["width"] * 36 / (59 * 12 + 36)
    cell = (side - edge) / 59
    place = [round(edge + 40.5 * cell - side / 2), round((59 - 7.5) * cell - side / 2)]
    ActionChains(browser).move_to_element_with_offset(canvas, *place).perform()
    assert reading.text == says(40, 7)


def test_the_board_is_drawn_anew_when_the_page_turns_dark(browser, moving):
    alive(browser, moving, "clock-board")
    press(browser, "all 9")
    pixel = """const [done] = arguments, board = document.querySelector("clock-board"), pen = board.canvas.getContext("2d");
               requestAnimationFrame(() => done(Array.from(pen.getImageData(36 + 6, 6, 1, 1).data)));"""
    assert browser.execute_async_script(pixel) == [0xC4, 0x4E, 0, 255]
    browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    assert browser.execute_async_script(pixel) == [0xF0, 0x88, 0x3E, 255]
