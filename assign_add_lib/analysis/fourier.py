"""Fourier features of the numbers modulo N: spectra, single-frequency fits of neurons, phases, and clock or pizza.

A *table* here has one row for each number 0..N-1; its columns are functions of that number.  K = N // 2 is the highest
frequency.  Results with one entry a frequency are indexed by it, 0..K; frequency 0 is the constant.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..circuits import OV, last_logits
from ..model import Weights


def basis(N: int) -> Tensor:
    """The orthonormal Fourier basis of Z_N as columns (N, N): the constant, then cos and sin of frequency 1, 2, ..., K.

    Of an even N the last column is the cosine of frequency K, +1 and -1 in turn, which has no sine.
    """
    x = torch.arange(N, dtype=torch.float64)
    angles = 2 * math.pi * x[:, None] * torch.arange(1, (N + 1) // 2) / N  # (N, frequency)
    waves = math.sqrt(2 / N) * torch.stack([angles.cos(), angles.sin()], 2).flatten(1)
    level = torch.full((N, 1), 1 / math.sqrt(N), dtype=torch.float64)
    return torch.cat([level, waves] + [level * (-1) ** x[:, None]] * (N % 2 == 0), 1)


def frequencies(N: int) -> Tensor:
    """The frequency of each column of `basis(N)`: 0, 1, 1, 2, 2, ..., K, K."""
    return (torch.arange(N) + 1) // 2


def logarithms(p: int) -> Tensor:
    """The discrete logarithm of each number to the base of the least primitive root of a prime p, (p,); of 0 it is -1.

    ValueError for what is no prime.
    """
    for root in range(1, p):
        powers = [pow(root, power, p) for power in range(p - 1)]
        if sorted(powers) == list(range(1, p)):
            found = torch.full((p,), -1)
            found[torch.tensor(powers)] = torch.arange(p - 1)
            return found
    raise ValueError(f"p must be a prime, not {p}")


def spectrum(table: Tensor) -> Tensor:
    """The share of a table's energy (sum of squares) at each frequency, (K + 1,), for a table (N, columns)."""
    N = len(table)
    energy = (basis(N).T @ table.double().flatten(1)).square().sum(1)
    return torch.zeros(N // 2 + 1, dtype=torch.float64).index_add(0, frequencies(N), energy) / energy.sum()


def key_frequencies(table: Tensor, least: float = 0.01) -> list[int]:
    """The frequencies, without the constant, that hold more than a share `least` of a table's energy."""
    return [k for k, share in enumerate(spectrum(table).tolist()) if k and share > least]


def keep(table: Tensor, kept: Sequence[int]) -> Tensor:
    """The part of a table (N, ...) at the frequencies kept; 0 keeps the constant."""
    N = len(table)
    waves = basis(N)[:, torch.isin(frequencies(N), torch.tensor(list(kept), dtype=torch.long))]
    part = waves @ (waves.T @ table.double().flatten(1))
    return part.view(table.shape).to(table.dtype)


def remove(table: Tensor, removed: Sequence[int]) -> Tensor:
    """A table (N, ...) without its part at some frequencies."""
    return table - keep(table, removed)


def amplitudes_and_phases(table: Tensor) -> tuple[Tensor, Tensor]:
    """Amplitudes and phases (K + 1, columns) with table[x] = sum over k of amplitude_k cos(2 pi k x / N + phase_k).

    ValueError for an even N, where the phase of frequency K is free.
    """
    N = len(table)
    if N % 2 == 0:
        raise ValueError(f"amplitudes and phases are for odd N, not {N}")
    coefficients = basis(N).T @ table.double()
    cosine, sine = coefficients[1::2], coefficients[2::2]
    amplitude = math.sqrt(2 / N) * torch.hypot(cosine, sine)
    phase = torch.atan2(-sine, cosine)
    constant = table.double().mean(0, keepdim=True)
    return torch.cat([constant, amplitude]), torch.cat([torch.zeros_like(constant), phase])


class Fits(NamedTuple):
    """Least-squares fits c + A cos(2 pi k x / N + alpha) + B cos(2 pi k y / N + beta), one a frequency and neuron."""

    share: Tensor  #: (K + 1, neurons) of the variance over all pairs that the fit explains; 0 for frequency 0
    A: Tensor  #: (K + 1, neurons)
    alpha: Tensor  #: (K + 1, neurons) in radians
    B: Tensor  #: (K + 1, neurons)
    beta: Tensor  #: (K + 1, neurons)


def fit_neurons(pre: Tensor) -> Fits:
    """Fit pre-activations (x, y, neurons) over all pairs with every single frequency at once.  Figure 11.

    All waves in x, in y and the constant are orthogonal over the N^2 pairs, so each fit is a projection.
    """
    pre = pre.double()
    (A, alpha), (B, beta) = amplitudes_and_phases(pre.mean(1)), amplitudes_and_phases(pre.mean(0))
    variance = (pre - pre.mean((0, 1))).square().mean((0, 1))
    share = (A.square() + B.square()) / (2 * variance)
    share[0] = 0
    return Fits(share, A, alpha, B, beta)


def single_waves(h: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """Neurons reduced to one wave: h (N, neurons) and out (neurons, N), each kept at the neuron's best-fitting frequency alone.

    The frequency is the one that explains most of a column of h, here and at the output; the constants go too.
    """
    (A, alpha), (G, gamma) = amplitudes_and_phases(h), amplitudes_and_phases(out.T)
    k, neuron = A[1:].argmax(0) + 1, torch.arange(h.shape[1])
    angle = 2 * math.pi / len(h) * torch.arange(len(h), dtype=torch.float64)[:, None] * k  # (N, neurons)
    left = A[k, neuron] * (angle + alpha[k, neuron]).cos()
    return left.to(h.dtype), (G[k, neuron] * (angle + gamma[k, neuron]).cos()).T.to(out.dtype)


def number_table(weights: Weights) -> Tensor:
    """E OV2: what layer 2 passes on of each number, (N, d_model)."""
    return weights.W_E[: weights.task.n_numbers] @ OV(weights, 2)


def pair_logits(left: Tensor, right: Tensor, out: Tensor, activation: Callable = torch.relu) -> Tensor:
    """Logits (x, y, q) of activation(left[x] + right[y]) out, for left and right (N, neurons) and out (neurons, N)."""
    return activation(left[:, None] + right) @ out


def sum_waves(N: int, ks: Sequence[int]) -> Tensor:
    """Orthonormal functions of the pair (x, y), as columns (N^2, 2 len(ks)): cos and sin of 2 pi k (x + y) / N for each k > 0."""
    x = torch.arange(N, dtype=torch.float64)
    angle = 2 * math.pi * (x[:, None] + x).flatten()[:, None] * torch.tensor(list(ks), dtype=torch.float64) / N  # (pairs, ks)
    return math.sqrt(2) / N * torch.stack([angle.cos(), angle.sin()], 2).flatten(1)


def sum_share(table: Tensor, ks: Sequence[int]) -> float:
    """The share of a table's variance over the pairs (x, y) that lies on the `sum_waves` of ks, for a table (N, N, ...)."""
    rows = table.double().flatten(0, 1).flatten(1)
    rows = rows - rows.mean(0)
    return ((sum_waves(len(table), ks).T @ rows).square().sum() / rows.square().sum()).item()


def pair_spectrum(table: Tensor) -> Tensor:
    """The share of a table's variance over (x, y) at each pair of frequencies, (K + 1, K + 1), for a table (N, N, columns).

    Entry (j, k) belongs to waves of frequency j in x times waves of frequency k in y: the two-dimensional Fourier transform.
    """
    N, waves = len(table), basis(len(table))
    energy = torch.einsum("xi,xyn,yj->ijn", waves, table.double(), waves).square().sum(2)
    energy[0, 0] = 0  # the mean is no variance
    fold = torch.nn.functional.one_hot(frequencies(N)).double()  # (N, K + 1)
    return fold.T @ energy @ fold / energy.sum()


def restricted(logits: Tensor, ks: Sequence[int]) -> Tensor:
    """Logits (x, y, q) with nothing left of them, as functions of the pair, but their mean and the `sum_waves` of ks.

    Their cross entropy is the restricted loss of Nanda et al. 2023.
    """
    rows, waves = logits.double().flatten(0, 1), sum_waves(len(logits), ks)
    return (rows.mean(0) + waves @ (waves.T @ rows)).view(logits.shape).to(logits.dtype)


def excluded(logits: Tensor, ks: Sequence[int]) -> Tensor:
    """Logits (x, y, q) without the `sum_waves` of ks.

    Their cross entropy on training pairs is the excluded loss of Nanda et al. 2023.
    """
    rows, waves = logits.double().flatten(0, 1), sum_waves(len(logits), ks)
    return (rows - waves @ (waves.T @ rows)).view(logits.shape).to(logits.dtype)


def plain_logits(weights: Weights) -> Tensor:
    """The whole network's logits (x, y, q) for all sums of two typed numbers, PADs and nothing else before them."""
    task = weights.task
    x, y = torch.cartesian_prod(*[torch.arange(task.n_numbers)] * 2).T
    tokens = torch.full((len(x), task.length), task.pad)
    tokens[:, task.room], tokens[:, task.left], tokens[:, task.right], tokens[:, task.last] = task.plus, x, y, task.equal
    return last_logits(weights, tokens).view(*[task.n_numbers] * 3)


def _sums(N: int) -> Tensor:
    """(x + y) mod N for every pair, (x, y)."""
    x = torch.arange(N)
    return (x[:, None] + x) % N


def pair_margins(logits: Tensor) -> Tensor:
    """The right answer's logit less the largest other one, (x, y), from logits (x, y, q)."""
    return right_logits(logits) - logits.scatter(2, _sums(len(logits))[..., None], -torch.inf).max(2).values


def right_logits(logits: Tensor) -> Tensor:
    """The logit of (x + y) mod N for every pair, (x, y), from logits (x, y, q)."""
    return logits.gather(2, _sums(len(logits))[..., None]).squeeze(2)


def pair_accuracy(logits: Tensor) -> float:
    """The share of all pairs whose largest logit is at (x + y) mod N, from logits (x, y, q)."""
    return (logits.argmax(2) == _sums(len(logits))).double().mean().item()


def circular_error(a: Tensor, b: Tensor) -> Tensor:
    """The angle from b to a, in (-pi, pi]."""
    return torch.atan2((a - b).sin(), (a - b).cos())


def distance_irrelevance(logits: Tensor) -> float:
    """How little the right answer's logit depends on x - y: 0 not on anything else, 1 not at all.

    The mean over d of the standard deviation of L[x, x + d] over x, over that of all L.  Zhong et al. 2023, definition 4.2.
    """
    by_distance = _by_distance(logits)
    return (by_distance.std(1, correction=0).mean() / right_logits(logits).double().std(correction=0)).item()


def _by_distance(logits: Tensor) -> Tensor:
    """The right answer's logits L[x, x + d], (d, x), from logits (x, y, q)."""
    x = torch.arange(len(logits))
    return right_logits(logits).double()[x, (x + x[:, None]) % len(x)]


def distance_spread(logits: Tensor) -> tuple[float, float]:
    """The right answer's logit L by distance: standard deviation of its mean between the d, and root mean variance within them.

    Their squares add up to the variance of all L[x, x + d], from logits (x, y, q).
    """
    by_distance = _by_distance(logits)
    return by_distance.mean(1).std(correction=0).item(), by_distance.var(1, correction=0).mean().sqrt().item()


def answer_part(logits: Tensor, k: int) -> Tensor:
    """What frequency k, as a wave over q, adds to the right answer's logit, (x, y), from logits (x, y, q)."""
    return right_logits(keep(logits.permute(2, 0, 1), [k]).permute(1, 2, 0))
