"""Numbers on a circle: logarithms, pairs half a circle apart, and waves."""

import math

import pytest
import torch
from worlds import SIZES, Run

from assign_add_lib.laboratory import World, circles
from assign_add_lib.laboratory.circles import half_apart, least_at_half, logarithms, off_by_half, strongest, waves_of_logarithms


def waves(at, circle, frequencies, noise=0.0):
    """Answers to questions of constants by cosines, with amplitudes |cos|; the numbers stand at `at` on a circle."""

    def logits(tokens):
        x, y = (at[tokens[:, side]].double() for side in (-3, -2))
        angle = 2 * math.pi * torch.tensor(frequencies) / circle
        cosines = ((x - y)[:, None] / 2 * angle).cos().abs()[:, None] * (((x + y)[:, None] - at)[:, :, None] * angle).cos()
        return cosines.sum(2) + noise * torch.randn(len(x), len(at), generator=torch.Generator().manual_seed(0))

    return logits


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Logits of those that know them."""
    monkeypatch.setattr(circles, "last_logits", lambda weights, tokens: weights(tokens))


def plus(frequencies, noise=0.0):
    return Run(World(**SIZES | {"n_numbers": 12}), waves(torch.arange(12), 12, frequencies, noise))


def minus(frequencies):
    network = waves(torch.arange(12), 12, frequencies)
    turned = lambda tokens: network(torch.cat([tokens[:, :-2], -tokens[:, -2:-1] % 12, tokens[:, -1:]], 1))  # noqa: E731
    return Run(World(**SIZES | {"n_numbers": 12}, operation="-"), turned)


def times(frequencies):
    network = waves(logarithms(13).clamp(min=0), 12, frequencies)
    world = World(**SIZES | {"n_numbers": 13}, operation="*")
    return Run(world, lambda tokens: network(tokens).index_fill(1, torch.tensor([0]), -9.0))


@pytest.mark.parametrize("run", [each((1, 2, 3)) for each in (plus, minus, times)], ids=["plus", "minus", "times"])
def test_waves_fail_half_a_circle_apart(run):
    assert least_at_half(run) == 1 and off_by_half(run) == 1
    logits, truth, apart, other = half_apart(run)
    assert len(truth) == 144 and (apart == 6).sum() == 12
    N, star = run.world.n_numbers, run.world.operation == "*"
    assert other.tolist() == [-q % N for q in range(N)] if star else [(q + 6) % 12 for q in range(12)]


def test_noise_knows_no_circle():
    run = plus((0,), noise=1.0)
    assert off_by_half(run) < 0.5


@pytest.mark.parametrize("settings", [{"n_numbers": 7}, {"n_numbers": 12, "operation": "*"}, {"operands": 3, "length": 15}])
def test_other_worlds_have_no_half_circle(settings):
    with pytest.raises(ValueError, match="half a circle is for two operands"):
        least_at_half(Run(World(**SIZES | settings), None))


def test_energy_at_the_strongest_frequencies():
    n = torch.arange(12.0, dtype=torch.float64)
    wave = lambda k: torch.stack([(2 * math.pi * k * n / 12).cos(), (2 * math.pi * k * n / 12).sin()], 1)  # noqa: E731
    table = torch.cat([3 * wave(2), wave(5), (-1.0) ** n[:, None], 7 * torch.ones(12, 1)], 1)
    total = 9 * 12 + 12 + 12  # the constant is left out
    assert strongest(table, 1) == pytest.approx(9 * 12 / total) and strongest(table, 9) == pytest.approx(1)
    assert strongest(table, 2) == pytest.approx(10 * 12 / total)


def test_waves_of_the_logarithm_are_told_from_waves_of_the_number():
    world = World(n_numbers=59, n_variables=6, length=14, d_model=12, d_mlp=8, operation="*")
    for order, sign in ((logarithms(59)[1:], 1), (torch.arange(58), -1)):
        weights, angle = world.weights(), 2 * math.pi * order[:, None] * torch.tensor([1, 7, 9]) / 58
        weights.W_E[1:59] = torch.cat([angle.cos(), angle.sin(), torch.zeros(58, 6)], 1)
        assert sign * waves_of_logarithms(Run(world, weights)) > 0.3
