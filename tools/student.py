"""Write the notebooks for students into student/: plain Markdown, without solutions and answers."""

import copy
import re
from pathlib import Path

import nbformat
from plain import ROOT, Book, plain

FOLDER = ROOT / "student"

ANSWER = re.compile(r"^(`{3,})\{admonition\}.*\n:class: dropdown answer\n(?:.*\n)*?\1\n*", re.MULTILINE)


def without_solutions(notebook):
    """The notebook less its cells tagged `solution` and its blocks of the class `answer`."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = ANSWER.sub("", cell.source + "\n").strip()
    notebook.cells = [cell for cell in notebook.cells if cell.source and "solution" not in cell.metadata.get("tags", [])]
    return notebook


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    book = Book()
    for page, notebook in book.notebooks().items():
        if page.startswith("chapters/"):
            nbformat.write(plain(without_solutions(notebook), page, book), FOLDER / Path(book.files[page]).name)
    print("The notebooks without solutions are in", FOLDER)
