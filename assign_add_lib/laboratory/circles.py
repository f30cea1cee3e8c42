"""Numbers on a circle: where a modulus is even, pairs half a circle apart; and the circle of multiplication, the logarithms."""

import torch
from torch import Tensor

from ..analysis.fourier import logarithms, spectrum
from .data import constants
from .training import WorldRun

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
    logits = torch.cat([run.network()(part) for part in tokens.split(1000)])
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
    return (wrong == other[truth])[apart == apart.max()].double().mean().item()


def waves_of_logarithms(run: WorldRun, of: str = "") -> float:
    """What the numbers 1..N-1 bring through the last layer: energy at its ten strongest frequencies if they stand in the order
    of their logarithms, less the same in their own order; the mean is left out.
    """
    network, N = run.network(), run.world.n_numbers
    _, OV = network.circuits()
    table = (network.W_E[1:N] @ OV[-1].sum(0)).double()
    return strongest(table[logarithms(N)[1:].argsort()]) - strongest(table)


def strongest(table: Tensor, many: int = WAVES) -> float:
    """The share of a table's energy (rows, columns) at its strongest frequencies over the rows, its mean left out."""
    return spectrum(table - table.mean(0)).sort(descending=True).values[:many].sum().item()
