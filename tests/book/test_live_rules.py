"""Live rules from examples in a browser: the network, the solvers and what a reader does, each as the package has it."""

import html
import json
import re

import live_network
import pytest
import torch
from browsing import (
    ALTERED,
    SPOILT,
    STICKING_OUT,
    errors,
    faint,
    look,
    on_paper,
    opened,
    planted,
    requests,
    run_script,
    show,
    soup,
    violations,
)
from chromium import served
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from assign_add_lib.companions.rules.analysis import patterns_at_questions
from assign_add_lib.companions.rules.data import Rows, all_pairs
from assign_add_lib.companions.rules.model import Network
from assign_add_lib.companions.rules.seeds import MAIN, SEEDS
from assign_add_lib.companions.rules.solvers import ratio_matching, regression
from assign_add_lib.companions.rules.training import RuleConfig, RuleLearner, RuleRun
from assign_add_lib.engine.files import save_tensors
from assign_add_lib.views.explorer import saying
from assign_add_lib.views.playground import playground

RULE, INPUTS = (2, 5), [(1, 3), (3, 2), (4, 4), (2, 3), (0, 6), (1, 4), (6, 6), (5, 1), (2, 6)]
SMALL = {"d_model": 16, "heads": 2, "std": 0.6}
SIZES = [(7, 1, 12, 2), (7, 2, 16, 4), (7, 4, 96, 4), (5, 3, 24, 3)]  # p, depth, d_model, heads
MAIN_RUNS = [RuleConfig(seed=SEEDS[0], **settings).name for settings in MAIN.values()]
SHIPPED = [name for name in MAIN_RUNS if name in RuleRun.shipped()]


def rng(seed):
    return torch.Generator().manual_seed(seed)


def some_rows(p, n, shots, seed=0):
    """Rows with any inputs, half of them right throughout, and half with answers that may be wrong."""
    tasks = all_pairs(p)[torch.randint(p * p, (n,), generator=rng(seed))]
    rows = Rows.solve(p, tasks, all_pairs(p)[torch.randint(p * p, (n, shots), generator=rng(seed + 1))])
    by = torch.randint(p, (n, shots), generator=rng(seed + 2)) * (torch.rand(n, shots, generator=rng(seed + 3)) < 0.2)
    by[: n // 2] = 0
    return rows._replace(answers=(rows.answers + by) % p)


@pytest.fixture(scope="module")
def networks():
    """Untrained networks of several sizes, and those of the main runs that are shipped, by name, with how many heads each has."""
    torch.manual_seed(0)
    found = {str(size): (Network(*size, std=0.4).requires_grad_(False), size[-1]) for size in SIZES}
    with torch.no_grad():
        for network, _ in found.values():  # norms that do something
            for name, each in network.named_parameters():
                if "norm" in name:
                    each.add_(0.3 * torch.randn(each.shape))
    return found | {name: (RuleRun.open(name).network(), RuleRun.open(name).config.heads) for name in SHIPPED}


@pytest.fixture(scope="module")
def modules(browser, networks, tmp_path_factory):
    """A page from which the modules can be imported, with the networks beside it."""
    folder = tmp_path_factory.mktemp("modules")
    for name, (network, _) in networks.items():
        save_tensors(folder / f"{name}.safetensors", network.state_dict())
    with opened(browser, folder) as address:
        yield address


def run(browser, address, body, *given):
    """What an asynchronous piece of JavaScript returns, with the modules at hand; they are those of the page of `modules`."""
    if not browser.current_url.startswith(address):
        show(browser, f"{address}/page.html")
    return run_script(browser, ["gpt", "rows", "solvers"], body, *given)


@pytest.mark.parametrize("name", [*map(str, SIZES), *SHIPPED])
def test_logits_and_reading_are_those_of_the_package(modules, browser, networks, name):
    """After 0 to 15 examples: the logits of all questions, and whom the last question reads in each head."""
    network, heads = networks[name]
    p = network.embed.num_embeddings
    for shots in (16, 7, 1):
        rows = some_rows(p, 6, shots, seed=shots)
        found = run(browser, modules, """const w = gpt.readGpt(await file(given[0]), given[2]);
          return given[1].map((tokens) => {
            const { logits, patterns } = gpt.traceRow(w, tokens), n = tokens.length;
            return [[...logits], patterns.map((heads) => heads.map((pattern) => [...pattern.slice((n - 2) * n, (n - 1) * n)]))];
          });""", name, rows.tokens.tolist(), heads)  # fmt: skip
        logits, read = (torch.tensor([each[i] for each in found]) for i in (0, 1))
        ours = network(rows.tokens)
        assert ours.std() > 0.1
        assert (logits.view(6, 3 * shots, p)[:, 1::3] - ours).abs().max() < 1e-3
        expected = patterns_at_questions(network, rows)  # (layer, row, head, key)
        assert (read.permute(1, 0, 2, 3)[..., : 3 * shots - 1] - expected).abs().max() < 1e-4


def test_a_checkpoint_of_another_network_is_refused_in_one_line(modules, browser):
    """Files that are damaged are refused in the same place as those of the other live network."""
    answer = run(browser, modules, """
      const text = Array.from(new Uint8Array(await file(given[0])), (byte) => String.fromCharCode(byte)).join("");
      const other = Uint8Array.from(text.replaceAll("norm_mlp.bias", "norm_mlp.boss"), (letter) => letter.charCodeAt(0));
      try { gpt.readGpt(other.buffer, 4); } catch (error) { return error.message; }""", str(SIZES[1]))  # fmt: skip
    assert "norm_mlp.bias is missing" in answer and "\n" not in answer


@pytest.mark.parametrize("p", [5, 7])
def test_solvers_are_those_of_the_package(modules, browser, p):
    """On right and on wrong examples, after 0 to 8 of them; and what the examples leave open, by trying all rules."""
    rows = some_rows(p, 400, 9)
    given = [[dict(zip("xyz", (*xy, z))) for xy, z in zip(*row)] for row in zip(rows.inputs.tolist(), rows.answers.tolist())]
    found = run(browser, modules, """return given[0].map((row, i) => {
        const { x, y } = row[i % 9], examples = row.slice(0, i % 9).map((each, place) => ({ ...each, place })), p = given[1];
        return ["ratioMatching", "regression", "twoLatest"].map((of) => solvers[of](examples, { x, y }, p).votes)
          .concat([rows.rulesThatFit(examples, p), solvers.determined(examples, { x, y }, p).head.split(" ")[6]]);
      });""", given, p)  # fmt: skip
    rules, answers = all_pairs(p), set()
    for i, (*votes, latest, fitting, head) in enumerate(found):
        shot = i % 9
        for vote, solver in zip(votes, (ratio_matching, regression)):
            vote = torch.tensor(vote).double()
            expected = solver(Rows(p, rows.inputs[i : i + 1], rows.answers[i : i + 1]))[0, shot]
            assert torch.allclose(vote / vote.sum() if vote.sum() else torch.full_like(vote, 1 / p), expected), (i, solver)
        said = (rules[:, None] * rows.inputs[i, : shot + 1]).sum(2) % p  # (rule, question)
        fits = (said[:, :shot] == rows.answers[i, :shot]).all(1)
        assert fitting == rules[fits].tolist()
        fits_latest = (said[:, :shot] == rows.answers[i, :shot])[:, -2:].all(1)
        only = said[fits_latest, shot].unique()
        assert latest == [int(only.tolist() == [z]) for z in range(p)]
        answers.add(known := len(said[fits, shot].unique()) == 1)
        assert head.startswith("Yes") == known
    assert answers == {True, False}


def test_drawn_rows_are_of_the_rules_and_inputs_given(modules, browser):
    rules, inputs = [[1, 2], [3, 4]], [[0, 1], [2, 2], [6, 5]]
    draw = "return given[2].map((seed) => rows.drawRow(given[0], given[1], 8, seed));"
    drawn = run(browser, modules, draw, rules, inputs, list(range(200)))
    assert drawn == run(browser, modules, draw, rules, inputs, list(range(200)))
    assert [row["rule"] for row in drawn].count(rules[0]) == pytest.approx(100, abs=35)
    places = [inputs.index([each["x"], each["y"]]) for row in drawn for each in [row["question"], *row["inputs"]]]
    assert all(places.count(i) == pytest.approx(600, abs=85) for i in range(3))
    assert len({json.dumps(row) for row in drawn}) > 190


NAMED = """
const words = (control) => control.ariaLabel ?? (control.labels[0]?.firstChild ?? control).textContent;
return [...arguments[0].querySelectorAll("select, input, button")].find((control) => words(control) === arguments[1]);
"""


class Page:
    """A page with a row, as a reader uses it, once it answers: what stands there, and what is done by keys."""

    def __init__(self, browser, address, answers=True):
        show(browser, address)
        self.browser = browser
        self.root = browser.find_element(By.TAG_NAME, "rules-from-examples")
        if answers:
            self.come_near()

    def come_near(self):
        self.browser.execute_script("arguments[0].scrollIntoView()", self.root)
        self.until(lambda: self.all(".odds .most"))

    def all(self, selector):
        return self.root.find_elements(By.CSS_SELECTOR, selector)

    def said(self, of="verdict"):
        return self.root.find_element(By.CLASS_NAME, of).text

    def until(self, holds):
        WebDriverWait(self.browser, 60).until(lambda _: holds())

    def named(self, name):
        """The control of this name."""
        found = self.browser.execute_script(NAMED, self.root, name)
        assert found, f"no control is called {name}"
        return found

    def choose(self, name, words):
        Select(self.named(name)).select_by_visible_text(words)

    def card(self, place):
        return self.all(".example")[place - 1]

    def examples(self):
        """The numbers of the examples that are shown."""
        return self.browser.execute_script("""
            const shown = [...arguments[0].querySelectorAll(".example:not(.left-out):not([hidden])")];
            return shown.flatMap((card) => [...card.querySelectorAll("select")].map((each) => Number(each.value))
              .concat(Number(card.querySelector("strong").textContent)));""", self.root)  # fmt: skip


def verdict(network, examples, question, rule=RULE, wrong=0):
    """What the package says of a row, as a reader reads it."""
    with torch.no_grad():
        odds = network(torch.tensor([[*examples, *question, 0]]))[0, -1].softmax(0)
    many = len(examples) // 3
    after = f"{many or 'no'} example{'s' * (many != 1)}" + f", {wrong} of them wrong" * bool(wrong)
    said = saying(odds, (rule[0] * question[0] + rule[1] * question[1]) % 7)
    return html.unescape(re.sub("<.*?>", "", f"On {tuple(question)}, after {after}, {said}"))


@pytest.fixture(scope="module")
def learners():
    """Untrained networks of one and of two layers: what they say changes with all that is shown."""
    depths = {"two layers": 2, "one layer": 1}
    return {name: RuleLearner(RuleConfig(depth=depth, seed=depth, **SMALL)) for name, depth in depths.items()}


@pytest.fixture(scope="module")
def output(learners, tmp_path_factory):
    """The address of a page as a notebook has it: with the networks in it, and without the site."""
    folder = tmp_path_factory.mktemp("output")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ASSIGN_ADD_RENDER", raising=False)
        view = playground(RULE, INPUTS, learners, {"two layers": (1, 2)}).data
    head = '<html lang="en"><title>A row</title><meta charset="utf-8"><link rel="icon" href="data:,">'
    (folder / "output.html").write_text(f"<!doctype html>{head}<main><h1>A row</h1>{view}</main>", "utf-8")
    with served(folder) as address:
        yield f"{address}/output.html"


@pytest.fixture
def page(browser, output):
    """The same, opened anew."""
    return Page(browser, output)


def solved(inputs, rule=RULE):
    return [number for x, y in inputs for number in (x, y, (rule[0] * x + rule[1] * y) % 7)]


def test_an_output_of_a_notebook_answers_without_the_site(page, browser, output, learners):
    assert page.examples() == solved(INPUTS[:-1])
    assert page.said() == verdict(learners["two layers"].network, solved(INPUTS[:-1]), INPUTS[-1])
    before, after = (page.root.find_element(By.CSS_SELECTOR, each) for each in (":scope > .said", ".verdict"))
    assert before.get_attribute("innerHTML") == after.get_attribute("innerHTML")
    assert not errors(browser)
    assert {url for url in requests(browser) if not url.startswith("data:")} == {output}


def test_all_numbers_have_their_probability_and_who_says_them(page, learners):
    with torch.no_grad():
        odds = learners["two layers"].network(torch.tensor([[*solved(INPUTS), 0]])[:, :-1])[0, -1].softmax(0)
    rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in page.all(".odds tbody tr")]
    assert [row[0] for row in rows] == list("0123456")
    assert [float(row[1]) for row in rows] == pytest.approx(odds.tolist(), abs=0.00501)
    expected = [[] for _ in range(7)]
    expected[odds.argmax()].append("network")
    expected[6] += ["hidden rule", "ratio matching", "regression", "two latest"]
    assert [row[2] for row in rows] == [", ".join(each) for each in expected]
    assert page.said("says").splitlines() == [
        "Ratio matching: 6.",
        "Example 1: (2, 6) is 2 times (1, 3), so z is 2 × 3 = 6.",
        "Example 2: (2, 6) is 3 times (3, 2), so z is 3 × 2 = 6.",
        "Example 8: (2, 6) is 6 times (5, 1), so z is 6 × 1 = 6.",
        "Regression: 6.",
        "Examples 1 and 3 are the first on different lines. The rule that fits both is z = 2x + 5y, so z is 2 × 2 + 5 × 6 = 6.",
        "By the two latest: 6.",
        "Examples 7 and 8 fit one rule alone, z = 2x + 5y.",
        "Do the examples determine the answer? Yes.",
        "1 of the 49 rules fits all that is shown, and it gives 6.",
    ]


def test_examples_are_hidden_and_shown_by_keys(page, learners):
    network, inputs = learners["two layers"].network, INPUTS[:-1]
    for place in (1, 2, 8, 3, 4, 5, 6):
        page.named(f"show example {place}").send_keys(Keys.SPACE)
        inputs = [each for each in inputs if each != INPUTS[place - 1]]
        assert page.said() == verdict(network, solved(inputs), INPUTS[-1])
        assert "left out" in page.card(place).text
    assert page.said("says").splitlines() == [
        "Ratio matching: a guess.",
        "(2, 6) is a multiple of no example shown.",
        "Regression: a guess.",
        "All that is shown lies on one line, and the question on another.",
        "By the two latest: a guess.",
        "Example 7 fits 7 rules, and they give different answers.",
        "Do the examples determine the answer? No.",
        "7 of the 49 rules fit all that is shown, and they give different answers.",
    ]
    page.named("show example 7").send_keys(Keys.SPACE)
    assert page.said() == verdict(network, [], INPUTS[-1])
    page.named("show example 2").send_keys(Keys.SPACE)
    assert page.said() == verdict(network, solved(INPUTS[1:2]), INPUTS[-1])
    assert "so does the question: (2, 6) is 3 times (3, 2), so z is 3 × 2 = 6." in page.said("says")


def test_an_example_is_made_wrong_by_keys_and_marked_by_a_sign(page, learners):
    network, examples = learners["two layers"].network, solved(INPUTS[:-1])
    for step in range(1, 8):  # up through all numbers, and back to the right one
        page.named(f"z of example 2, {(1 + step) % 7}{', wrong' * (step > 1)}: one up").send_keys(Keys.ENTER)
        examples[5] = (2 + step) % 7
        assert page.examples() == examples
        assert page.said() == verdict(network, examples, INPUTS[-1], wrong=int(step < 7))
        assert ("✗ right is 2" in page.card(2).text) == (step < 7)
    page.named("z of example 3, 0: one down").send_keys(Keys.SPACE)
    assert page.examples()[8] == 6 and "✗ right is 0" in page.card(3).text
    said = page.said("says")
    assert "Regression: " in said and "do not fit it." in said and "No: they contradict each other." in said
    page.named("show example 3").send_keys(Keys.SPACE)
    assert "wrong" not in page.said() and "Yes." in page.said("says")


def test_the_two_latest_are_asked_by_themselves(page):
    """Right, one of them wrong, wrong on one line, and right on one line; by what stands below the row."""

    def says():
        lines = page.said("says").splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("By the two latest"))
        return lines[start : start + 2]

    assert says() == ["By the two latest: 6.", "Examples 7 and 8 fit one rule alone, z = 2x + 5y."]
    page.named("z of example 8, 1: one up").send_keys(Keys.ENTER)
    assert says() == ["By the two latest: 5.", "Examples 7 and 8 fit one rule alone, z = 4x + 3y."]
    assert "two latest" in page.all(".odds tbody tr")[5].text
    page.named("x of example 8").send_keys("1")
    assert says() == ["By the two latest: a guess.", "No rule fits examples 7 and 8."]
    page.named("Undo all changes").send_keys(Keys.ENTER)
    page.named("x of example 8").send_keys("1")
    assert says() == ["By the two latest: a guess.", "Examples 7 and 8 fit 7 rules, and they give different answers."]
    page.named("x of the question").send_keys("6")
    assert says() == ["By the two latest: 0.", "Examples 7 and 8 fit 7 rules, and all give 0."]


def test_numbers_of_question_and_examples_are_chosen_by_keys(page, learners):
    network = learners["two layers"].network
    page.named("x of the question").send_keys("3")
    page.named("y of the question").send_keys(Keys.ARROW_UP)
    assert page.said() == verdict(network, solved(INPUTS[:-1]), (3, 5))
    shown = RuleConfig(seed=2, depth=2).draw_split().shown[26]
    assert page.said("rule").endswith(f"It {'' if shown else 'never '}showed the input (3, 5).")
    page.named("x of example 1").send_keys("4")
    assert page.said() == verdict(network, solved([(4, 3), *INPUTS[1:-1]]), (3, 5))  # z is that of the rule
    page.named("Undo all changes").send_keys(Keys.ENTER)
    assert page.said() == verdict(network, solved(INPUTS[:-1]), INPUTS[-1])


def test_rows_are_drawn_with_a_seed_of_unseen_and_of_seen_rules(page, learners):
    split, network = learners["two layers"].split, learners["two layers"].network

    def rule():
        return [int(each) for each in re.match(r"Hidden rule: z = (\d)x \+ (\d)y, modulo 7", page.said("rule")).groups()]

    def question():
        return [int(Select(page.named(f"{axis} of the question")).first_selected_option.text) for axis in "xy"]

    drawn = []
    for seed in range(3):
        page.named("Draw another row").send_keys(Keys.ENTER)
        assert page.named("Number of the draw").get_attribute("value") == str(seed)
        assert rule() in split.unseen.tolist() and "Training never showed this rule. It showed" in page.said("rule")
        examples = page.examples()
        assert len(examples) == 24 and examples == solved(zip(examples[::3], examples[1::3]), rule())
        assert page.said() == verdict(network, examples, question(), rule())
        drawn.append((rule(), examples, question()))
    assert drawn[0] != drawn[1]
    page.named("Number of the draw").send_keys(Keys.CONTROL, "a")
    page.named("Number of the draw").send_keys("1", Keys.ENTER)
    assert (rule(), page.examples(), question()) == drawn[1]
    page.choose("Row", "of a rule that training showed")
    assert rule() in split.seen.tolist() and "Training showed this rule." in page.said("rule")
    page.choose("Row", "of this page")
    assert page.said() == verdict(network, solved(INPUTS[:-1]), INPUTS[-1])


def test_the_number_of_examples_keeps_what_was_changed(page, learners):
    page.named("z of example 1, 3: one up").send_keys(Keys.ENTER)
    page.named("Examples").send_keys("3")
    examples = solved(INPUTS[:3])
    examples[2] = 4
    assert page.examples() == examples
    assert page.said() == verdict(learners["two layers"].network, examples, INPUTS[-1], wrong=1)
    page.named("Examples").send_keys(Keys.END)
    assert page.examples() == examples + solved(INPUTS[3:8])


def test_another_network_answers_with_its_own_heads(page, learners):
    page.named("Network").send_keys("one")
    page.until(lambda: page.said() == verdict(learners["one layer"].network, solved(INPUTS[:-1]), INPUTS[-1]))
    assert [each.text for each in Select(page.named("layer")).options] == ["1"]


def test_the_reading_of_a_head_stands_below_each_example(page, learners):
    network = learners["two layers"].network
    rows = Rows(7, torch.tensor([INPUTS]), torch.tensor([solved(INPUTS)[2::3]]))
    for layer, head in ((1, 2), (2, 1)):  # the first is what the page opens with
        page.choose("layer", str(layer))
        page.choose("head", str(head))
        weights = patterns_at_questions(network, rows)[layer - 1, 0, head - 1].detach()
        found = [re.search(r"read (\d+) %\nx (\d+) · y (\d+) · z (\d+)", card.text).groups() for card in page.all(".example")]
        for numbers, each in zip(found, weights[:24].view(8, 3)):
            percents = [100 * each.sum().item(), *(100 * each).tolist()]
            assert list(map(int, numbers)) == pytest.approx(percents, abs=0.501)
        own = re.search(r"of itself (\d+) %", page.root.text)[1]
        assert int(own) == pytest.approx(100 * weights[24:].sum().item(), abs=0.501)


def test_all_is_reached_by_the_tab_key(page, browser):
    """Five controls above, five of each example, two for the reading and two of the question, each with a name of its own."""
    page.named("Examples").send_keys("2")
    controls = [each.accessible_name for each in page.all("select, input, button") if each.is_displayed() and each.is_enabled()]
    assert len(controls) == 5 + 2 * 5 + 2 + 2 and len(set(controls)) == len(controls)
    browser.execute_script("arguments[0].focus()", page.named("Network"))
    for name in controls:
        reached = browser.switch_to.active_element
        assert reached.accessible_name == name
        reached.send_keys(Keys.TAB)


def test_nothing_to_mend_for_axe_and_nothing_sticks_out(page, browser):
    page.named("z of example 1, 3: one up").send_keys(Keys.ENTER)
    page.named("show example 2").send_keys(Keys.SPACE)
    for width in (1280, 390):
        look(browser, width=width)
        assert violations(browser) == [] and faint(browser) == []
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert browser.execute_script(STICKING_OUT.replace("article *", "main *")) == []


@pytest.fixture(scope="module")
def chapter(site):
    """The address of a chapter with a row, and what the package says of that row, or of less of it, by the networks' names."""
    data = json.loads(soup("chapters/16_rules.html").select_one("rules-from-examples script").string)
    networks = {each["name"]: RuleRun.open(each["run"]).network() for each in data["networks"]}
    rule, (*inputs, question) = data["rule"], data["inputs"]

    def says(name, hidden=0):
        return verdict(networks[name], solved(inputs[hidden:], rule), question, rule)

    return f"{site}/chapters/16_rules.html", says


def weights_asked(browser):
    return [url.split("/")[-3] for url in requests(browser) if url.endswith(".safetensors")]


def test_on_the_site_weights_are_fetched_when_they_are_asked_for(browser, chapter):
    address, says = chapter
    page = Page(browser, address, answers=False)
    assert not weights_asked(browser)  # as long as it is far below
    assert page.said() == says("seed 1")
    page.come_near()
    assert page.said() == says("seed 1") and len(weights_asked(browser)) == 1
    page.choose("Network", "seed 2")
    page.until(lambda: page.said() == says("seed 2"))
    assert len(weights_asked(browser)) == 1 and not errors(browser)


def test_weights_that_cannot_be_had_get_one_line_and_can_be_asked_for_again(browser, chapter):
    address, says = chapter
    with planted(browser, SPOILT % (ALTERED, "tasks-40-2")):
        page = Page(browser, address)
    page.choose("Network", "seed 2")
    page.until(lambda: page.said("error") == "the checkpoint is damaged: its checksum is not the one listed")
    page.named("show example 1").send_keys(Keys.SPACE)  # and all else goes on
    assert page.said() == "" and "Example 4: " in page.said("says") and "Example 1: " not in page.said("says")
    browser.execute_script("window.well = true")
    page.named("Try again").send_keys(Keys.ENTER)
    page.until(lambda: page.said() == says("seed 2", hidden=1))
    assert not page.said("error") and not page.named("Try again").is_displayed()
    browser.get_log("browser")


def test_what_was_asked_last_is_shown_whatever_comes_first(browser, chapter):
    address, says = chapter
    page = Page(browser, address)
    browser.execute_script(
        "const fetch = window.fetch; window.fetch = (url) => new Promise((go) => (window.go = go)).then(() => fetch(url))"
    )
    for name in ("seed 2", "seed 1"):  # of which the second was fetched before
        page.choose("Network", name)
    page.until(lambda: page.said() == says("seed 1") and browser.execute_script("return 'go' in window"))
    browser.execute_async_script("window.go(); setTimeout(arguments[0], 500)")
    assert page.said() == says("seed 1") and weights_asked(browser)[-1].endswith("-2")
    page.named("show example 1").send_keys(Keys.SPACE)
    assert page.said() == says("seed 1", hidden=1)
    page.choose("Network", "seed 2")
    page.until(lambda: page.said() == says("seed 2", hidden=1))


def test_print_shows_the_row_and_the_sentence_alone(browser, chapter):
    page = Page(browser, chapter[0])
    still = page.all(":scope > table, :scope > .said")
    assert len(still) == 3 and not any(each.is_displayed() for each in still)
    with on_paper(browser):
        assert all(each.is_displayed() for each in still) and not page.all(".live-view")[0].is_displayed()


def test_a_checkpoint_that_is_not_the_one_of_the_page_ends_the_build(tmp_path, static):
    body = playground(RULE, INPUTS, {"one": RuleRun.open(SHIPPED[0])}).data
    live_network.put_rules(tmp_path, body)
    assert len(list(tmp_path.glob("_static/runs/*/checkpoints/*.safetensors"))) == 1
    with pytest.raises(ValueError, match="execute the page's notebook again"):
        live_network.put_rules(tmp_path, body.replace('"sum":"', '"sum":"0'))
