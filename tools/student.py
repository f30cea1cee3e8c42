"""Write the notebooks for students into student/, where each has the place it has here: plain, without solutions and answers."""

import copy
import re
import sys

import nbformat
from plain import ROOT, Book, plain

FOLDER = ROOT / "student"

ANSWER = re.compile(r"^(`{3,})\{admonition\}.*\n:class: dropdown answer\n(?:.*\n)*?\1\n*", re.MULTILINE)


def without_solutions(notebook):
    """The notebook less its cells tagged `solution` and its blocks of the class `answer`.

    ValueError for a notebook with exercises and no such block: it is in plain Markdown already, where answers cannot be told.
    """
    notebook = copy.deepcopy(notebook)
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    if "exercise" in tags and not ANSWER.search(text + "\n"):
        raise ValueError("the notebooks of this checkout are in plain Markdown; take the branch main, which has them as written")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = ANSWER.sub("", cell.source + "\n").strip()
    notebook.cells = [cell for cell in notebook.cells if cell.source and "solution" not in cell.metadata.get("tags", [])]
    return notebook


if __name__ == "__main__":
    book = Book()
    for page, notebook in book.notebooks().items():
        try:
            plain_notebook = plain(without_solutions(notebook), page, book)
        except ValueError as error:
            print(f"student: {error}", file=sys.stderr)
            sys.exit(2)
        path = FOLDER / book.files[page]
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(plain_notebook, path)
    (FOLDER / "jupytext.toml").touch()  # else Jupyter would write a text beside each, as beside the chapters
    print("The notebooks without solutions are in", FOLDER)
