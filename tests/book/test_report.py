"""Numbers that the prose quotes: what `report` prints and refuses, and what strict nbval then accepts."""

import ast
import re
import subprocess
import sys

import jupytext
import nbformat
import pytest

from assign_add_lib.checks import report


@pytest.mark.parametrize(
    "value, expected, atol, shown",
    [
        (0.97044, 0.97, 0.002, "share: 0.970 (quoted as 0.97, within 0.002)"),
        (0.0312, 0.03, 0.005, "share: 0.031 (quoted as 0.03, within 0.005)"),
        (-4.83, -4.8, 0.1, "share: -4.8 (quoted as -4.8, within 0.1)"),
        (9899, 9900, 20, "share: 9899 (quoted as 9900, within 20)"),
        (2e-16, 0, 1e-12, "share: 0.000000000000 (quoted as 0, within 1e-12)"),
        (71, 71, 0, "share: 71"),
    ],
)
def test_the_measured_value_is_shown_to_the_digits_of_its_tolerance(value, expected, atol, shown, capsys):
    report("share", value, expected, atol)
    assert capsys.readouterr().out == shown + "\n"


@pytest.mark.parametrize("value", [0.9679, 0.9721, float("nan"), float("inf")])
def test_a_value_beyond_its_tolerance_is_refused(value, capsys):
    with pytest.raises(AssertionError, match="share: measured .*, quoted as 0.97, which may differ by 0.002"):
        report("share", value, 0.97, 0.002)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("expected, atol", [(0.002, 0.005), (-0.5, 0.5), (7, 8)])
def test_a_tolerance_as_large_as_the_number_is_refused(expected, atol):
    with pytest.raises(ValueError, match="is no test of"):
        report("share", expected, expected, atol)


def literal(node):
    """The number that an argument is, or None where it is computed."""
    try:
        return float(ast.literal_eval(node))
    except ValueError:
        return None


def test_every_tolerance_in_the_book_is_a_test(root):
    """At most a quarter of the number where that is not 0, wherever both are written out."""
    calls = []
    for path in [*sorted(root.glob("chapters/*.md")), *sorted(root.glob("evidence/*.md")), root / "pages/algorithm.md"]:
        _, *code = (cell for cell in jupytext.read(path).cells if cell.cell_type == "code")
        for node in (node for cell in code for node in ast.walk(ast.parse(cell.source))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("report", "checks.report"):
                calls.append((path.stem, ast.unparse(node), *map(literal, node.args[2:])))
    known = [call for call in calls if None not in call]
    assert len(known) > 400
    assert not [call for call in known if call[2] and call[3] > abs(call[2]) / 4]


CELLS = [  # source, stored output, whether strict nbval accepts it
    ("report('a', 0.971, 0.97, 0.002)", "a: 0.971 (quoted as 0.97, within 0.002)\n", True),
    ("report('a', 0.971, 0.97, 0.002)", "a: 0.969 (quoted as 0.97, within 0.002)\n", True),
    ("report('a', 0.971, 0.97, 0.002)", "a: 0.975 (quoted as 0.97, within 0.002)\n", False),
    ("report('a', 0.971, 0.98, 0.02)", "a: 0.97 (quoted as 0.97, within 0.02)\n", False),
    ("report('a', 0.971, 0.97, 0.005)", "a: 0.971 (quoted as 0.97, within 0.002)\n", False),
    ("report('a', 0.971, 0.97, 0.002)", "a: 0.971\n", False),
    ("report('a', 0.975, 0.97, 0.002)", "a: 0.970 (quoted as 0.97, within 0.002)\n", False),
    ("report('b', 0.971, 0.97, 0.002)", "a: 0.971 (quoted as 0.97, within 0.002)\n", False),
    ("print('as 0.971')", "as 0.970\n", False),
    ("print('as 0.970')", "as 0.970\n", True),
]


def test_strict_nbval_accepts_late_digits_and_nothing_else(root, tmp_path):
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}})
    notebook.cells = [nbformat.v4.new_code_cell("from assign_add_lib.checks.common import report", execution_count=1)]
    for number, (source, stored, _) in enumerate(CELLS, 2):
        output = nbformat.v4.new_output("stream", name="stdout", text=stored)
        notebook.cells.append(nbformat.v4.new_code_cell(source, execution_count=number, outputs=[output]))
    nbformat.write(notebook, tmp_path / "planted.ipynb")
    options = ["--nbval", "-rA", "-p", "no:cacheprovider", "-p", "settled", "-o", f"pythonpath={root / 'tools'}"]
    command = [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", tmp_path / "planted.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    passed = {int(cell) for cell in re.findall(r"^PASSED .*::Cell (\d+)", done.stdout, re.MULTILINE)}
    assert passed == {0} | {cell for cell, (*_, accepted) in enumerate(CELLS, 1) if accepted}, done.stdout[-3000:]
