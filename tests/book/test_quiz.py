"""Quizzes: their form in teaching/quizzes/, and how they open on the built page and in plain notebooks."""

import io
import re
import zipfile

import nbformat
import pytest
import qti
from browsing import ROOT, on_paper, show, soup
from bs4 import BeautifulSoup
from plain import Book
from quiz import FOLDER, load_quiz
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(request):
    return request.param


@pytest.fixture(scope="module")
def quiz(chapter):
    return load_quiz(ROOT, chapter)


def test_every_quiz_is_of_a_chapter():
    assert sorted(path.stem for path in (ROOT / FOLDER).glob("*")) == CHAPTERS


def test_quiz_has_five_to_eight_questions_of_one_right_option(quiz):
    assert 5 <= len(quiz) <= 8
    assert len({question.asked for question in quiz}) == len(quiz)
    for question in quiz:
        assert 3 <= len(question.options) <= 4, question.asked
        assert sum(option.right for option in question.options) == 1, question.asked
        for option in question.options:
            assert option.why.endswith((".", ")", "!", "?")), option
            assert len(option.why.split()) >= 6, option


def test_neither_place_nor_length_gives_the_right_option_away(quiz):
    places = [[option.right for option in question.options].index(True) for question in quiz]
    longest = [max(question.options, key=lambda option: len(option.said)).right for question in quiz]
    assert max(places.count(place) for place in places) <= len(quiz) / 2
    assert sum(longest) <= len(quiz) / 2


def test_platforms_get_the_same_quiz(chapter, quiz):
    """The package names for each question one right option, and below each option its explanation, in the words of the file."""
    package = zipfile.ZipFile(io.BytesIO(qti.package(chapter)))
    assert BeautifulSoup(package.read("imsmanifest.xml"), "xml").rights.description.text.split()[:2] == ["CC", "Attribution"]
    name = next(name for name in package.namelist() if re.search(r"assessment_[0-9a-f]+\.xml$", name))
    items = BeautifulSoup(package.read(name), "xml").find_all("item")
    for item, question in zip(items, quiz, strict=True):
        asked, *labels = item.presentation.find_all("mattext")
        assert words(asked.text)[:5] == words(question.asked)[:5]
        keys = [each["ident"] for each in item.find_all("response_label")]
        right = [each.find("varequal").text for each in item.find_all("respcondition") if each.find("setvar")]
        assert right == [key for key, option in zip(keys, question.options, strict=True) if option.right]
        shown = {each["ident"]: each.find("mattext").text for each in item.find_all("itemfeedback")}
        conditions = [each for each in item.find_all("respcondition") if each.displayfeedback]
        linked = {each.find("varequal").text: each.displayfeedback["linkrefid"] for each in conditions}
        for key, label, option in zip(keys, labels, question.options, strict=True):
            assert words(label.text) == words(option.said)
            assert words(shown[linked[key]]) == words(option.why)


def words(text):
    """The words of Markdown or HTML outside formulas; in a package, these are pictures."""
    text = re.sub(r"\$[^$]+\$", "", BeautifulSoup(text, "html.parser").text if "<p>" in text else text)
    return re.findall(r"[A-Za-z]+", text)


def test_quiz_stands_before_the_exercises(chapter):
    cells = nbformat.read(ROOT / f"chapters/{chapter}.ipynb", 4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert 0 < text.index(f"```{{quiz}} {chapter}\n```") < text.index("## Exercises")


def test_plain_notebook_has_the_quiz_in_folds(chapter, quiz):
    text = Book(ROOT, "").markdown(f"```{{quiz}} {chapter}\n```\n", f"chapters/{chapter}")
    assert text.count("<details>") == text.count("</details>") == sum(len(question.options) for question in quiz)
    assert text.count("**Right.**") == len(quiz)
    formulas = [re.findall(r"\$[^$]+\$", option.said) for question in quiz for option in question.options]
    summaries = re.findall("<summary>(.*)</summary>", text)
    assert [re.findall(r"\$[^$]+\$", each) for each in summaries] == formulas and "<span" not in text


WRONG = ["", "Words\n\n# A question?\n\n- [x] Yes.\n  Why.\n", "# No options?\n"]
WRONG += ["# Which?\n\n- [x] Yes.\nNot indented.\n", "# Which?\n\n- [y] Yes.\n"]


@pytest.mark.parametrize("text", WRONG)
def test_quiz_of_another_form_is_refused(text, tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "one.md").write_text(text)
    with pytest.raises(ValueError, match="teaching/quizzes/one.md"):
        load_quiz(tmp_path, "one")


def test_built_page_has_every_option(chapter, quiz):
    asked = [option.right for question in quiz for option in question.options]
    built = [fold.select_one("div").get_text().strip() for fold in soup(f"chapters/{chapter}.html").select("details.quiz")]
    assert [words.startswith("Right.") for words in built] == asked
    assert all(words.startswith(("Right.", "Not so.")) for words in built)


def test_paper_has_the_answers_at_the_end_of_the_page(browser, site, chapter, quiz):
    """And not beside the questions; on screen they are not there."""
    answers = soup(f"chapters/{chapter}.html").select("article > :last-child.quiz-answers > ol > li")
    letters = ["abcd"[[option.right for option in question.options].index(True)] for question in quiz]
    assert [answer.get_text().strip()[:2] for answer in answers] == [f"{letter}." for letter in letters]
    if chapter != CHAPTERS[0]:
        return
    show(browser, f"{site}/chapters/{chapter}.html")
    shown = """
        const seen = (each) => each.checkVisibility({ contentVisibilityAuto: true });
        return [".quiz-answers", "details.quiz > div"].map((kind) => [...document.querySelectorAll(kind)].some(seen));
    """
    assert browser.execute_script(shown) == [False, False]
    with on_paper(browser):
        WebDriverWait(browser, 60).until(lambda _: browser.execute_script(shown) == [True, False])


def test_options_open_by_keyboard_and_say_what_they_are(browser, site):
    """In one chapter, as in all others."""
    show(browser, f"{site}/chapters/{CHAPTERS[0]}.html")
    for fold in browser.find_elements(By.CSS_SELECTOR, "details.quiz")[:4]:
        summary, words = (fold.find_element(By.CSS_SELECTOR, name) for name in ("summary", "div"))
        assert not words.is_displayed()
        browser.execute_script("arguments[0].focus()", summary)
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        assert words.is_displayed() and words.text.startswith(("Right.", "Not so."))


def test_what_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert qti.main([str(tmp_path / "file")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: cannot write ") and err.count("\n") == 1
