"""The systems of this book: the study's network, the companions of part IV and the laboratory, each defined once."""

from . import laboratory
from .companions import hypernetwork, reasoning, rules
from .engine.system import Sources, System
from .training import Run, StudyLearner, TrainConfig


def _claims():
    from .claims.study import CLAIMS

    return CLAIMS


def _sources() -> Sources:
    from .claims.study import sources

    return sources()


STUDY = System(
    "study",
    TrainConfig,
    StudyLearner,
    Run,
    seeds=(*range(9), 42),
    columns=("seed", "train_fraction", "r", "steps"),
    claims=_claims,
    sources=_sources,
)
#: The systems by name: study, reasoning, hypernetwork, rules, laboratory.
SYSTEMS = {system.name: system for system in (STUDY, reasoning.SYSTEM, hypernetwork.SYSTEM, rules.SYSTEM, laboratory.SYSTEM)}
