"""Statistics: intervals against their own equations."""

import pytest
import torch

from assign_add_lib.analysis import statistics


def test_bootstrap_covers_as_it_should():
    values = torch.randn(400, 3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    low, high = statistics.bootstrap(values)
    half = 1.96 * values.std(0) / 20
    torch.testing.assert_close(low, values.mean(0) - half, atol=0.02, rtol=0)
    torch.testing.assert_close(high, values.mean(0) + half, atol=0.02, rtol=0)
    assert torch.equal(statistics.bootstrap(values)[0], low)
    assert statistics.bootstrap(values[:, 0, 0])[0].shape == ()


def test_sign_test_is_that_of_fair_coins():
    first = torch.tensor([True] * 9 + [False] * 3 + [True] * 20)
    second = torch.tensor([False] * 9 + [True] * 3 + [True] * 20)
    one, other, p = statistics.sign_test(first, second)
    tosses = torch.cartesian_prod(*[torch.tensor([0, 1])] * 12).sum(1)  # all 4096 outcomes
    assert (one, other) == (9, 3) and p == pytest.approx(((tosses <= 3) | (tosses >= 9)).double().mean().item())
    assert statistics.sign_test(first, first) == (0, 0, 1.0)
    assert statistics.sign_test(second, first)[2] == p
