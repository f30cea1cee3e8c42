"""The pages about the book: what they quote stands where they say, and the state of the book is as another count finds it."""

import re

import nbformat
import pytest
from browsing import ROOT, soup
from executed import digest, record, recorded
from first_cell import renew
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from assign_add_lib.claims.beforehand import fixed_rules


def rows(place):
    """The rows of the first table of a section of the page on the state of the book, cell by cell."""
    lines = soup("pages/status.html").select(f"#{place} tbody tr")
    return [[cell.get_text(" ", strip=True) for cell in line.select("td")] for line in lines]


def test_the_quoted_sentence_stands_in_its_chapter():
    quoted = re.findall(r"(?m)^> (.+)", (ROOT / "pages/made.md").read_text("utf-8"))
    assert len(quoted) == 1 and quoted[0] in (ROOT / "chapters/11_phases.md").read_text("utf-8")


def test_state_of_the_notebooks_is_as_their_texts_have_it():
    *pages, together = rows("notebooks")
    texts = [*sorted(ROOT.glob("chapters/*.md")), *sorted(ROOT.glob("evidence/*.md")), ROOT / "pages/algorithm.md"]
    assert len(pages) == len(texts)
    for (title, _, cells, compared, figures, numbers, exercises, quiz), path in zip(pages, texts):
        text = path.read_text("utf-8")
        assert re.sub(r"^\d+ ", "", title) == re.search(r"(?m)^# (.*)", text)[1]
        assert int(cells) == text.count("```{code-cell}") and int(figures) == len(re.findall(r"(?m)^  figure:", text))
        assert int(compared) == int(cells) - text.count("nbval-ignore-output")
        assert int(exercises) == text.count("### Exercise") and int(numbers) == len(re.findall(r"\breport\(", text))
        questions = ROOT / f"teaching/quizzes/{path.name}"
        assert int(quiz) == (len(re.findall("(?m)^# ", questions.read_text("utf-8"))) if questions.is_file() else 0)
    records = [nbformat.read(path.with_suffix(".ipynb"), 4).metadata["executed"] for path in texts]
    assert [row[1].partition(";")[0] for row in pages] == [f"{each['date']}, {each['seconds']} s" for each in records]
    assert [int(each) for each in together[2:]] == [sum(int(row[i]) for row in pages) for i in range(2, 8)]


def test_state_tells_every_rule():
    items = soup("pages/status.html").select("#rules li")
    told = [item.get_text(" ", strip=True).replace("\u2019", "'") for item in items]
    assert len(told) == len(fixed_rules())
    for item, rule in zip(told, fixed_rules()):
        assert item.startswith(rule.id) and rule.rule in item and item.endswith(rule.outcome)


def test_state_names_tests_of_each_page_and_the_pinned_versions():
    tests = rows("tests")
    assert len(tests) == len(rows("notebooks")) - 1
    for _, together, files in tests:
        counted = {name: int(n) for name, n in (each.split(" ") for each in files.split(", "))}
        assert sum(counted.values()) == int(together) and "checks" in counted
        assert all((ROOT / f"tests/test_{name}.py").is_file() for name in counted)
    said = " ".join(versions for _, versions in rows("versions"))
    assert all(pin.replace("==", " ") in said for pin in re.findall(r"(?m)^\w\S+==\S+", (ROOT / "requirements.txt").read_text()))


@pytest.fixture
def notebook():
    """A notebook of two cells, just executed."""
    made = new_notebook(cells=[new_code_cell("", metadata={"tags": ["remove-cell"]}), new_code_cell("print(1)")])
    made.cells[1].outputs = [new_output("stream", name="stdout", text="1\n")]
    record(made, 3.4)
    return made


def test_record_is_good_for_the_notebook_that_it_was_made_with(notebook, tmp_path):
    assert recorded(notebook)["seconds"] == 3 and recorded(new_notebook()) is None
    nbformat.write(notebook, tmp_path / "one.ipynb")
    renew(tmp_path / "one.ipynb", "git+https://example.org/book")  # as stamping the address does
    assert recorded(nbformat.read(tmp_path / "one.ipynb", 4)) == recorded(notebook)
    notebook.cells.insert(1, new_markdown_cell("A word more."))
    assert recorded(notebook)["seconds"] == 3
    notebook.cells[2].outputs[0].text = "2\n"
    assert recorded(notebook) is None


def test_record_stays_where_nothing_came_out_otherwise(notebook):
    again = notebook.copy()
    again.metadata = {}
    record(again, 9, before=notebook)
    assert recorded(again) == recorded(notebook) and digest(again) == digest(notebook)
    again.cells = [new_code_cell("print(2)")]
    record(again, 9, before=notebook)
    assert recorded(again)["seconds"] == 9
