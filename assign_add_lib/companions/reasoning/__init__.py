"""Altabaa et al.: unlocking out-of-distribution generalisation by recursive reasoning in latent space.  arXiv 2510.14095."""

from ...engine.system import System
from .training import GRID, ArmConfig, ArmLearner, ArmRun

SYSTEM = System("reasoning", ArmConfig, ArmLearner, ArmRun, grid=GRID, seeds=(0, 1, 2), columns=("arm", "seed"))
