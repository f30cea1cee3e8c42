"""Live views: pages that show one load its script, say what its network says before that, and find the weights on the site."""

import json
import re
import shutil
from pathlib import Path

from bs4 import BeautifulSoup

from assign_add_lib import Problem, handmade, load_run
from assign_add_lib.companions.rules.training import RuleRun
from assign_add_lib.engine.files import file_sha256, save_tensors
from assign_add_lib.engine.folder import checkpoint_path
from assign_add_lib.engine.manifest import data_folder, read_manifest, shipped_file
from assign_add_lib.training import shipped_runs
from assign_add_lib.views import explorables, figures, playground
from assign_add_lib.views.explorer import BY_HAND, MODULES, live_script, sentence

TRAINED = [f"{kind} train" for kind in ("0-var", "1-var", "2-var")]  # accuracies shown beside a step


# what a shipped network is asked by; of one that is changed, of two, or where a reader first predicts, the page says nothing
PLAIN = {"problem", "shows", "run", "step", "address"}
SCRIPTS = {"live.js": (*MODULES, "views"), "live-rules.js": playground.MODULES}  # each loaded where something needs it
SCRIPTS |= {f"{tag}.js": modules for tag, modules in explorables.MODULES.items()}


def answer(tag):
    """The tag of a live network, and after it what the network says of the problem."""
    asked = BeautifulSoup(tag[0], "html.parser").find().attrs
    if not asked.keys() <= PLAIN or asked["run"] not in (BY_HAND, *shipped_runs()):
        return tag[0]
    weights = handmade.weights() if asked["run"] == BY_HAND else load_run(asked["run"]).weights(int(asked["step"]))
    return f'{tag[0]}<p class="said">{sentence(Problem.parse(asked["problem"]), weights)}</p>'


def flow(tag):
    """The flow of a problem, in place of its tag, with all that a page shows before the network is there."""
    asked = BeautifulSoup(tag[0], "html.parser").find().attrs
    figures.use_style()
    return explorables.the_flow(load_run(asked["run"]), asked["problem"]).data


def show_networks(app, page, template, context, doctree):
    """Let a page with a live view say at once what its network says, and load what draws it."""
    body = context.get("body", "")

    def load(name):
        script = f'<script defer src="{context["pathto"](f"_static/{name}", 1)}"></script>'
        context["metatags"] = "\n".join((context.get("metatags", ""), script))

    if "<assign-add" in body or 'class="attention-view"' in body:
        body = re.sub("<assign-add [^>]*>", answer, body)
        load("live.js")
    body = re.sub("<the-flow [^>]*></the-flow>", flow, body)
    for tag in explorables.MODULES:
        if re.search(f"<{tag}[ >]", body):
            load(f"{tag}.js")
    if "<rules-from-examples" in body:
        load("live-rules.js")
        put_rules(app.outdir, body)
    if body:
        context["body"] = body


def put_rules(site, body):
    """Copy the checkpoints that a page's rules from examples name into _static/runs."""
    for data in re.findall('<rules-from-examples>.*?<script type="application/json">(.*?)</script>', body, re.DOTALL):
        for network in json.loads(data)["networks"]:
            if "run" in network:
                path = checkpoint_path(Path(network["run"]), network["step"])
                shipped = shipped_file(f"{RuleRun.shelf}/{path.as_posix()}")
                if file_sha256(shipped) != network["sum"]:
                    raise ValueError(f"{shipped} is not the one that the page was made with; execute the page's notebook again")
                (there := Path(site, "_static/runs", path)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(shipped, there)


def put_scripts(app, error):
    """Join modules into one script each: each file costs a reader time."""
    if not error and app.builder.format == "html":
        for name, modules in SCRIPTS.items():
            Path(app.outdir, "_static", name).write_text(live_script(modules, "document.currentScript.src"), "utf-8")


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
    app.connect("build-finished", put_scripts)
    app.connect("build-finished", put_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
