"""What weights cost: their sum of squares, at its least over all ways to write the same function that we can search.

A circuit may be shared out between its two factors, a neuron between its input and its output, and the residual stream written
in any basis; none of this changes a logit.
"""

import math

import torch
from torch import Tensor

from ..circuits import OV, QK
from ..model import Weights


def cost(w: Weights) -> Tensor:
    """Sum of squares, with circuits and neurons shared out in the cheapest way."""
    products = [QK(w, layer) * math.sqrt(w.W_Q.shape[-1]) for layer in (1, 2)]
    products += [OV(w, 1), OV(w, 2)]
    values = [torch.linalg.svdvals(each) for each in products]
    attention = sum(2 * each[each > 1e-6 * each[0]].sum() for each in values)
    rest = sum(each.square().sum() for each in (w.W_E, w.W_pos, w.W_U))
    neurons = w.W_in.norm(dim=0) * w.W_out.norm(dim=1)
    return attention + rest + 2 * neurons.sum()


def in_coordinates(w: Weights, M: Tensor) -> Weights:
    """The same function, with the residual stream x written as x M, M (d_model, d_model) invertible."""
    back = torch.linalg.inv(M)
    writes = {name: getattr(w, name) @ M for name in ("W_E", "W_pos", "W_O", "W_out")}
    reads = {name: back @ getattr(w, name) for name in ("W_Q", "W_K", "W_V", "W_in", "W_U")}
    return w.replace(**writes, **reads)


def balanced(w: Weights, mixing: bool = False) -> Weights:
    """The cheapest weights of the same function that L-BFGS finds, in float64: by a factor a coordinate, or if `mixing` any M."""
    w = w.to(torch.float64)
    unit = torch.eye(w.W_E.shape[1], dtype=torch.float64)
    free = torch.zeros_like(unit if mixing else unit[0], requires_grad=True)
    search = torch.optim.LBFGS([free], max_iter=100, line_search_fn="strong_wolfe")

    def matrix() -> Tensor:
        return torch.linalg.matrix_exp(free + free.T) if mixing else unit * free.exp()

    def total() -> Tensor:
        search.zero_grad()
        squares = cost(in_coordinates(w, matrix()))
        squares.backward()
        return squares

    with torch.enable_grad():
        search.step(total)
    return in_coordinates(w, matrix().detach())
