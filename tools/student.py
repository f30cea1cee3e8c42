"""Write the notebooks without their solutions into student/."""

import sys
from pathlib import Path

import nbformat

FOLDER = Path(__file__).resolve().parents[1] / "student"


def without_solutions(notebook):
    """The notebook less its cells tagged `solution`."""
    notebook.cells = [cell for cell in notebook.cells if "solution" not in cell.metadata.get("tags", [])]
    return notebook


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path in map(Path, sys.argv[1:]):
        nbformat.write(without_solutions(nbformat.read(path, as_version=4)), FOLDER / path.name)
    print("The notebooks without solutions are in", FOLDER)
