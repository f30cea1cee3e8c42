"""Draw the pictures of the README and of the introduction into assets/, from the shipped runs; `-narrow` is for phones."""

import os
from collections.abc import Sequence
from pathlib import Path

os.environ["SOURCE_DATE_EPOCH"] = "0"

from matplotlib.figure import Figure
from PIL import Image

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis.phases import phase_spans
from assign_add_lib.analysis.shortcuts import expected_accuracy, random_assigned_number
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.training import shipped_runs
from assign_add_lib.views import figures
from assign_add_lib.views.attention import attention, attention_figure
from assign_add_lib.views.page import DENSITY, INCH, light

ASSETS = Path(__file__).resolve().parents[1] / "assets"
NARROW = 3.7  # inches


def algorithm(names: Sequence[str], wide: bool) -> Figure:
    """The algorithm on one problem, on a narrow page without its PADs."""
    variables = [position for position, name in enumerate(names[:12]) if name in "abc"]
    seventeen = names.index("17")
    carried = {position + 1: f"of {names[position]}" for position in variables} | {14: "(b)", 15: "b, 19" if wide else "b,19"}
    layer_1 = [(position + 1, position) for position in variables] + [(14, 13), (15, 13), (15, 14)]
    layer_2 = [(15, seventeen), (15, 14)]
    ways = {seventeen: "by name" if wide else "name", 14: "by place\nand name" if wide else "place,\nname"}
    shown = [position for position, name in enumerate(names) if wide or name != "PAD"]
    place = {position: index for index, position in enumerate(shown)}
    return figures.algorithm(
        [names[position] for position in shown],
        [(place[query], place[key]) for query, key in layer_1],
        [(place[query], place[key]) for query, key in layer_2],
        {place[position]: words for position, words in carried.items()},
        "17 + 19  mod 59" if wide else "17 + 19\nmod 59",
        "36",
        {place[position]: words for position, words in ways.items()},
        shown,
    )


def main():
    figures.use_style()
    run, problem = load_run("seed-42"), Problem.parse("c=1, b=17, a=42, b+19=?")
    names, spread, answer = run.task.names(problem.tokens()), run.task.names(problem.tokens(seed=3)), str(problem.answer)
    sets = evaluation_sets(run.split)
    one, two = (expected_accuracy(random_assigned_number, sets[f"{kind} train"], run.task) for kind in ("1-var", "2-var"))
    levels = {"1-var": {"random assigned number": one}, "2-var": {"two random assigned numbers": two}}
    others = [load_run(name).metrics for name in shipped_runs() if name != run.name]
    before, after = names[:6], names[12:]
    called = [*"012345", "6-11", *range(12, 16)]
    patterns, phases = attention(run, problem), phase_spans(run.metrics, run.task)
    pictures = {
        "problem": figures.token_row(names, answer),
        "problem-narrow": figures.token_row([*before, "PAD", *after], answer, positions=called),
        "algorithm": algorithm(spread, wide=True),
        "algorithm-narrow": algorithm(spread, wide=False),
        "attention": attention_figure(*patterns),
        "attention-narrow": attention_figure(*patterns, stacked=True),
        "three-phases": figures.accuracy_curves(run.metrics, phases, levels, others),
        "three-phases-narrow": figures.accuracy_curves(run.metrics, phases, levels, others),
    }
    for name, picture in pictures.items():
        path = ASSETS / f"{name}.png"
        if name.endswith("narrow"):
            picture.set_size_inches(NARROW, picture.get_figheight())
        picture.savefig(path, dpi=200 if name.endswith("narrow") else DENSITY * INCH, metadata={"Software": None})
        image = Image.open(path)
        if "phases" in name:  # many thin lines, and greys that are to stay grey
            image = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        else:
            image = light(image)
        image.save(path, optimize=True)
        print("drew", f"assets/{path.name}")


if __name__ == "__main__":
    main()
