"""Fourier features against numpy's FFT, least squares, and sums written out."""

import math

import numpy as np
import pytest
import torch

from assign_add_lib import Task, Weights, forward
from assign_add_lib.analysis import fourier
from assign_add_lib.circuits import bare_addition

N = 59
K = N // 2


@pytest.fixture
def table():
    return torch.randn(N, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.5


@pytest.fixture
def logits():
    return torch.randn(11, 11, 11, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("n", [6, 58, 59])
def test_spectrum_is_that_of_numpys_fft(n, table):
    energy = np.abs(np.fft.fft(table[:n].numpy(), axis=0)) ** 2
    folded = np.array([energy[0], *(energy[k] + energy[-k] * (2 * k != n) for k in range(1, n // 2 + 1))]).sum(1)
    assert np.allclose(fourier.spectrum(table[:n]), folded / folded.sum())


def test_key_frequencies_of_planted_waves():
    x = torch.arange(N) * 2 * math.pi / N
    table = torch.stack([(3 * x).cos(), (17 * x + 1).sin(), torch.ones(N)], 1)
    assert fourier.key_frequencies(table) == [3, 17]
    assert fourier.key_frequencies(table, least=0.5) == []


def test_keep_is_numpys_fft_with_the_rest_set_to_zero(table):
    transformed = np.fft.rfft(table.numpy(), axis=0)
    for kept in ([], [0], [4], [0, 2, 29]):
        mask = np.isin(np.arange(K + 1), kept)[:, None]
        expected = np.fft.irfft(transformed * mask, n=N, axis=0)
        assert np.allclose(fourier.keep(table, kept), expected)
        assert np.allclose(fourier.remove(table, kept), table.numpy() - expected)
        assert np.allclose(fourier.keep(table.view(N, 7, 1), kept)[..., 0], expected)  # any table, along its first axis


def test_waves_are_numpys_amplitudes_and_phases(table):
    amplitude, phase = fourier.amplitudes_and_phases(table)
    transformed = np.fft.rfft(table.numpy(), axis=0)
    assert np.allclose(amplitude[1:], 2 / N * np.abs(transformed[1:]))
    assert np.allclose(phase[1:], np.angle(transformed[1:]))
    angles = 2 * math.pi / N * torch.arange(N, dtype=torch.float64) * torch.arange(K + 1)[:, None]  # (K + 1, N)
    assert torch.allclose((amplitude[:, None] * (angles[..., None] + phase[:, None]).cos()).sum(0), table)


def test_fits_are_those_of_least_squares():
    pre = torch.randn(N, N, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    fits, flat = fourier.fit_neurons(pre), pre.flatten(0, 1).numpy()
    x, y = (2 * math.pi * axis.flatten() / N for axis in np.meshgrid(np.arange(N), np.arange(N), indexing="ij"))
    for k in (1, 8, 29):
        columns = np.stack([np.ones_like(x), np.cos(k * x), -np.sin(k * x), np.cos(k * y), -np.sin(k * y)], 1)
        (_, ax, bx, ay, by), residual = np.linalg.lstsq(columns, flat, rcond=None)[:2]
        assert np.allclose(fits.share[k], 1 - residual / len(flat) / flat.var(0))
        assert np.allclose(torch.polar(fits.A[k], fits.alpha[k]), ax + 1j * bx)
        assert np.allclose(torch.polar(fits.B[k], fits.beta[k]), ay + 1j * by)


def test_tables_make_the_bare_circuit():
    task = Task(11, 3, 10)
    weights = Weights.init(task, seed=0, d_model=12, d_mlp=20)
    left = fourier.number_table(weights) @ weights.W_in
    logits = fourier.pair_logits(left, left, weights.W_out @ weights.W_U)
    assert torch.allclose(logits, bare_addition(weights), atol=1e-6)


def test_right_logits_accuracy_and_irrelevance_by_loops(logits):
    n = len(logits)
    L = np.array([[logits[x, y, (x + y) % n].item() for y in range(n)] for x in range(n)])
    assert np.allclose(fourier.right_logits(logits), L)
    correct = [logits[x, y].argmax().item() == (x + y) % n for x in range(n) for y in range(n)]
    assert fourier.pair_accuracy(logits) == pytest.approx(np.mean(correct))
    inner = [np.std([L[x, y] for x in range(n) for y in range(n) if (y - x) % n == d]) for d in range(n)]
    assert fourier.distance_irrelevance(logits) == pytest.approx(np.mean(inner) / np.std(L))
    between, within = fourier.distance_spread(logits)
    assert within == pytest.approx(np.sqrt(np.mean(np.square(inner))))
    assert between**2 + within**2 == pytest.approx(np.var(L))  # the law of total variance


def test_circular_error():
    a = torch.tensor([0.1, 3.1, -3.1, 7.0])
    b = torch.tensor([6.2, -3.1, 3.1, 7.0])
    error = fourier.circular_error(a, b)
    assert torch.allclose(error, torch.tensor([2 * math.pi - 6.1, 6.2 - 2 * math.pi, 2 * math.pi - 6.2, 0.0]), atol=1e-5)


@pytest.fixture
def pairs():
    return torch.randn(11, 11, 4, generator=torch.Generator().manual_seed(4), dtype=torch.float64) + 0.3


def test_sum_waves_are_orthonormal_and_span_what_depends_on_the_sum(pairs):
    waves = fourier.sum_waves(11, range(1, 6))
    assert torch.allclose(waves.T @ waves, torch.eye(10, dtype=torch.float64), atol=1e-12)
    table = pairs.numpy()
    by_sum = np.array([[np.mean([table[a, (x + y - a) % 11] for a in range(11)], 0) for y in range(11)] for x in range(11)])
    assert np.allclose(fourier.restricted(pairs, range(1, 6)), by_sum)
    assert fourier.sum_share(pairs, range(1, 6)) == pytest.approx(by_sum.var((0, 1)).sum() / table.var((0, 1)).sum())


def test_restricted_and_excluded_are_numpys_fft_with_terms_set_to_zero(pairs):
    transformed = np.fft.fft2(pairs.numpy(), axes=(0, 1))
    j, k = np.meshgrid(np.arange(11), np.arange(11), indexing="ij")
    on_sum = (j == k) & np.isin(j, [2, 5, 6, 9])  # frequencies 2 and 5, and their mirror images
    kept = np.fft.ifft2(transformed * (on_sum | ((j == 0) & (k == 0)))[..., None], axes=(0, 1)).real
    rest = np.fft.ifft2(transformed * ~on_sum[..., None], axes=(0, 1)).real
    assert np.allclose(fourier.restricted(pairs, [2, 5]), kept)
    assert np.allclose(fourier.excluded(pairs, [2, 5]), rest)


def test_pair_spectrum_is_numpys_two_dimensional_fft(pairs):
    energy = (np.abs(np.fft.fft2(pairs.numpy(), axes=(0, 1))) ** 2).sum(2)
    energy[0, 0], folded = 0, np.zeros((6, 6))
    for j, k in np.ndindex(11, 11):
        folded[min(j, 11 - j), min(k, 11 - k)] += energy[j, k]
    assert np.allclose(fourier.pair_spectrum(pairs), folded / folded.sum())


def test_single_waves_keep_planted_ones():
    x = 2 * math.pi * torch.arange(N, dtype=torch.float64) / N
    h = torch.stack([3 * (4 * x + 1).cos(), 2 * (9 * x - 2).cos()], 1)
    out = torch.stack([(4 * x + 2).cos(), 5 * (9 * x + 0.5).cos()])
    other = (7 * x).sin()
    left, right = fourier.single_waves(h + other[:, None] + 6, out + 8 * other)
    assert torch.allclose(left, h, atol=1e-6)
    assert torch.allclose(right, out, atol=1e-6)


def test_plain_logits_are_the_networks():
    weights = Weights.init(Task(11, 3, 10), seed=1, d_model=12, d_mlp=20)
    logits = fourier.plain_logits(weights)
    pad, plus, equal = weights.task.pad, weights.task.plus, weights.task.equal
    for x, y in ((0, 0), (3, 7), (10, 2)):
        tokens = torch.tensor([[pad] * weights.task.room + [plus, x, y, equal]])
        assert torch.allclose(logits[x, y], forward(weights, tokens)[0, -1], atol=1e-5)


def test_margins_by_loops(logits):
    found = fourier.pair_margins(logits)
    for x, y in np.ndindex(11, 11):
        row = logits[x, y].tolist()
        right = row.pop((x + y) % 11)
        assert found[x, y].item() == pytest.approx(right - max(row))


def test_answer_parts_add_up_to_the_right_logit(logits):
    parts = sum(fourier.answer_part(logits, k) for k in range(6))
    assert torch.allclose(parts, fourier.right_logits(logits))


@pytest.mark.parametrize("p", [3, 5, 7, 11, 29, 59])
def test_logarithms_turn_products_into_sums(p):
    log = fourier.logarithms(p).tolist()
    assert log[0] == -1 and sorted(log[1:]) == list(range(p - 1)) and log[1] == 0
    assert all((log[a] + log[b]) % (p - 1) == log[a * b % p] for a in range(1, p) for b in range(1, p))


def test_what_is_not_defined_is_refused(table):
    for p in (1, 4, 9, 60):
        with pytest.raises(ValueError, match=f"p must be a prime, not {p}"):
            fourier.logarithms(p)
    with pytest.raises(ValueError, match="odd N, not 58"):
        fourier.amplitudes_and_phases(table[:58])
