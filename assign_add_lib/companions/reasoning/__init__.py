"""Altabaa et al.: unlocking out-of-distribution generalisation by recursive reasoning in latent space.  arXiv 2510.14095."""

from ...engine.system import Sources, System
from .training import GRID, ArmConfig, ArmLearner, ArmRun


def _claims():
    from .claims import CLAIMS

    return CLAIMS


def _sources() -> Sources:
    from .claims import sources

    return sources()


SYSTEM = System(
    "reasoning", ArmConfig, ArmLearner, ArmRun, grid=GRID, seeds=(0, 1, 2), columns=("arm", "seed"),
    claims=_claims, sources=_sources,
)  # fmt: skip
