"""Numbers on a circle: where a modulus is even, pairs half a circle apart; and the circle of multiplication, the logarithms."""

import torch
from torch import Tensor

from ..analysis.fourier import logarithms, spectrum
from .data import constants
from .paths import last_logits
from .training import WorldRun, share_of

WAVES = 10  # frequencies, as many as the study's network leans on at most


@torch.no_grad()
def half_apart(run: WorldRun) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For pairs of constants: logits (n, N), answers, and half-circle distances; and for each answer the one half a circle off.

    The circle is that of the numbers modulo an even N for + and -, and that of the logarithms for *, where 0 is left out.
    """
    world, N = run.world, run.world.n_numbers
    numbers, tokens = constants(world)
    if world.operands != 2 or world.operation == "*" and N % 2 == 0 or world.operation != "*" and N % 2:
        raise ValueError("half a circle is for two operands: * modulo a prime, or + and - modulo an even number")
    if world.operation == "*":
        kept, circle = (numbers > 0).all(1), N - 1
        numbers, tokens = numbers[kept], tokens[kept]
        at, other = logarithms(N)[numbers], -torch.arange(N) % N
    else:
        at, circle, other = numbers, N, (torch.arange(N) + N // 2) % N
    apart = at[:, 0] - at[:, 1] if world.operation != "-" else at.sum(1)
    apart = torch.minimum(apart % circle, -apart % circle)
    weights = run.weights()
    logits = torch.cat([last_logits(weights, part) for part in tokens.split(1000)])
    return logits, world.apply(numbers), apart, other


def least_at_half(run: WorldRun, of: str = "") -> float:
    """The rank, 1 for the least, of pairs half a circle apart among pairs at all distances, by the lead of the right logit."""
    logits, truth, apart, _ = half_apart(run)
    others = logits.scatter(1, truth[:, None], -torch.inf).amax(1)
    lead = logits.gather(1, truth[:, None])[:, 0] - others
    by_distance = torch.stack([lead[apart == d].mean() for d in range(int(apart.max()) + 1)])
    return float((by_distance < by_distance[-1]).sum() + 1)


def off_by_half(run: WorldRun, of: str = "") -> float:
    """Of pairs half a circle apart, the share whose strongest wrong answer lies half a circle from the right one."""
    logits, truth, apart, other = half_apart(run)
    wrong = logits.scatter(1, truth[:, None], -torch.inf).argmax(1)
    return share_of((wrong == other[truth])[apart == apart.max()])


def waves_of_logarithms(run: WorldRun, of: str = "") -> float:
    """What the numbers 1..N-1 bring through the last layer: energy at its ten strongest frequencies if they stand in the order
    of their logarithms, less the same in their own order; the mean is left out.
    """
    brought, order = brought_by_numbers(run), logarithms(run.world.n_numbers)[1:].argsort()
    return strongest(brought[order]) - strongest(brought)


def brought_by_numbers(run: WorldRun) -> Tensor:
    """What the numbers 1..N-1 bring through the heads of the last layer together, (N - 1, d_model)."""
    weights = run.weights()
    OV = (weights.by_head("W_V") @ weights.by_head("W_O"))[-1].sum(0)
    return (weights.W_E[1 : run.world.n_numbers] @ OV).double()


def strongest(table: Tensor, many: int = WAVES) -> float:
    """The share of a table's energy (rows, columns) at its strongest frequencies over the rows, its mean left out."""
    return spectrum(table - table.mean(0)).sort(descending=True).values[:many].sum().item()
