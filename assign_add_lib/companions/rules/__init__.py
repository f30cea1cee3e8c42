"""He, Doshi, Das and Gromov: learning to grok, modular arithmetic learned in context.  arXiv 2406.02550."""

from ...engine.system import System
from .training import GRID, RuleConfig, RuleLearner, RuleRun

SYSTEM = System("rules", RuleConfig, RuleLearner, RuleRun, grid=GRID, seeds=(0, 1, 2), columns=("plan", "depth", "tasks", "seed"))
