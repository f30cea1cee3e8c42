"""Live views: pages that show one load its script, say what its network says before that, and find the weights on the site."""

import json
import re
import shutil
from pathlib import Path

from bs4 import BeautifulSoup

from assign_add_lib import Problem, handmade, load_run
from assign_add_lib.engine.files import file_sha256, save_tensors
from assign_add_lib.engine.folder import checkpoint_path
from assign_add_lib.engine.manifest import data_folder, read_manifest, shipped_file
from assign_add_lib.training import shipped_runs
from assign_add_lib.views.explorer import BY_HAND, MODULES, live_script, sentence

TRAINED = [f"{kind} train" for kind in ("0-var", "1-var", "2-var")]  # accuracies shown beside a step


# what a shipped network is asked by; of one that is changed, of two, or where a reader first predicts, the page says nothing
PLAIN = {"problem", "shows", "run", "step", "address"}


def answer(tag):
    """The tag of a live network, and after it what the network says of the problem."""
    asked = BeautifulSoup(tag[0], "html.parser").find().attrs
    if not asked.keys() <= PLAIN or asked["run"] not in (BY_HAND, *shipped_runs()):
        return tag[0]
    weights = handmade.weights() if asked["run"] == BY_HAND else load_run(asked["run"]).weights(int(asked["step"]))
    return f'{tag[0]}<p class="said">{sentence(Problem.parse(asked["problem"]), weights)}</p>'


def show_networks(app, page, template, context, doctree):
    """Let a page with a live view say at once what its network says, and load what draws it."""
    body = context.get("body", "")
    if "<assign-add" in body or 'class="attention-view"' in body:
        context["body"] = re.sub("<assign-add [^>]*>", answer, body)
        # where it is what the reader came for, it is drawn from the first
        first = ' blocking="render"' * bool(re.search("<assign-add [^>]*address", body))
        script = f'<script defer{first} src="{context["pathto"]("_static/live.js", 1)}"></script>'
        context["metatags"] = "\n".join((context.get("metatags", ""), script))


def put_script(app, error):
    """Join the modules into one script: each file costs a reader time."""
    if not error and app.builder.format == "html":
        script = live_script((*MODULES, "views"), "document.currentScript.src")
        Path(app.outdir, "_static/live.js").write_text(script, "utf-8")


def put_weights(app, error):
    """Copy the checkpoints into _static/runs, and write index.json there: {run: {step: {checksum, accuracies}}}."""
    if error or app.builder.format != "html":
        return
    shelf, sums, listed = Path(app.outdir) / "_static/runs", read_manifest(data_folder()), {}
    for name in sorted(shipped_runs(), key=lambda name: int(name.removeprefix("seed-"))):
        run, listed[name] = load_run(name), {}
        for step in run.steps:
            path = str(checkpoint_path(Path("runs", name), step))
            (there := Path(app.outdir, "_static", path)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(shipped_file(path), there)
            right = run.metrics.loc[step, TRAINED].round(3)
            listed[name][step] = {"sum": sums[path], "right": {column.split()[0]: right[column] for column in TRAINED}}
    there = checkpoint_path(shelf / BY_HAND, 0)
    there.parent.mkdir(parents=True, exist_ok=True)
    save_tensors(there, handmade.weights().tensors())
    listed[BY_HAND] = {0: {"sum": file_sha256(there)}}
    (shelf / "index.json").write_text(json.dumps(listed), "utf-8")


def setup(app):
    """Connect to the writing of each page, and to the end of the build."""
    app.connect("html-page-context", show_networks)
    app.connect("build-finished", put_script)
    app.connect("build-finished", put_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
