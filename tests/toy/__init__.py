"""A whole system in five short files: a network finds a hidden vector."""

from assign_add_lib.engine.system import System

from .training import ToyConfig, ToyLearner, ToyRun


def _claims():
    from .claims import CLAIMS

    return CLAIMS


def _sources():
    return {"toy": {name: ToyRun.open(name) for name in ToyRun.shipped()}}


TOY = System(
    "toy",
    ToyConfig,
    ToyLearner,
    ToyRun,
    grid=({"width": [2, 4]},),
    seeds=(0, 1),
    claims=_claims,
    sources=_sources,
)
