"""The task: say the product of a random vector and a hidden one."""

import torch
from torch import Tensor


def hidden_vector(width: int, seed: int) -> Tensor:
    """The hidden vector of a seed, (width,)."""
    return torch.randn(width, generator=torch.Generator().manual_seed(seed))


def examples(hidden: Tensor, n: int, generator: torch.Generator):
    """Random vectors, (n, width), and their products with it, (n,)."""
    size = (n, len(hidden))
    x = torch.randn(size, generator=generator, device=generator.device)
    return x, x @ hidden
