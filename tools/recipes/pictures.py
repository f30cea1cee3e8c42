"""The pictures of the README, the introduction and of links to the book, and the introduction's table."""

import io
from collections.abc import Sequence

from matplotlib.figure import Figure
from PIL import Image

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis.phases import phase_spans
from assign_add_lib.analysis.shortcuts import expected_accuracy, random_assigned_number
from assign_add_lib.claims.beside import beside_the_study
from assign_add_lib.engine.scoreboard import load_board
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.training import shipped_runs
from assign_add_lib.views import figures
from assign_add_lib.views.attention import attention, attention_figure
from assign_add_lib.views.figures.card import card
from assign_add_lib.views.page import light

from .recipe import ROOT, Files

PROBLEM = "c=1, b=17, a=42, b+19=?"
INTRO = ROOT / "intro.md"
HEADING = "## The study's numbers and ours"
CLAIMS = (
    "0-var solved first",
    "two spikes",
    "one first spike",
    "routing plateaus",
    "constants only",
    "= finds the numbers",
    "identity block",
    "F5a, same pair",
    "F5b, same pair",
    "bare circuit",
    "probe before the MLP",
    "probe after the MLP",
    "best neuron",
)


def algorithm(names: Sequence[str]) -> Figure:
    """The algorithm on one problem."""
    variables = [position for position, name in enumerate(names[:12]) if name in "abc"]
    seventeen = names.index("17")
    carried = {position + 1: f"of {names[position]}" for position in variables} | {14: "(b)", 15: "b,19"}
    layer_1 = [(position + 1, position) for position in variables] + [(14, 13), (15, 13), (15, 14)]
    layer_2 = [(15, seventeen), (15, 14)]
    ways = {seventeen: "name", 14: "place,\nname"}
    return figures.algorithm(names, layer_1, layer_2, carried, ways, "17 + 19 mod 59", "36")


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
    names, spread, answer = run.task.names(problem.tokens()), run.task.names(problem.tokens(seed=3)), str(problem.answer)
    sets = evaluation_sets(run.split)
    one, two = (expected_accuracy(random_assigned_number, sets[f"{kind} train"], run.task) for kind in ("1-var", "2-var"))
    levels = {"1-var": {"random assigned number": one}, "2-var": {"two random assigned numbers": two}}
    others = [load_run(name).metrics for name in shipped_runs() if name != run.name]
    patterns, phases = attention(run, problem), phase_spans(run.metrics, run.task)
    drawn = {
        "problem": figures.token_row(names, answer),
        "algorithm": algorithm(spread),
        "attention": attention_figure(*patterns),
        "three-phases": figures.accuracy_curves(run.metrics, phases, levels, others),
        "card": card(names, patterns[0], PROBLEM, answer, "Assign and Add", "How a small transformer looks up, and adds"),
    }
    return {f"assets/{name}.png": stored(picture, many_greys="phases" in name) for name, picture in drawn.items()}


def title(page: str) -> str:
    """A chapter's number and title, from its file."""
    text = (ROOT / "chapters" / f"{page}.md").read_text("utf-8")
    return f"{int(page[:2])} {text.partition(chr(10) + '# ')[2].partition(chr(10))[0]}"


def introduction() -> Files:
    """The introduction with the study's numbers beside ours, from the shipped scoreboard."""
    board, lines = load_board(), ["| claim | the study | ours, ten runs | measured in |", "|---|---|---|---|"]
    for name in CLAIMS:
        page = board.loc[name, "where"].partition(": ")[0]
        row = beside_the_study(page, board).loc[name]
        link = f"[{title(page)}](chapters/{page}.ipynb)"
        lines.append(f"| **{name}**: {row['measured']} | {row['the study']} | {row['ours']} | {link} |")
    before, heading, after = INTRO.read_text("utf-8").partition(HEADING)
    words, _, rest = after.partition("\n| claim |")
    return {"intro.md": before + heading + words + "\n" + "\n".join(lines) + rest[rest.index("\n\n") :]}
