"""Puts the weights on the site for the live network: the shipped runs, the network written by hand, and a list of both."""

import json
import shutil
from pathlib import Path

from assign_add_lib import handmade
from assign_add_lib.engine.files import file_sha256, save_tensors
from assign_add_lib.engine.folder import checkpoint_path
from assign_add_lib.training import Run

BY_HAND = "hand-built"


def put_weights(app, error):
    """Copy the checkpoints into _static/runs, and list their steps and checksums by run in index.json there."""
    if error or app.builder.format != "html":
        return
    shelf, listed = Path(app.outdir) / "_static/runs", {}
    runs = [Run.open(name) for name in sorted(Run.shipped(), key=lambda name: int(name.removeprefix("seed-")))]
    for run in runs:
        listed[run.name] = {}
        for step in run.steps:
            run.weights(step)  # raises where the file is not as shipped
            path = checkpoint_path(run.folder, step)
            there = checkpoint_path(shelf / run.name, step)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)
            listed[run.name][step] = file_sha256(there)
    there = checkpoint_path(shelf / BY_HAND, 0)
    there.parent.mkdir(parents=True, exist_ok=True)
    save_tensors(there, handmade.weights().tensors())
    listed[BY_HAND] = {0: file_sha256(there)}
    (shelf / "index.json").write_text(json.dumps(listed), "utf-8")


def setup(app):
    """Connect to the end of the build."""
    app.connect("build-finished", put_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
