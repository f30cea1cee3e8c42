"""Live views: pages that show one load its modules, and find the weights of the shipped runs on the site."""

import json
import shutil
from pathlib import Path

from assign_add_lib import handmade, load_run
from assign_add_lib.engine.files import file_sha256, save_tensors
from assign_add_lib.engine.folder import checkpoint_path
from assign_add_lib.engine.manifest import data_folder, read_manifest, shipped_file
from assign_add_lib.training import shipped_runs
from assign_add_lib.views.explorer import BY_HAND, MODULES

TRAINED = [f"{kind} train" for kind in ("0-var", "1-var", "2-var")]  # accuracies shown beside a step


def load_modules(app, page, template, context, doctree):
    """Let a page with a live view load what draws it, all modules at once."""
    if any(sign in context.get("body", "") for sign in ("<assign-add", 'class="attention-view"')):
        app.add_css_file("explorer.css")
        address = {name: context["pathto"](f"_static/{name}.js", 1) for name in (*MODULES, "views")}
        links = [f'<link rel="modulepreload" href="{address[name]}">' for name in MODULES]
        script = f'<script async type="module" src="{address["views"]}"></script>'  # as early as it can run
        context["metatags"] = "\n".join((context.get("metatags", ""), script, *links))


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
    app.connect("html-page-context", load_modules)
    app.connect("build-finished", put_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
