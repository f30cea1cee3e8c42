"""Statistics: how far a share or a mean may be off, given how many problems it was counted on."""

import math

import torch
from torch import Tensor


def bootstrap(values: Tensor, draws: int = 1000, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Ends of the 95% interval of the mean over the first axis, by drawing problems with replacement."""
    counts = torch.randint(len(values), (draws, len(values)), generator=torch.Generator().manual_seed(seed))
    weight = torch.zeros(draws, len(values)).scatter_add_(1, counts, torch.ones(counts.shape)) / len(values)
    means = weight.to(values.dtype) @ values.reshape(len(values), -1)
    low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=values.dtype), 0)
    return low.view(values.shape[1:]), high.view(values.shape[1:])


def sign_test(first: Tensor, second: Tensor) -> tuple[int, int, float]:
    """How often only the first, and only the second, is true on the same problems (batch,), and the exact p of so uneven a split.

    McNemar's test: where the two are equally good, each problem on which they differ falls either way with probability 1/2.
    """
    one, other = (first & ~second).sum().item(), (second & ~first).sum().item()
    n, fewer = one + other, min(one, other)
    tail = sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n
    return one, other, min(1.0, 2 * tail)
