"""Kobayashi, Schug et al.: when can transformers compositionally generalise in-context?  arXiv 2407.12275."""

from ...engine.system import Sources, System
from .training import GRID, ArmConfig, ArmLearner, ArmRun


def _claims():
    from .claims import CLAIMS

    return CLAIMS


def _sources() -> Sources:
    from .claims import SOURCE
    from .seeds import seeds

    return {SOURCE: seeds()}


SYSTEM = System(
    "hypernetwork", ArmConfig, ArmLearner, ArmRun, grid=GRID, seeds=(0, 1, 2), columns=("arm", "support", "seed"),
    claims=_claims, sources=_sources,
)  # fmt: skip
