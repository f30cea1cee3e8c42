"""Assign and Add: how a small transformer learns to compose variable binding with modular addition."""

from .circuits import last_logits
from .model import Weights, forward
from .runs import load_run
from .task import Problem, Split, Task
from .training import TrainConfig, train

__all__ = ["Problem", "Split", "Task", "TrainConfig", "Weights", "forward", "last_logits", "load_run", "train"]
__version__ = "0.1.0"
