"""What is measured on a run, from its weights."""

import torch

from .data import hidden_vector
from .training import ToyRun


@torch.no_grad()
def distance(run: ToyRun) -> float:
    """How far the network's vector is from the hidden one."""
    hidden = hidden_vector(run.config.width, run.config.seed)
    return (run.network().guess - hidden).norm().item()
