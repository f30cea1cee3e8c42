"""Write the notebooks for students into student/, where each has the place it has here: plain, without solutions and answers."""

import copy
import re
import sys

import nbformat
from plain import ROOT, Book, plain

FOLDER = ROOT / "student"

ANSWER = re.compile(r"^(`{3,})\{admonition\}.*\n:class: dropdown answer\n(?:.*\n)*?\1\n*", re.MULTILINE)
HEADING = re.compile(r"^(?=#+ )", re.MULTILINE)


def parted(cells):
    """A notebook's cells in order, each with whether it belongs to a solution: between an exercise's cell and the next heading.

    A cell of text that answers and goes on under a heading comes in two parts.
    """
    below = False
    for cell in cells:
        if below and cell.cell_type == "markdown":
            answer, *rest = HEADING.split(cell.source, maxsplit=1)
            for text in filter(str.strip, (answer, *rest)):
                part = copy.deepcopy(cell)
                part.source = text.strip()
                yield part, text is answer
            below = not rest
        else:
            yield cell, below
        below = below or "exercise" in cell.metadata.get("tags", [])


def without_solutions(notebook):
    """The notebook less what belongs to solutions: those cells themselves, what measures or checks them, and answers in words.

    ValueError for a notebook with exercises and no answer: it is in plain Markdown already, where answers cannot be told.
    """
    notebook = copy.deepcopy(notebook)
    if any("exercise" in cell.metadata.get("tags", []) for cell in notebook.cells):
        if not any(ANSWER.search(cell.source + "\n") for cell in notebook.cells if cell.cell_type == "markdown"):
            words = "the notebooks of this checkout are in plain Markdown; take the branch main, which has them as written"
            raise ValueError(words)
    notebook.cells = [cell for cell, solution in parted(notebook.cells) if not solution and cell.source]
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
