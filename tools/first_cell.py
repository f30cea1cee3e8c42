"""The first code cell of every chapter: `python tools/first_cell.py chapters/*` renews it in notebooks and twins."""

import json
import re
import sys
from pathlib import Path

ASKED = "# where pip finds the book's package: filled in on the published copy"
TEMPLATE = f"""\
import importlib.util

{ASKED}
PACKAGE = "{{package}}"
if importlib.util.find_spec("assign_add_lib") is None:
    if not PACKAGE:
        raise ModuleNotFoundError("assign_add_lib is missing: run `pip install .` in a checkout of the book")
    %pip install --quiet {{{{PACKAGE}}}}"""

# A code cell of the text twin up to its closing line: its opening line and options, and its source, if there is any yet.
CODE_CELL = re.compile(r"(```\{code-cell\}.*?\n(?:---\n.*?\n---\n)?(?::.*?\n)*\n*)(?:.*?\n)??(?=^```$)", re.DOTALL | re.MULTILINE)


def first_cell(package=""):
    """The cell's source, for a package that pip finds at `package`; without one, only a checkout runs it."""
    return TEMPLATE.format(package=package)


def renew(path, package=""):
    """Make the first code cell of one notebook or text twin the one above."""
    source, text = first_cell(package), path.read_text("utf-8")
    if path.suffix == ".ipynb":
        notebook = json.loads(text)
        cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
        cell["source"] = source.splitlines(keepends=True)
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    else:
        text = CODE_CELL.sub(lambda match: match[1] + source + "\n", text, count=1)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(Path(name))
