"""Worlds from file to page: trained, measured and written down."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ..engine.files import write_atomic
from ..engine.folder import CONFIG
from ..engine.sweep import check_place, sweep
from . import SYSTEM
from .page import keep, page, verdicts
from .predictions import SEEDS, Plan, measured, read_plan
from .training import Untrained, WorldRun
from .world import World

Draw = Callable[[Mapping[int, WorldRun]], bytes]  # the picture of a world's runs, by their seeds


def follow(files: Sequence[str], folder: str | Path, seeds: Sequence[int], draw: Draw, **options) -> Iterator[str]:
    """Train worlds by their files with these seeds, and write FOLDER/NAME.md, .png and .csv of each; yields the verdicts.

    What each world predicts is measured on its untrained network first: so whatever cannot be measured is told before training,
    and the page shows what nothing learned gives.  `options` go to the sweep, which continues where it stopped.  Seeds that
    decide a prediction, and were trained by an earlier call, count too.  ValueError for a world that predicts nothing.
    """
    check_place(**options)
    folder, plans = Path(folder), [read_plan(each) for each in files]
    for plan in plans:
        if not plan.predictions:
            raise ValueError(f"{plan.name} predicts nothing; write at least one [[prediction]] before it is trained")
        for path in (folder / f"{plan.name}.{kind}" for kind in ("md", "png", "csv")):
            if path.exists() and not any(folder.glob(f"{plan.name}-*/{CONFIG}")):
                raise ValueError(f"{path} exists, and no run of its world; choose another folder")
    if len({plan.name for plan in plans}) < len(plans):
        raise ValueError("two worlds have the same name")
    if missing := sorted(set(SEEDS) - set(seeds)):
        yield f"note: a verdict also needs the seeds {', '.join(map(str, missing))}"
    untrained = {plan.name: measured(plan, {seeds[0]: Untrained(plan.world(seeds[0]))}) for plan in plans}
    for plan in plans:
        for each in plan.predictions:
            if each.holds(untrained[plan.name].loc[each.name].item()):
                yield f"note: an untrained network fulfils it already: {plan.name}, {each.name}"
    kept = {plan.name: keep(plan, folder) for plan in plans}
    sweep(SYSTEM, [plan.values() | {"seed": list(seeds)} for plan in plans], folder, **options)
    for plan in plans:
        runs = {seed: WorldRun.open(folder / plan.world(seed).label()) for seed in _trained(plan, folder, seeds)}
        values = measured(plan, runs)
        write_atomic(folder / f"{plan.name}.png", draw(runs))
        rows = values.rename_axis("prediction").to_csv(float_format="%.5g", lineterminator="\n")
        write_atomic(folder / f"{plan.name}.csv", rows)
        said = verdicts(plan, values, kept[plan.name])
        write_atomic(folder / f"{plan.name}.md", page(plan, runs, values, untrained[plan.name], said))
        yield from (f"{verdict}: {plan.name}, {name}" for name, verdict in said.items())
        yield f"written: {folder / plan.name}.md"


def _trained(plan: Plan, folder: Path, seeds: Sequence[int]) -> list[int]:
    """These seeds, and those that decide a prediction whose runs of this world are finished."""

    def finished(world: World) -> bool:
        place = folder / world.label()
        return (place / CONFIG).exists() and (run := WorldRun.open(place)).config == world and run.finished

    return [*seeds, *(seed for seed in SEEDS if seed not in seeds and finished(plan.world(seed)))]
