"""One head, which problems are new, and where worlds fell: what they say is what the package says."""

import re

import pandas as pd
import pytest
import torch
from moving import alive, set_to, verdict
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from assign_add_lib import Problem, load_run
from assign_add_lib.companions.hypernetwork import tables
from assign_add_lib.companions.hypernetwork.data import PAIRS, SUPPORTS
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.model import run
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.views.explorables.building import NEW, new_ways
from assign_add_lib.views.explorables.composing import KINDS, TRAININGS
from assign_add_lib.views.explorables.predicting import PLAYED, shares_by_world


def texts(browser, what):
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, f".explorable {what}")]


def press(browser, words):
    browser.find_element(By.XPATH, f"//figure//button[text()='{words}']").send_keys(Keys.ENTER)


def test_a_head_weighs_and_averages(browser, moving):
    alive(browser, moving, "one-head")
    values = torch.tensor([1.0, 17, 42], dtype=torch.double)

    def shows(*scores):
        weights = torch.tensor(scores, dtype=torch.double).softmax(0)
        shown = [int(each[:-1]) for each in texts(browser, ".share")]
        assert shown == pytest.approx((100 * weights).tolist(), abs=0.51)
        assert verdict(browser).startswith(f"The head brings back {float(weights @ values):.1f}, ")

    shows(0, 2, 1)
    press(browser, "Add 1 to all")  # which changes nothing
    shows(0, 2, 1)
    press(browser, "Double all")
    shows(2, 6, 4)
    press(browser, "Double all")  # 6 would pass the sliders' end
    shows(2, 6, 4)
    press(browser, "Start again")
    browser.find_elements(By.CSS_SELECTOR, "one-head input")[2].send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert verdict(browser).endswith("a mixture, as much of 17 as of 42.")
    press(browser, "Start again")
    browser.find_elements(By.CSS_SELECTOR, "one-head input")[2].send_keys(Keys.ARROW_RIGHT)
    shows(0, 2, 1.5)
    browser.find_elements(By.CSS_SELECTOR, "one-head input")[1].send_keys(Keys.END)
    assert verdict(browser) == "The head brings back 17.0, as good as a copy of 17."


def test_what_is_new_is_what_training_cannot_have_drawn(browser, moving):
    study = load_run("seed-42")
    w, generator = study.weights().to(torch.float), torch.Generator().manual_seed(0)
    alive(browser, moving, "is-it-new")
    drawn = training_population(study.split).sample(8, generator).tokens
    asked = [str(Problem.from_tokens(tokens, study.task)) for tokens in drawn]
    assert all(not new_ways(Problem.parse(text), study.split) for text in asked)
    for name in NEW[1:]:
        for tokens in evaluation_sets(study.split, size=4)[name].tokens:
            asked.append(str(Problem.from_tokens(tokens, study.task)))
            assert new_ways(Problem.parse(asked[-1]), study.split)
    field = browser.find_element(By.CSS_SELECTOR, "is-it-new .problem input")
    for text in (*asked, "c=3, c+c=?"):
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        problem = Problem.parse(text)
        ways, said = new_ways(problem, study.split), int(run(w, problem.tokens()[None]).answers)
        assert len(texts(browser, ".checks .is-new")) == len(ways) and ("could have" in verdict(browser)) == (not ways)
        assert re.search(r"The network says (\d+): (right|wrong)", verdict(browser)).groups() == (
            str(said), "right" if said == problem.answer else "wrong")  # fmt: skip
    assert "never asks for c twice" in " ".join(texts(browser, ".checks"))


def test_a_pair_is_asked_by_a_click_and_one_example_is_wrong(browser, moving):
    alive(browser, moving, "is-it-new")
    field, board = (browser.find_element(By.CSS_SELECTOR, f"is-it-new {part}") for part in (".problem input", ".pairs svg"))
    cell = board.size["width"] / 64
    for text, asked in (("b=3, 5+b=?", "b=50, 12+b=?"), ("c=3, c+c=?", "c=3, 12+50=?"), ("a=1, b=2, b+a=?", "a=50, b=12, b+a=?")):
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        place = [round((x - 32) * cell) for x in (4 + 12.5, 1 + 58 - 50 + 0.5)]
        ActionChains(browser).move_to_element_with_offset(board, *place).click().perform()
        assert field.get_property("value") == asked
    wrong = 0
    for example in browser.find_elements(By.CSS_SELECTOR, "is-it-new .examples button"):
        example.click()
        assert field.get_property("value") == example.text
        wrong += ": wrong, " in verdict(browser)
    assert wrong == 1


def test_worlds_fall_where_the_shipped_table_has_them(browser, moving):
    worlds, table = shares_by_world(), pd.read_csv(shipped_file("laboratory.csv"), index_col=["world", "prediction"])
    assert [each["seeds"] for each in worlds] == table.loc[list(PLAYED), ["seed-0", "seed-1", "seed-2"]].to_numpy().tolist()
    assert sum("about 41%" in each["given"] for each in worlds) == 2
    assert sum(1 / n for n in range(1, 7)) / 6 == pytest.approx(0.41, abs=0.005)  # a blind pick among one to six
    alive(browser, moving, "worlds-fell")
    for world in worlds:
        assert texts(browser, ".question")[0].startswith(f"{world['world']}. ") and not verdict(browser)
        set_to(browser, you=90)
        assert not browser.find_elements(By.CSS_SELECTOR, "worlds-fell .fallen circle")  # a guess comes first
        press(browser, "Reveal")
        shown = [float(each) for each in re.findall(r"([\d.]+) %", verdict(browser))]
        assert shown == pytest.approx([100 * each for each in world["seeds"]], abs=0.51)
        assert [each >= 100 * world["level"] for each in shown] == [each >= world["level"] for each in world["seeds"]]
        off = abs(90 - 100 * sorted(world["seeds"])[1])
        assert ("Well foreseen" in verdict(browser)) == (off <= 5)
        assert texts(browser, ".meant p") == [
            f"We had written: {world['statement']}".replace("`", ""),
            f"Our reason: {world['reason']} The rival: {world['rival']}".replace("`", ""),
            f"Verdict: {world['verdict']}. {world['why']}".replace("`", ""),
        ]
        if world is not worlds[-1]:
            press(browser, "Next question")
    offs = [abs(90 - 100 * sorted(each["seeds"])[1]) for each in worlds]
    held = sum(each["verdict"].startswith("held") for each in worlds)
    assert texts(browser, ".controls span")[-1] == (
        f"That was the last question. You came within 5 points in {sum(off <= 5 for off in offs)} of {len(worlds)}, and were "
        f"{sum(offs) / len(offs):.0f} points off on average. Of our own {len(worlds)} predictions {held} held."
    )
    press(browser, "Start again")
    assert texts(browser, ".question")[0].startswith(worlds[0]["world"]) and not verdict(browser)
    seen = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "worlds-fell button") if each.is_displayed()]
    assert seen == ["Reveal"]  # and no empty space for what is not yet said


def test_pairs_of_modules_score_what_the_shipped_table_has(browser, moving):
    alive(browser, moving, "module-pairs")
    table = tables.load_tables()["pairs"].mean(axis=1)
    for support, training in TRAININGS.items():
        press(browser, training)
        cells = browser.find_elements(By.CSS_SELECTOR, "module-pairs .pair-cells button")
        known = [each for each, cell in zip(PAIRS, cells, strict=True) if cell.get_attribute("class") == "mixed"]
        assert known == [each for each in PAIRS if each in SUPPORTS[support]]
        for place, pair in list(enumerate(PAIRS))[::5]:
            cells[place].send_keys(Keys.ENTER)
            words = "in training" if pair in known else "never mixed"
            assert verdict(browser).startswith(f"{pair[0]} with {pair[1]}: {words}. ")
            shown = dict(re.findall(r"(\w+) (\d+)%", verdict(browser)))
            assert list(shown) == [KINDS[arm] for arm in tables.ARMS_OF[support]]
            for arm, share in zip(tables.ARMS_OF[support], shown.values()):
                assert int(share) == pytest.approx(100 * table[support, arm, f"{pair[0]} {pair[1]}"], abs=1.1)
        marks = browser.find_elements(By.CSS_SELECTOR, "module-pairs .pair-scores :is(circle, rect, .of-mlp)")
        assert len(marks) == 3 * len(tables.ARMS_OF[support])
