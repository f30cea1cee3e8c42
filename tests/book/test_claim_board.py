"""The board of claims: what it says of a claim at a level is what the package says, also where the level is moved."""

from dataclasses import replace

import pandas as pd
from moving import alive, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from assign_add_lib.claims import study
from assign_add_lib.engine.scoreboard import judged, load_board
from assign_add_lib.views.explorables.judging import GROUPS, rows

CLAIMS = {claim.name: claim for claim in study.claims_of("runs", study.CHECKPOINTS)}


def values(claim):
    asked = study.SEEDS if claim.of == "runs" else ("seed-0", "seed-42")
    return load_board().loc[claim.name, list(asked)].astype(float)


def said(claim, level):
    held, of, words = judged(replace(claim, level=level), values(claim))
    return f": in {held} of {of}, {words}."


def test_rows_stand_under_their_verdicts_and_say_them(browser, moving):
    alive(browser, moving, "claim-board")
    groups = browser.find_elements(By.CSS_SELECTOR, "claim-board .group")
    board, shown = load_board()["verdict"], []
    for group, (study_s, name) in zip(groups, ((whose, name) for whose in (True, False) for name in GROUPS), strict=True):
        buttons = group.find_elements(By.TAG_NAME, "button")
        summary = group.find_element(By.TAG_NAME, "summary")
        assert summary.text == f"{name}: {len(buttons)}"
        assert (group.get_attribute("open") is None) == (name in ("held in all", "count only"))
        if group.get_attribute("open") is None:
            summary.send_keys(Keys.ENTER)
        for button in buttons:
            claim, words = button.get_attribute("aria-label").split(": ")
            assert button.text == claim
            assert words == board[claim] in GROUPS[name] and CLAIMS[claim].origin.startswith("chapter") != study_s
            shown.append(claim)
    assert sorted(shown) == sorted(CLAIMS)
    for name in ("adder alone", "routing plateaus", "operands read before", "interchange, asked", "F5a, margin"):
        claim = CLAIMS[name]
        browser.find_element(By.CSS_SELECTOR, f"claim-board button[title='{claim.name}']").send_keys(Keys.ENTER)
        assert verdict(browser).endswith(said(claim, claim.level))


def test_on_a_phone_too_each_row_has_its_name_and_what_held_is_folded(browser, moving):
    alive(browser, moving, "claim-board", width=360)
    for group in browser.find_elements(By.CSS_SELECTOR, "claim-board .group"):
        folded = group.find_element(By.TAG_NAME, "summary").text.split(": ")[0] in ("held in all", "count only")
        assert (group.get_attribute("open") is None) == folded
        if folded:
            group.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
        buttons = group.find_elements(By.TAG_NAME, "button")
        assert [each.text for each in buttons] == [each.get_attribute("title") for each in buttons]


def test_a_level_that_is_moved_has_the_verdict_of_the_rule(browser, moving):
    alive(browser, moving, "claim-board")
    assert [each["name"] for each in rows()] == list(CLAIMS)
    move = """const board = document.querySelector("claim-board"), input = board.querySelector("input");
              input.value = arguments[0]; input.dispatchEvent(new Event("input"));
              return Number(board.querySelector("output").textContent);"""
    for summary in browser.find_elements(By.CSS_SELECTOR, "claim-board .group:not([open]) summary"):
        summary.send_keys(Keys.ENTER)
    for name in ("0-var solved first", "identity with the spike", "interchange, elsewhere", "two spikes", "few frequencies"):
        claim, button = CLAIMS[name], browser.find_element(By.CSS_SELECTOR, f"claim-board button[title='{name}']")
        button.send_keys(Keys.ENTER)
        home = browser.execute_script("return document.querySelector('claim-board').home")
        for at in (0, 60, 100, 140, 200, 240):
            level = browser.execute_script(move, at)
            assert name != "few frequencies" or level == round(level)  # nobody has 13.9 of them
            if abs(values(claim) - level).min() > 1e-9 or pd.isna(values(claim)).all():
                moved = " The level was moved after the look." * (at != home)
                assert verdict(browser).endswith(said(claim, level) + moved), (name, level)
        browser.find_element(By.XPATH, "//claim-board//button[text()='The level that was set']").send_keys(Keys.ENTER)
        assert verdict(browser).endswith(said(claim, claim.level))
