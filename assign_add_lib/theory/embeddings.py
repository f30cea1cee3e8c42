"""Random embeddings in few dimensions instead of orthonormal ones: what interference does to the step."""

import math

import torch
from torch import Tensor

from ..task import Task
from .population import gradient
from .setting import Setting, coordinates, dimensions


def gram(task: Task, width: int, generator: torch.Generator) -> Tensor:
    """Inner products (D, D) of random unit vectors of `width` dimensions and of what a random map of layer 1 makes of them."""
    at, D = coordinates(task), dimensions(task)
    rows = torch.randn(D, width, generator=generator, dtype=torch.float64) / math.sqrt(width)
    layer_1 = torch.randn(width, width, generator=generator, dtype=torch.float64) / math.sqrt(width)
    for name in ("variable", "number"):
        rows[at[f"moved {name}"]] = rows[at[name]] @ layer_1
    rows = rows / rows.norm(dim=1, keepdim=True)
    return rows @ rows.T


def step_with(setting: Setting, gram: Tensor, tokens: Tensor, weight: Tensor) -> Tensor:
    """The scores (D, D) of everything for everything after the theorem's step, if embeddings have the inner products `gram`.

    A matrix W of vectors scores as gram W gram does in index form, and so does its step.  Layer 1 and the MLP stay exact.
    """
    start = gram @ setting.initial() @ gram
    return start - setting.step_size * gram @ gradient(setting, start, tokens, weight) @ gram
