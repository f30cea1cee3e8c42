"""A graph of sums: what fills, and where a wrong value goes, is what the networks say."""

import pytest
from moving import alive, looped_networks, one_graph, verdict
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from assign_add_lib.views.explorables.summing import OFF, filled, planted, sum_graph


def press(browser, words):
    browser.find_element(By.XPATH, f"//figure//button[text()='{words}']").send_keys(Keys.ENTER)


def shown(browser):
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, "sum-graph .sum-node b")]


def tap(browser, *names):
    for name in names:
        browser.find_element(By.XPATH, f"//button[small='{name}']").click()


@pytest.mark.parametrize("arm", ["discrete", "corrected"])
def test_what_is_handed_over_is_what_the_rule_or_the_keeper_would_say(arm):
    graph, network = one_graph(), looped_networks()[arm]
    states = graph.states(int(graph.depth[0]) + 1)[:, 0].tolist()
    assert [[11 if value is None else value for value in held] for held in filled(network, arm, graph)] == states
    start = graph.solution.clone()
    start[0, 2] = (start[0, 2] + OFF) % 11
    rounds = planted(network, arm, graph, 2)
    assert rounds == (graph.states(5, start)[:, 0].tolist() if arm == "corrected" else [start[0].tolist()] * 6)


def test_a_graph_fills_round_by_round_and_counts_what_was_named(browser, moving):
    alive(browser, moving, "sum-graph")
    rounds = filled(looped_networks()["discrete"], "discrete", one_graph())
    tap(browser, "x5", "x27", "x2", "x2", "x45")
    press(browser, "Next round")
    assert verdict(browser) == "Round 1 fills x5, x45, x39 and x2. You named 2 of 4, and 1 that is not among them."
    for held in rounds[1:-1]:
        assert shown(browser) == ["" if value is None else str(value) for value in held]
        press(browser, "Next round")
    assert verdict(browser) == "Round 5 changes nothing." and not browser.find_elements(By.CSS_SELECTOR, "sum-graph .off")
    press(browser, "Start again")
    assert set(shown(browser)) == {""}


def test_a_wrong_value_goes_where_the_network_lets_it(browser, moving):
    output = sum_graph(one_graph(), looped_networks(), wrong=True).data
    assert '"wrong":true' in output
    alive(browser, moving, "sum-graph")
    browser.execute_script(
        """const each = document.querySelector("sum-graph"), data = each.querySelector("script");
           data.textContent = data.textContent.replace('"wrong":false', '"wrong":true');
           each.build();"""
    )
    tap(browser, "x39")
    assert verdict(browser) == "x39 holds 10, and should hold 7. Which nodes will be wrong after one round?"
    press(browser, "Next round")
    assert verdict(browser) == "After round 1 wrong: x39."
    press(browser, "corrected")
    tap(browser, "x27")
    for words in ("x27 and x40. You named 1 of 2.", "x22 and x6.", "x6."):
        press(browser, "Next round")
        assert verdict(browser).endswith(f"wrong: {words}")
    press(browser, "Next round")
    assert verdict(browser) == "After round 4 all are right."
