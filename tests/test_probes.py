"""Probes against what can be worked out without them."""

import pytest
import torch

from assign_add_lib.analysis.probes import both_numbers_accuracy, fit_probe, probe_accuracy, score_probe, unordered_split

N = 11
PAIRS = torch.cartesian_prod(torch.arange(N), torch.arange(N))
SUMS = PAIRS.sum(1) % N


@pytest.fixture
def learn():
    return unordered_split(N)


def test_split_keeps_both_orders_together():
    learn = unordered_split(59).view(59, 59)
    assert torch.equal(learn, learn.T)
    assert learn.float().mean().item() == pytest.approx(0.7, abs=0.03)
    assert not torch.equal(learn, unordered_split(59, seed=1).view(59, 59))
    assert unordered_split(59, share=0.2).float().mean().item() == pytest.approx(0.2, abs=0.03)


def test_probe_reads_a_label_that_a_rotation_hides(learn):
    rotation = torch.linalg.qr(torch.randn(N, N, generator=torch.Generator().manual_seed(0))).Q
    hidden = torch.nn.functional.one_hot(SUMS, N).float() @ rotation
    assert probe_accuracy(hidden, SUMS, learn) == (1.0, 1.0)


def test_additive_features_do_not_hold_the_sum(learn):
    present = torch.nn.functional.one_hot(PAIRS, N).sum(1).float()  # what any function f(x) + g(y) can use
    _, held_out = probe_accuracy(present, SUMS, learn)
    assert held_out < 0.1
    assert both_numbers_accuracy(present, PAIRS, learn) == 1.0


def test_features_without_information_name_nothing(learn):
    constant = torch.ones(N * N, 3)
    learned, held_out = probe_accuracy(constant, SUMS, learn)
    assert max(learned, held_out) < 0.25
    assert both_numbers_accuracy(constant, PAIRS, learn) < 0.1


def test_score_counts_right_labels():
    features = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]])
    probe = fit_probe(features, torch.tensor([0, 0, 1, 1]))
    assert score_probe(probe, features, torch.tensor([0, 0, 1, 0])) == 0.75
