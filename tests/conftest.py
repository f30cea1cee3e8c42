"""What the tests share: the checkout's root, and the cells of a chapter's exercises."""

from pathlib import Path

import jupytext
import pytest


@pytest.fixture(scope="session")
def root():
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def cells(request, root):
    """For test_checks_NN: chapter NN's cells tagged `exercise` and `solution`, by tag and name of the function."""
    number = request.module.__name__.rpartition("_")[2]
    notebook = jupytext.read(next((root / "chapters").glob(f"{number}_*.md")))
    found = {}
    for cell in notebook.cells:
        for tag in {"exercise", "solution"} & set(cell.metadata.get("tags", [])):
            name = next(name for name in request.module.EXERCISES if f"def {name}(" in cell.source)
            found[tag, name] = cell.source
    return found
