"""The pictures of the README, of pages that are no notebooks, and of links to the book."""

import io

from matplotlib.figure import Figure
from PIL import Image

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis.phases import phase_spans
from assign_add_lib.analysis.shortcuts import expected_accuracy, random_assigned_number
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.training import shipped_runs
from assign_add_lib.views import figures
from assign_add_lib.views.attention import attention, attention_figure
from assign_add_lib.views.figures.card import card
from assign_add_lib.views.page import light

from .recipe import Files

PROBLEM = "c=1, b=17, a=42, b+19=?"


def stored(picture: Figure, many_greys: bool) -> bytes:
    """A picture as a small PNG; thin lines, and greys that are to stay grey, take a palette of their own."""
    drawn, small = io.BytesIO(), io.BytesIO()
    picture.savefig(drawn, dpi=picture.dpi, facecolor="auto", metadata={"Software": None})
    image = Image.open(drawn)
    if many_greys:
        image = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    else:
        image = light(image)
    image.save(small, "png", optimize=True)
    return small.getvalue()


def pictures() -> Files:
    """All pictures, from the shipped runs."""
    figures.use_style()
    run, problem = load_run("seed-42"), Problem.parse(PROBLEM)
    names, answer = run.task.names(problem.tokens()), str(problem.answer)
    sets = evaluation_sets(run.split)
    one, two = (expected_accuracy(random_assigned_number, sets[f"{kind} train"], run.task) for kind in ("1-var", "2-var"))
    levels = {"1-var": {"random assigned number": one}, "2-var": {"two random assigned numbers": two}}
    others = [load_run(name).metrics for name in shipped_runs() if name != run.name]
    patterns, phases = attention(run, problem), phase_spans(run.metrics, run.task)
    drawn = {
        "problem": figures.token_row(names, answer),
        "attention": attention_figure(*patterns),
        "three-phases": figures.accuracy_curves(run.metrics, phases, levels, others),
        "card": card(names, patterns[0], PROBLEM, answer, "Assign and Add", "How a small transformer looks up, and adds"),
    }
    return {f"assets/{name}.png": stored(picture, many_greys="phases" in name) for name, picture in drawn.items()}
