"""A whole system in five short files: a network finds a hidden vector."""

from assign_add_lib.engine.system import System

from .training import ToyConfig, ToyLearner, ToyRun


def _claims():
    from .claims import CLAIMS

    return CLAIMS


def _sources():
    """What the claims are about, a seed each: its run of width 4."""
    runs = map(ToyRun.open, ToyRun.shipped())
    return {"toy": {f"seed-{run.config.seed}": run for run in runs if run.config.width == 4}}


TOY = System("toy", ToyConfig, ToyLearner, ToyRun, grid=({"width": [2, 4]},), seeds=(0, 1), claims=_claims, sources=_sources)
