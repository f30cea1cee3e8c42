"""Break it: what the page says of a problem is what the package says, finds are kept, and the search finds what is wrong."""

import json
import re

import pandas as pd
import pytest
import torch
from moving import alive, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from assign_add_lib import Problem, load_run
from assign_add_lib.engine.manifest import shipped_file
from assign_add_lib.model import run
from assign_add_lib.proof.attack import margins

RUNS = ("seed-42", "seed-6", "seed-8")
ASKED = "c=1, b=17, a=42, b+19=?"
WRONG = "g=53, i=53, a=9, b=17, l=9, d=9, b+19=?"  # for seed-42
PROBLEMS = (WRONG, "i=14, c=14, d=14, k=14, 21+22=?", "d=58, k=4, d+k=?", "b=3, b+b=?")


def judged(name, text):
    """What a run answers, what is right, its margin, and the attention of `=` on each number of a problem."""
    weights, problem = load_run(name).weights().to(torch.half).to(torch.float), Problem.parse(text)
    tokens = problem.tokens()[None]
    seen = run(weights, tokens, whole=True)
    margin = margins(seen.logits, torch.tensor([problem.answer])).item()
    return seen.answers.item(), problem.answer, margin, seen.attention(2)[0, -1][tokens[0] < weights.task.n_numbers].tolist()


def fresh(browser, moving, kept=None):
    """Open the page as one who comes for the first time, or as one who kept this."""
    alive(browser, moving, "break-it")
    browser.execute_script("localStorage.clear(); if (arguments[0]) localStorage.setItem('break-it', arguments[0])", kept)
    alive(browser, moving, "break-it")


def part(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, f"break-it {selector}")


def press(browser, words):
    browser.find_element(By.XPATH, f"//break-it//button[text()='{words}']").send_keys(Keys.ENTER)


def ask(browser, text, name=None):
    """Type a problem, and be done with it."""
    if name:
        Select(part(browser, "select")).select_by_value(name)
        WebDriverWait(browser, 20).until(
            lambda _: browser.execute_script("return document.querySelector('break-it').run") == name
        )
    part(browser, "input").send_keys(Keys.CONTROL, "a")
    part(browser, "input").send_keys(text, Keys.ENTER)


def margin(browser):
    return float(part(browser, ".value").text.replace("−", "-"))


def finds(browser):
    """The finds as they stand there: the problem, and what is said of it."""
    items = browser.find_elements(By.CSS_SELECTOR, "break-it .finds li")
    return [(each.find_element(By.TAG_NAME, "button").text, each.find_element(By.TAG_NAME, "span").text) for each in items]


@pytest.mark.parametrize("name", RUNS)
def test_answers_margins_and_attention_are_the_networks(name, browser, moving):
    fresh(browser, moving)
    for text in (ASKED, *PROBLEMS):
        ask(browser, text, name)
        said, right, least, attention = judged(name, text)
        words = f"{said}, and is right" if said == right else f"{said}, but {right} is right"
        assert verdict(browser).startswith(f"The network says {words}: the margin is ")
        assert margin(browser) == pytest.approx(least, abs=0.0501) and (least < 0) == (said != right)
        *shown, rest = browser.find_elements(By.CSS_SELECTOR, "break-it .attended li")
        shares = [int(each.find_element(By.TAG_NAME, "span").text[:-1]) for each in (*shown, rest)]
        assert shares == pytest.approx([100 * each for each in (*attention, 1 - sum(attention))], abs=0.51)
        problem, written = Problem.parse(text), [each.find_element(By.TAG_NAME, "b").text for each in shown]
        typed = [str(each) for each in (problem.left, problem.right) if isinstance(each, int)]
        assert written == [f"{letter}={number}" for letter, number in problem.assignments] + typed
        added = sum(
            share for share, token in zip(attention, written) if token in typed or token[0] in (problem.left, problem.right)
        )
        assert int(re.search(r"(\d+)% goes to the numbers", part(browser, ".attended + .caption").text)[1]) == pytest.approx(
            100 * added, abs=0.51
        )


def test_a_find_is_kept_comes_back_and_is_cleared(browser, moving):
    fresh(browser, moving)
    assert not part(browser, ".finds").is_displayed() and not part(browser, ".score").text
    ask(browser, PROBLEMS[1])
    assert part(browser, ".score").text == "1 try, 0 finds, least margin 25.8" and not finds(browser)
    ask(browser, WRONG)
    ask(browser, WRONG)  # once more counts once
    said, right, least, _ = judged("seed-42", WRONG)
    least = f"{least:.1f}".replace("-", "−")
    found = [(WRONG, f"seed 42 said {said}, right is {right}, margin {least}")]
    assert finds(browser) == found and part(browser, ".score").text == f"2 tries, 1 find, least margin {least}"
    alive(browser, moving, "break-it")
    assert finds(browser) == found and part(browser, ".score").text == f"2 tries, 1 find, least margin {least}"
    assert part(browser, "input").get_property("value") == ASKED
    ask(browser, ASKED, "seed-6")
    part(browser, ".finds li button").send_keys(Keys.ENTER)
    WebDriverWait(browser, 20).until(lambda _: f"says {said}, but" in verdict(browser))
    assert part(browser, "input").get_property("value") == WRONG
    assert Select(part(browser, "select")).first_selected_option.text == "seed 42"
    press(browser, "Clear")
    assert not finds(browser) and not part(browser, ".score").text and not part(browser, ".finds").is_displayed()
    alive(browser, moving, "break-it")
    assert not finds(browser)


def test_at_most_twenty_are_kept_the_worst_first_and_what_is_spoilt_is_left(browser, moving):
    old = [{"run": "seed-42", "problem": f"a={n}, 1+2=?", "said": 4, "right": 3, "margin": -0.1 * (n + 1)} for n in range(20)][
        ::-1
    ]
    fresh(browser, moving, json.dumps({"tries": 30, "found": 20, "worst": -2, "finds": old}))
    assert len(finds(browser)) == 20
    ask(browser, WRONG)
    there = finds(browser)
    assert len(there) == 20 and there[0][0] == WRONG and "a=0, 1+2=?" not in dict(there)
    assert part(browser, ".score").text.startswith("31 tries, 21 finds, least margin −12.1")
    for spoilt in ("no JSON", '{"tries": 3}', json.dumps({"tries": 1, "found": 1, "worst": None, "finds": [{"problem": "x"}]})):
        fresh(browser, moving, spoilt)
        assert verdict(browser) and not finds(browser) and not part(browser, ".score").text


def test_what_is_no_problem_gets_one_line_and_is_no_try(browser, moving):
    fresh(browser, moving)
    for text, said in (
        ("b=1, c+b=?", "the left operand c is never assigned; assigned variables: b"),
        ("b=1, b=2, b+1=?", "the variable b is assigned twice; each variable takes one number"),
        ("b=99, b+1=?", "assignment 1: the number 99 is out of range; numbers go from 0 to 58"),
        ("21+22=?", "put at least one assignment beside the sum, as training always does"),
    ):
        ask(browser, text)
        assert part(browser, ".error").text == said and not part(browser, ".score").text
        assert "stale" in part(browser, ".verdict").get_attribute("class")
    ask(browser, WRONG)
    assert not part(browser, ".error").text and part(browser, ".score").text.startswith("1 try, 1 find")


def test_a_random_context_keeps_the_question_and_ten_bring_the_search(browser, moving):
    fresh(browser, moving)
    found, tried = False, set()  # a random context may be wrong, too, and a find brings the search at once; or be one again
    while len(tried) < 10:
        assert part(browser, ".controls button + button").is_displayed() == found, tried
        press(browser, "Random context")
        problem = Problem.parse(part(browser, "input").get_property("value"))
        assert (problem.left, problem.right, problem.values) == ("b", 19, (17, 19))
        assert margin(browser) == pytest.approx(judged("seed-42", str(problem))[2], abs=0.0501)
        found |= verdict(browser).find("but") > 0
        tried.add(str(problem))
    assert part(browser, ".controls button + button").is_displayed()


@pytest.mark.parametrize("name, question", [("seed-8", "k=41, d=50, k+d=?"), ("seed-8", "a=40, d=8, a+d=?")])
def test_the_search_breaks_what_can_be_broken(name, question, browser, moving):
    asked = Problem.parse(question)
    table = pd.read_csv(shipped_file("proof/found.csv.bz2")).query("run == @name and kind == '2-var' and margin < 0")
    broken = [Problem.from_tokens(torch.tensor([*map(int, each.split())])) for each in table["tokens"]]
    assert (asked.left, asked.right, asked.values) in [(each.left, each.right, each.values) for each in broken]
    fresh(browser, moving)
    ask(browser, WRONG)
    ask(browser, question, name)
    assert margin(browser) > 5
    score = part(browser, ".score").text
    press(browser, "Let the search try")
    WebDriverWait(browser, 200).until(lambda _: part(browser, ".search-note").text)
    found = Problem.parse(part(browser, "input").get_property("value"))
    assert (found.left, found.right, found.values) == (asked.left, asked.right, asked.values)
    said, right, least, _ = judged(name, str(found))
    assert said != right and least < 0 and margin(browser) == pytest.approx(least, abs=0.0501)
    assert verdict(browser).startswith(f"The network says {said}, but {right} is right")
    words = dict(finds(browser))[str(found)]
    assert words.startswith(f"{name.replace('-', ' ')} said {said}, right is {right}") and words.endswith(", by the search")
    assert part(browser, ".score").text == score  # which counts the reader's


def test_a_search_is_stopped_or_left_by_another_question(browser, moving):
    fresh(browser, moving)
    ask(browser, WRONG)
    ask(browser, "a=4, 21+22=?")
    press(browser, "Let the search try")
    press(browser, "Stop the search")
    assert part(browser, ".search-note").text.endswith("It found none that is wrong, which does not show that there is none.")
    press(browser, "Let the search try")
    ask(browser, ASKED)
    assert not part(browser, ".search-note").text and part(browser, "input").get_property("value") == ASKED
    browser.find_element(By.XPATH, "//break-it//button[text()='Let the search try']")
