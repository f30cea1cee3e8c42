"""The laboratory: worlds that differ from the study's, each in a file that says what will come out before it is trained."""

from ..engine.system import System
from .predictions import SEEDS, read_plan, shipped_plans
from .training import WorldLearner, WorldRun
from .world import World

SYSTEM = System(
    "laboratory",
    World,
    WorldLearner,
    WorldRun,
    grid=[read_plan(name).values() for name in shipped_plans()],
    seeds=SEEDS,
    columns=("name", "seed"),
)
