"""Worlds from file to page: trained, measured, drawn and written down."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from ..engine.files import write_atomic
from ..engine.sweep import sweep
from ..laboratory import SYSTEM
from ..laboratory.analysis import base
from ..laboratory.page import keep, page, verdicts
from ..laboratory.predictions import Plan, measured, read_plan
from ..laboratory.training import Untrained, WorldRun
from .figures import accuracy_curves, use_style


def follow(files: Sequence[str], folder: str | Path, seeds: Sequence[int], **options) -> Iterator[str]:
    """Train worlds by their files with these seeds, and write FOLDER/NAME.md, .png and .csv of each; yields the verdicts.

    What each world predicts is measured on its untrained network first: so whatever cannot be measured is told before training,
    and the page shows what nothing learned gives.  `options` go to the sweep, which continues where it stopped.
    ValueError for a world that predicts nothing.
    """
    folder, plans = Path(folder), [read_plan(each) for each in files]
    for plan in plans:
        if not plan.predictions:
            raise ValueError(f"{plan.name} predicts nothing; write at least one [[prediction]] before it is trained")
    if len({plan.name for plan in plans}) < len(plans):
        raise ValueError("two worlds have the same name")
    untrained = {plan.name: measured(plan, {seeds[0]: Untrained(plan.world(seeds[0]))}) for plan in plans}
    kept = {plan.name: keep(plan, folder) for plan in plans}
    sweep(SYSTEM, [plan.values() | {"seed": list(seeds)} for plan in plans], folder, **options)
    for plan in plans:
        runs = {seed: WorldRun.open(folder / plan.world(seed).label()) for seed in seeds}
        values = measured(plan, runs)
        draw(plan, runs, folder / f"{plan.name}.png")
        rows = values.rename_axis("prediction").to_csv(float_format="%.5g", lineterminator="\n")
        write_atomic(folder / f"{plan.name}.csv", rows)
        said = verdicts(plan, values, kept[plan.name])
        text = page(plan, runs, values, untrained[plan.name], said, f"{plan.name}.png")
        write_atomic(folder / f"{plan.name}.md", text)
        yield from (f"{verdict}: {plan.name}, {name}" for name, verdict in said.items())
        yield f"written: {folder / plan.name}.md"


def draw(plan: Plan, runs: dict[int, WorldRun], path: Path) -> None:
    """Write the picture of a world's accuracies over training, the first seed bold and the others faint behind it."""
    first, *others = runs.values()
    trained = [name for name in first.metrics if name.endswith(" train") and not name.startswith("0")]
    levels = {name.removesuffix(" train"): {"shortcut": base(first, name)} for name in trained}
    content = io.BytesIO()
    with plt.rc_context():  # the caller's own style stays
        use_style()
        figure = accuracy_curves(first.metrics, (), levels, [each.metrics for each in others])
        figure.savefig(content, format="png")
        plt.close(figure)
    write_atomic(path, content.getvalue())
