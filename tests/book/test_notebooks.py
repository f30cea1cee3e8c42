"""Every chapter and page of evidence keeps the book's rules: pairs in step, figures described, short cells, checks folded."""

import ast
import re
from copy import deepcopy
from statistics import median

import jupytext
import nbformat
import pytest
from browsing import ROOT
from first_cell import first_cell
from jupytext.config import load_jupytext_config
from minutes import measure, stated
from student import without_solutions

from assign_add_lib import checks

CHAPTERS, EVIDENCE = (sorted((ROOT / folder).glob("*.md")) for folder in ("chapters", "evidence"))
NAMING = ast.Assign | ast.AugAssign | ast.FunctionDef | ast.Import | ast.ImportFrom
MACHINE_PATH = re.compile(r"/(home|root|tmp|usr|opt|work|Users|content)/|site-packages|[A-Z]:\\\\")


def name_of(path):
    """A page's name, with its folder."""
    return str(path.relative_to(ROOT).with_suffix(""))


@pytest.fixture(scope="module", params=[*CHAPTERS, *EVIDENCE, ROOT / "pages/algorithm.md"], ids=name_of)
def twin(request):
    """The path of a page's text twin."""
    return request.param


@pytest.fixture(scope="module")
def notebook(twin):
    return nbformat.read(twin.with_suffix(".ipynb"), as_version=4)


chapters = pytest.mark.parametrize("twin", CHAPTERS, indirect=True, ids=name_of)


@pytest.fixture
def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def outputs(cell, kind):
    """A cell's outputs of one MIME type, as text."""
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


@pytest.mark.parametrize("folder, twins", [("chapters", CHAPTERS), ("evidence", EVIDENCE)])
def test_every_page_is_a_pair_in_the_table_of_contents(folder, twins):
    stems = [path.stem for path in twins]
    assert sorted(path.stem for path in ROOT.glob(f"{folder}/*.ipynb")) == stems
    assert re.findall(rf"file: {folder}/(\w+)", (ROOT / "_toc.yml").read_text("utf-8")) == stems


def test_pair_is_in_step_and_as_jupyter_saves_it(twin, notebook):
    """So a word that is changed in Jupyter changes one line of the text."""
    config = load_jupytext_config(str(twin))
    saved = jupytext.writes(deepcopy(notebook), "md:myst", config=config)
    assert saved.splitlines() == twin.read_text("utf-8").splitlines(), f"run jupytext --to md:myst on {name_of(twin)}.md"
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in jupytext.read(twin).cells]
    assert jupytext.writes(notebook, "ipynb") + "\n" == twin.with_suffix(".ipynb").read_text("utf-8")


def test_cells_ran_in_order(code):
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_first_code_cell_finds_the_package(code):
    assert code[0].source == first_cell()
    assert "remove-cell" in tags(code[0])


def test_cells_are_short(code, twin):
    lengths = {cell.id: len(cell.source.splitlines()) for cell in code}
    seen = [lengths[cell.id] for cell in code if not {"remove-cell", "remove-input"} & set(tags(cell))]
    assert max(lengths.values()) <= 25
    assert twin in EVIDENCE or median(seen or [0]) <= 8  # whose code is folded


def reports(statement, names):
    """Whether a statement prints what a call of one of these functions reports; the definition of a function prints nothing."""
    called = {ast.unparse(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    return not isinstance(statement, ast.FunctionDef) and bool(called & names)


def test_reports_are_hidden_or_folded_with_what_they_print(code):
    """In cells that hold reports, and names and functions for them, and nothing else."""
    trees = [ast.parse(cell.source).body for cell in code[1:]]
    defined = [node for body in trees for node in body if isinstance(node, ast.FunctionDef)]
    names = {"report", "checks.report"}
    names |= {node.name for node in defined if any(reports(each, names) for each in node.body)}
    for cell, body in zip(code[1:], trees):
        if "check" in tags(cell):
            assert "hide-cell" in tags(cell), f"not folded:\n{cell.source}"
            assert any(reports(each, names) for each in body), f"no check:\n{cell.source}"
            rest = [each for each in body if not reports(each, names)]
            assert all(isinstance(each, NAMING) for each in rest), f"no check alone:\n{cell.source}"
        elif not {"hide-cell", "remove-cell"} & set(tags(cell)):
            assert not any(reports(each, names) for each in body), f"reports stand open:\n{cell.source}"
            assert "(quoted as" not in str(cell.outputs), f"reports stand open:\n{cell.source}"


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


@chapters
def test_head_says_what_to_expect(notebook):
    head = notebook.cells[0].source
    assert head.startswith("# ")
    for promise in (r"you will be able to", r"you need", r"\d+ minutes? to read", r"\d+ (minutes?|seconds?) to run"):
        assert re.search(promise, head, re.IGNORECASE), f"the head lacks “{promise}”"


@pytest.mark.parametrize("twin", [*CHAPTERS, *EVIDENCE], indirect=True, ids=name_of)
def test_the_minutes_that_a_page_states_are_those_that_it_takes(twin):
    text = twin.read_text("utf-8")
    assert stated(text) == measure(text).minutes


@chapters
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


@chapters
def test_student_notebook_has_no_solution(notebook):
    sources = {cell.source for cell in notebook.cells if "solution" in tags(cell)}
    student = without_solutions(notebook)
    assert sources and not sources & {cell.source for cell in student.cells}
    assert any("exercise" in tags(cell) for cell in student.cells)
