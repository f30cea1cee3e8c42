"""Every chapter keeps the book's rules: pairs in step, figures described, short cells, exercises that check themselves."""

import ast
import re
from pathlib import Path
from statistics import median

import jupytext
import nbformat
import pytest
from first_cell import first_cell
from student import without_solutions

from assign_add_lib import checks

CHAPTERS = sorted((Path(__file__).resolve().parents[2] / "chapters").glob("*.md"))
MACHINE_PATH = re.compile(r"/(home|root|tmp|usr|opt|work|Users|content)/|site-packages|[A-Z]:\\\\")


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def twin(request):
    """The path of a chapter's text twin."""
    return request.param


@pytest.fixture
def notebook(twin):
    return nbformat.read(twin.with_suffix(".ipynb"), as_version=4)


@pytest.fixture
def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def outputs(cell, kind):
    """A cell's outputs of one MIME type, as text."""
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def test_every_chapter_is_a_pair(root):
    notebooks = {path.stem for path in root.glob("chapters/*.ipynb")}
    assert notebooks == {path.stem for path in CHAPTERS}


def test_every_chapter_is_in_the_table_of_contents(root):
    listed = re.findall(r"file: chapters/(\w+)", (root / "_toc.yml").read_text("utf-8"))
    assert listed == [path.stem for path in CHAPTERS]


def test_pair_is_in_step(twin, notebook):
    def cells(notebook):
        return [(c.cell_type, c.source, tags(c), c.metadata.get("mystnb", {})) for c in notebook.cells]

    assert cells(notebook) == cells(jupytext.read(twin))


def test_the_page_of_the_algorithm_is_in_step(root):
    twin = jupytext.read(root / "algorithm.md")
    notebook = nbformat.read(root / "algorithm.ipynb", as_version=4)
    assert [(c.cell_type, c.source) for c in notebook.cells] == [(c.cell_type, c.source) for c in twin.cells]


def test_cells_ran_in_order(code):
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_first_code_cell_finds_the_package(code):
    assert code[0].source == first_cell()
    assert "remove-cell" in tags(code[0])


def test_cells_are_short(code):
    lengths = [len(cell.source.splitlines()) for cell in code]
    assert max(lengths) <= 25
    assert median(lengths) <= 8


def reports(statement):
    """Whether a statement is a call of `report`, or a loop over nothing but such calls."""
    if isinstance(statement, ast.For):
        return all(map(reports, statement.body))
    return isinstance(statement, ast.Expr) and bool(re.match(r"(checks\.)?report(_ten|_seeds)?\(", ast.unparse(statement)))


def test_cells_that_only_check_numbers_are_folded(twin):
    """And nothing else is folded under that name: only such cells, with names given to what they check."""
    for cell in jupytext.read(twin).cells:
        if cell.cell_type == "code" and "remove-cell" not in tags(cell):
            statements = ast.parse(cell.source).body
            folded = cell.metadata.get("mystnb", {}).get("code_prompt_show") == "Check these numbers"
            assert folded or not all(map(reports, statements)), f"not folded:\n{cell.source}"
            if folded:
                assert "hide-input" in tags(cell), cell.source
                rest = [each for node in statements for each in (node.body if isinstance(node, ast.For) else [node])]
                assert all(isinstance(each, ast.Assign) or reports(each) for each in rest), f"folded:\n{cell.source}"
                assert any(map(reports, rest)), f"no check:\n{cell.source}"


def test_figures_have_captions_and_alt_text(code):
    for cell in code:
        if outputs(cell, "image/png") or outputs(cell, "image/svg+xml"):
            mystnb = cell.metadata.get("mystnb", {})
            assert mystnb.get("figure", {}).get("caption"), f"no caption:\n{cell.source}"
            assert mystnb.get("figure", {}).get("name"), f"no name:\n{cell.source}"
            assert mystnb.get("image", {}).get("alt"), f"no alt text:\n{cell.source}"
        for html in outputs(cell, "text/html"):
            if "<figure" in html:
                assert re.search(r"<figcaption>\s*\S", html), f"a view without a caption:\n{cell.source}"
            for image in re.findall(r"<img\b[^>]*", html):
                assert re.search(r'alt="[^"]+"', image), f"a picture without alt text:\n{cell.source}"


def test_tables_are_drawn_by_the_theme(code):
    """A table with a style of its own is light in the dark theme."""
    for cell in code:
        for html in outputs(cell, "text/html"):
            if "<table" in html:
                assert 'class="dataframe"' in html, cell.source


def test_outputs_name_no_machine_path(code):
    for cell in code:
        printed = [output.get("text", "") for output in cell.outputs]
        shown = [text for kind in ("text/plain", "text/html") for text in outputs(cell, kind)]
        for text in printed + shown:
            assert not MACHINE_PATH.search(re.sub(r"base64,[^\"]*", "", text)), f"a path of this machine:\n{cell.source}"


def test_no_cell_ends_in_an_error(code):
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]


def test_head_says_what_to_expect(notebook):
    head = notebook.cells[0].source
    assert head.startswith("# ")
    for promise in (r"you will be able to", r"you need", r"\d+ minutes? to read", r"\d+ (minutes?|seconds?) to run"):
        assert re.search(promise, head, re.IGNORECASE), f"the head lacks “{promise}”"


def test_exercises_have_a_task_a_cell_and_a_checked_solution(twin, notebook):
    chapter, cells = int(twin.stem[:2]), notebook.cells
    starts = [i for i, cell in enumerate(cells) if re.search("^### Exercise", cell.source, re.MULTILINE)]
    assert 3 <= len(starts) <= 5
    for number, start in enumerate(starts, 1):
        task, attempt, solution = cells[start : start + 3]
        pattern = rf"### Exercise {chapter}\.{number}: \S.*\n\n\*Difficulty: (★☆☆|★★☆|★★★) · \d+ minutes\*\n\n\S"
        assert re.match(pattern, task.source), f"not in the form, or not in the cell of its own, that we ask for:\n{task.source}"
        assert attempt.cell_type == solution.cell_type == "code"
        assert "exercise" in tags(attempt)
        assert {"solution", "hide-cell"} <= set(tags(solution))
        called = re.findall(r"checks\.(\w+)\(", solution.source)
        assert called and all(hasattr(checks, name) for name in called)
    assert len(starts) == sum("exercise" in tags(cell) for cell in cells) == sum("solution" in tags(cell) for cell in cells)


def test_student_notebook_has_no_solution(notebook):
    sources = {cell.source for cell in notebook.cells if "solution" in tags(cell)}
    student = without_solutions(notebook)
    assert sources and not sources & {cell.source for cell in student.cells}
    assert any("exercise" in tags(cell) for cell in student.cells)
