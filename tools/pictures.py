"""Draw the pictures of the README and of the introduction into assets/, from the shipped runs."""

import os
from pathlib import Path

os.environ["SOURCE_DATE_EPOCH"] = "0"

from assign_add_lib import Problem, load_run
from assign_add_lib.analysis.phases import phase_spans
from assign_add_lib.analysis.shortcuts import expected_accuracy, random_assigned_number
from assign_add_lib.sampling import evaluation_sets
from assign_add_lib.training import shipped_runs
from assign_add_lib.views import figures
from assign_add_lib.views.attention import attention, attention_figure

ASSETS = Path(__file__).resolve().parents[1] / "assets"


def main():
    figures.use_style()
    run, problem = load_run("seed-42"), Problem.parse("c=1, b=17, a=42, b+19=?")
    names = run.task.names(problem.tokens())
    sets = evaluation_sets(run.split)
    one, two = (expected_accuracy(random_assigned_number, sets[f"{kind} train"], run.task) for kind in ("1-var", "2-var"))
    levels = {"1-var": {"random assigned number": one}, "2-var": {"two random assigned numbers": two}}
    others = [load_run(name).metrics for name in shipped_runs() if name != run.name]
    spread = run.task.names(problem.tokens(seed=3))
    variables = [position for position, name in enumerate(spread[:12]) if name in "abc"]
    carried = {position + 1: f"of {spread[position]}" for position in variables} | {14: "(b)", 15: "b, 19"}
    layer_1 = [(position + 1, position) for position in variables] + [(14, 13), (15, 13), (15, 14)]
    layer_2 = [(15, spread.index("17")), (15, 14)]
    ways = {spread.index("17"): "by name", 14: "by place\nand name"}
    pictures = {
        "problem": figures.token_row(names, str(problem.answer)),
        "algorithm": figures.algorithm(spread, layer_1, layer_2, carried, "17 + 19  mod 59", "36", ways),
        "attention": attention_figure(*attention(run, problem)),
        "three-phases": figures.accuracy_curves(run.metrics, phase_spans(run.metrics, run.task), levels, others),
    }
    for name, picture in pictures.items():
        picture.savefig(ASSETS / f"{name}.png", dpi=150, metadata={"Software": None})
        print("drew", f"assets/{name}.png")


if __name__ == "__main__":
    main()
