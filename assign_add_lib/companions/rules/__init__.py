"""He, Doshi, Das and Gromov: learning to grok, modular arithmetic learned in context.  arXiv 2406.02550."""

from ...engine.system import Sources, System
from .training import GRID, RuleConfig, RuleLearner, RuleRun


def _claims():
    from .claims import CLAIMS

    return CLAIMS


def _sources() -> Sources:
    from .claims import sources

    return sources()


SYSTEM = System(
    "rules", RuleConfig, RuleLearner, RuleRun, grid=GRID, seeds=(0, 1, 2), columns=("plan", "depth", "tasks", "seed"),
    claims=_claims, sources=_sources,
)  # fmt: skip
