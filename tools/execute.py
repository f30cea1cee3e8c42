"""Make each chapter's notebook anew from its text twin, run it, and write both as Jupyter would save them.

Nothing is kept that differs from run to run.
"""

import base64
import io
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from executed import record
from jupytext.config import load_jupytext_config
from nbclient import NotebookClient
from PIL import Image

HANG = 600  # seconds after which a cell is taken to hang


def lighten(notebook):
    """Give the notebook's pictures a palette, as the package gives its own; the notebook may have installed it only now."""
    from assign_add_lib.views.page import light

    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if "image/png" in output.get("data", {}):
            picture, lighter = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))), io.BytesIO()
            if picture.mode != "P":
                light(picture).save(lighter, "png", optimize=True)
                output.data["image/png"] = base64.b64encode(lighter.getvalue()).decode()


def execute(path):
    """The executed notebook of one text twin (or notebook)."""
    notebook = jupytext.read(path)
    settings = {"timeout": HANG, "record_timing": False, "coalesce_streams": True}
    NotebookClient(notebook, resources={"metadata": {"path": path.parent}}, **settings).execute()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    notebook.metadata.pop("widgets", None)
    lighten(notebook)
    return notebook


if __name__ == "__main__":
    os.environ.update(ASSIGN_ADD_RENDER="static", PYTHONHASHSEED="0")
    for path in map(Path, sys.argv[1:]):
        target, start = path.with_suffix(".ipynb"), time.monotonic()
        before = nbformat.read(target, 4) if target.exists() else None
        jupytext.write(jupytext.read(path), path, fmt="md:myst", config=load_jupytext_config(str(path)))
        notebook = execute(path)
        record(notebook, time.monotonic() - start, before)
        jupytext.write(notebook, target)
        print("executed", path)
