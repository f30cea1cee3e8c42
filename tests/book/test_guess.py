"""Guesses before the answer, and the box of what a chapter does not show: how they are written, asked, kept and printed."""

import ast
import json
import re

import jupytext
import pytest
import yaml
from browsing import ROOT, errors, jupyter_book, on_paper, planted, show, violations
from chromium import served
from guess import guesses, read_guess
from nbformat.v4 import new_markdown_cell, new_notebook
from pdf import together
from plain import Book, plain
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from student import without_solutions

PAGE = """# A page with guesses

:::{guess} notes
Which two tokens should `=` take notes of in layer 1?

c 1 PAD PAD b 17 PAD a 42 PAD PAD PAD + [b] [19] =

---

It takes notes of the operands.
:::

:::{guess} wrong-notes
What will the network answer to `b+19`?

[2 ± 1]

---

It answers 2, which is $42 + 19$ modulo 59.
:::

:::{guess} share
How many problems come out right?

[7.5%]

---

Only a few.
:::

:::{guess} tidied
Give the freed quarter to the operands.

Will accuracy rise, fall, or stay?

- [ ] It rises.
  The note of `b` is longer now.
- [x] It *falls*.
  A longer note takes from 19 what it needs.
- [ ] It stays.
  It does, where both numbers are typed.

---

It falls by about a seventh.
:::

:::{admonition} What this does not show
:class: limits

How a typed number is found is only half told.
:::
"""
FIGURE = """
```{raw} html
<div class="cell tag_after-guess"><p>A picture that tells all.</p></div>
```
"""
BOX = re.compile(r"^(:{3,})\{admonition\} What this does not show\n:class: limits\n\n(?P<text>(?:.*\n)*?)\1$", re.MULTILINE)
CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))


def held(cells):
    """The answers that a page's code holds its guesses against, by label, where both are written out."""
    calls = [node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Call)]
    named = [node.args for node in calls if ast.unparse(node.func) in ("guess", "checks.guess")]
    return {ast.literal_eval(label): ast.literal_eval(answer) for label, _, answer, *_ in named}


def test_a_guess_says_what_it_asks_and_what_is_right():
    found = guesses(PAGE)
    assert {label: (each.kind, each.answer, each.within, each.unit) for label, each in found.items()} == {
        "notes": ("cells", [13, 14], 0, ""),
        "wrong-notes": ("number", 2, 1, ""),
        "share": ("number", 7.5, 0, "%"),
        "tidied": ("choice", "It *falls*.", 0, ""),
    }
    assert found["notes"].tokens[12:] == ("+", "b", "19", "=") and found["tidied"].right == [1]
    assert found["tidied"].asked.endswith("stay?") and found["share"].told == "Only a few."


@pytest.mark.parametrize(
    "text",
    [
        "How many?\n\n[2]\n",
        "How many?\n\n[2]\n\n---\n",
        "How many?\n[2]\n\n---\n\nTwo.",
        "How many?\n\n[2 ±1]\n\n---\n\nTwo.",
        "How many?\n\n[2,5]\n\n---\n\nTwo.",
        "Which?\n\na b c\n\n---\n\nThe first.",
        "Which?\n\n- [ ] This.\n  Why.\n- [ ] That.\n  Why.\n\n---\n\nNone.",
        "Which?\n\n- [x] This.\n  Why.\n- [x] That.\n  Why.\n\n---\n\nBoth.",
        "Which?\n\n- [x] This.\n  Why.\n- [ ] That.\n\n---\n\nThis.",
        "Which?\n\n- [x] This.\nWhy.\n- [ ] That.\n  Why.\n\n---\n\nThis.",
    ],
)
def test_a_guess_of_another_form_is_refused(text):
    with pytest.raises(ValueError, match="question"):
        read_guess(text)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_answers_of_guesses_are_measured_and_boxes_are_short(chapter):
    text = chapter.read_text("utf-8")
    cells = [cell.source for cell in jupytext.read(chapter).cells if re.search(r"\bguess\(", cell.source)]
    assert held(cells) == {label: guess.answer for label, guess in guesses(text).items()}
    said = [words for guess in guesses(text).values() for words in (guess.told, *(option.why for option in guess.options))]
    assert not [words for words in said if re.search(r"^\d+[.)]\s", words, re.MULTILINE)]  # would be an item of a list
    boxes = [box["text"] for box in BOX.finditer(text)]
    named = re.findall(r"\} *What this does not show|^:class:.*\blimits\b", text, re.MULTILINE)
    assert len(named) == 2 * len(boxes) <= 2 and all(len(box.split()) <= 80 for box in boxes)


def test_plain_notebooks_quote_the_question_and_fold_the_answer():
    notebook = new_notebook(cells=[new_markdown_cell(PAGE)])
    for edition in (notebook, without_solutions(notebook)):
        text = plain(edition, "chapters/05_attention", Book(ROOT, "")).cells[0].source
        assert ":::" not in text and "[19]" not in text and "[x]" not in text
        parts = re.split(r"</?details>", text)
        assert len(parts) == 2 * 4 + 1
        assert "> **Guess first.** Which two tokens should `=` take notes of in layer 1?\n>\n> `c` `1` `PAD`" in parts[0]
        assert "> - It *falls*.\n> - It stays." in parts[6] and "seventh" not in parts[6]
        assert "> It falls by about a seventh.\n>\n> - It rises. **Not so.** The note of `b` is longer now." in parts[7]
        assert parts[8].strip() == "> **What this does not show**\n>\n> How a typed number is found is only half told."


def test_text_and_notebook_stay_twins(tmp_path):
    """Neither the brackets nor the line break a page into other cells."""
    notebook = jupytext.reads(PAGE + "\n+++\n\nMore.\n", "md:myst")
    assert [cell.source for cell in notebook.cells] == [PAGE.strip(), "More."]
    assert jupytext.reads(jupytext.writes(notebook, "md:myst"), "md:myst").cells[0].source == PAGE.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book of this page, under the configuration of the book, less what takes long and asks for its other pages."""
    book = tmp_path_factory.mktemp("book")
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings, options = config["sphinx"], config["sphinx"]["config"]
    needed = ("book_tidy", "mathematics", "finish", "guess_first")
    settings["local_extensions"] = {name: str(ROOT / "tools/site") for name in needed}
    options["html_static_path"] = [str(ROOT / path) for path in options["html_static_path"]]
    config["html"]["favicon"] = str(ROOT / "assets/favicon.svg")
    config["bibtex_bibfiles"] = [str(ROOT / path) for path in config["bibtex_bibfiles"]]
    (book / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")
    (book / "_toc.yml").write_text("format: jb-book\nroot: guesses\n", "utf-8")
    (book / "guesses.md").write_text(PAGE + FIGURE, "utf-8")
    return jupyter_book(book, "-W", "-n")


@pytest.fixture(scope="module")
def address(built):
    with served(built) as address:
        yield f"{address}/guesses.html"


@pytest.fixture
def page(address, browser):
    """The page as it is when it is opened for the first time, on a phone."""
    show(browser, address, width=360)
    yield browser
    browser.execute_script("localStorage.clear()")


def part(page, label, selector):
    return page.find_element(By.CSS_SELECTOR, f"#guess-{label} {selector}")


def type_into(page, label, *keys, place=0):
    """Give keys to a field of a guess, without a mouse."""
    field = page.find_elements(By.CSS_SELECTOR, f"#guess-{label} input")[place]
    page.execute_script("arguments[0].focus()", field)
    field.send_keys(*keys)


GUESSED = [  # label, (place of the field, keys), what is kept, what is said; and the same again in other ways
    [
        ("wrong-notes", [(0, ["2", Keys.ENTER])], 2, "You guessed 2: exactly right."),
        ("share", [(0, ["7.4", Keys.ENTER])], 7.4, "You guessed 7.4%: it is 7.5%, so you are off by 0.1."),
        ("tidied", [(0, [Keys.SPACE, Keys.ENTER])], [0], "You guessed: It rises. Not so. The note of b is longer now."),
        ("notes", [(13, [Keys.SPACE]), (14, [Keys.SPACE, Keys.ENTER])], [13, 14],
         "All right: b (position 13), 19 (position 14)."),
    ],
    [
        ("wrong-notes", [(0, ["3", Keys.ENTER])], 3, "You guessed 3: it is 2, so that is close enough."),
        ("tidied", [(1, [Keys.SPACE, Keys.ENTER])], [1],
         "You guessed: It falls. Right. A longer note takes from 19 what it needs."),
        ("notes", [(5, [Keys.SPACE]), (14, [Keys.SPACE, Keys.ENTER])], [5, 14],
         "Right: 19 (position 14). Missed: b (position 13). Not so: 17 (position 5)."),
    ],
    [("wrong-notes", [(0, ["-36", Keys.ENTER])], -36, "You guessed -36: it is 2, so you are off by 38.")],
]  # fmt: skip


@pytest.mark.parametrize("guessed", GUESSED)
def test_guesses_by_keyboard_are_compared_told_and_kept(page, address, guessed):
    page.execute_script("window.told = {}; addEventListener('guess', ({ detail }) => { told[detail.label] = detail; })")
    for label, keys, _, _ in guessed:
        assert not part(page, label, "details > div").is_displayed()
        for place, pressed in keys:
            type_into(page, label, *pressed, place=place)
    told = page.execute_script("return told")
    assert told == {
        label: {"label": label, "guess": guess, "right": not re.search("off by|Not so", said)}
        for label, _, guess, said in guessed
    }
    for _ in range(2):  # now, and when the reader comes back
        for label, _, guess, said in guessed:
            verdict = part(page, label, ".verdict")
            assert " ".join(verdict.text.split()) == said and verdict.get_attribute("aria-live") == "polite"
            assert part(page, label, "details > div").is_displayed() and not part(page, label, "input").is_enabled()
            assert json.loads(page.find_element(By.ID, f"guess-{label}").get_attribute("data-guess")) == guess
        show(page, address, width=360)
    for label, *_ in guessed:
        part(page, label, "button").send_keys(Keys.ENTER)
        assert part(page, label, "input").is_enabled() and not part(page, label, "details > div").is_displayed()
    show(page, address)
    assert not any(verdict.text for verdict in page.find_elements(By.CLASS_NAME, "verdict")) and not errors(page)


def test_nothing_is_told_without_a_guess(page):
    for label in guesses(PAGE):
        part(page, label, "button").send_keys(Keys.ENTER)
        assert not part(page, label, "details > div").is_displayed()
    assert part(page, "notes", ".verdict").text == "Click on what you guess first."


def test_a_figure_that_tells_waits_for_all_guesses(page):
    """It is there again as soon as the last guess above it is made, and gone where one is taken back."""
    cell = page.find_element(By.CSS_SELECTOR, ".tag_after-guess > *")
    for label, place, key in (("notes", 13, Keys.SPACE), ("wrong-notes", 0, "2"), ("share", 0, "3"), ("tidied", 0, Keys.SPACE)):
        assert not cell.is_displayed()
        type_into(page, label, key, Keys.ENTER, place=place)
    assert cell.is_displayed()
    part(page, "share", "button").send_keys(Keys.ENTER)
    assert not cell.is_displayed()


def test_marks_of_cells_are_signs(page):
    """Not colours alone: found, missed and extra have a sign each."""
    type_into(page, "notes", Keys.SPACE, place=5)
    type_into(page, "notes", Keys.SPACE, Keys.ENTER, place=14)
    signs = page.execute_script("""
        return [...document.querySelectorAll("#guess-notes label")].map((label) => getComputedStyle(label, "::after").content);
    """)
    assert {place: sign for place, sign in enumerate(signs) if sign != "none"} == {5: '"✗"', 13: '"○"', 14: '"✓"'}


@pytest.mark.parametrize("kept", ["a text", "[99]", "[0]", "17", "{}"])
def test_what_was_kept_of_another_page_does_no_harm(page, address, kept):
    for label in guesses(PAGE):
        page.execute_script("localStorage.setItem(`guess ${location.pathname}#guess-${arguments[0]}`, arguments[1])", label, kept)
    show(page, address)
    assert not errors(page)
    shown = [label for label in guesses(PAGE) if part(page, label, ".verdict").text]
    assert shown == {"[0]": ["notes", "tidied"], "17": ["wrong-notes", "share"]}.get(kept, [])


def test_a_guess_needs_no_storage(page, address):
    script = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } });"
    with planted(page, script):
        show(page, address)
        type_into(page, "wrong-notes", "36", Keys.ENTER)
        assert part(page, "wrong-notes", ".verdict").text.endswith("off by 34.")
    show(page, address)


def test_without_scripts_the_answer_is_a_fold_and_nothing_is_dead(page, address):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(address)
        for label in guesses(PAGE):
            fold = part(page, label, "details > div")
            assert not fold.is_displayed()
            part(page, label, "summary").send_keys(Keys.ENTER)
            assert fold.is_displayed()
        shown = [
            element for element in page.find_elements(By.CSS_SELECTOR, "article :is(input, button)") if element.is_displayed()
        ]
        assert not shown and part(page, "tidied", "fieldset").text.split("\n") == ["It rises.", "It falls.", "It stays."]
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("width, scheme", [(320, "light"), (1280, "dark")])
def test_nothing_to_mend_for_axe_and_nothing_sticks_out(page, address, width, scheme):
    show(page, address, width=width, scheme=scheme)
    for guessed in ([], GUESSED[0][:3] + GUESSED[1][2:]):
        for label, keys, *_ in guessed:
            for place, pressed in keys:
                type_into(page, label, *pressed, place=place)
        assert violations(page, within="article") == []
        assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_question_and_answer_are_printed_one_after_the_other(page, address, built):
    """From the page, closed as it is; in the book, whose answers stand at its end, the question alone."""
    with on_paper(page):
        # the browser may take up another medium only with its next frame
        WebDriverWait(page, 60).until_not(lambda _: part(page, "notes", "button").is_displayed())
        for label in guesses(PAGE):
            answer = part(page, label, "details > div > p")
            assert page.execute_script("return arguments[0].checkVisibility()", answer) and answer.rect["height"] > 10
            assert not part(page, label, "input").is_displayed() and not part(page, label, "button").is_displayed()
            assert part(page, label, ".guess-title").rect["y"] < answer.rect["y"]
        assert not part(page, "share", "fieldset").is_displayed()
        assert "It stays." in part(page, "tidied", "fieldset").text
    document = together(built, ["guesses"])
    assert len(document.select("#solutions li[id$=':answer']")) == 4 and not document.select("form.guess-first details")
