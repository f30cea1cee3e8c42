"""Random embeddings in few dimensions instead of orthonormal ones: what interference does to the step."""

import math

import torch
from torch import Tensor

from ..task import Task
from .population import draw, gradient
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


def follow_with(
    setting: Setting, gram: Tensor, steps: int, generator: torch.Generator, batch: int = 512, size: float = 0.1
) -> Tensor:
    """The scores (D, D) after many steps, each on a fresh batch of one-variable problems; the largest entry moves by `size`."""
    weight, W = torch.full((batch,), 1 / batch, dtype=torch.float64), gram @ setting.initial() @ gram
    for _ in range(steps):
        direction = -gram @ gradient(setting, W, draw(setting, 1, batch, generator), weight) @ gram
        W = W + size * direction / direction.abs().max()
    return W
