"""The cost of weights: at most their own sum of squares, reached by an explicit sharing out, and the function stays as it is."""

import math

import torch

from assign_add_lib import handmade, last_logits
from assign_add_lib.analysis.weight_cost import balanced, cost, in_coordinates
from assign_add_lib.circuits import OV, QK
from assign_add_lib.sampling import training_population
from assign_add_lib.task import Split

BATCH = training_population(Split.draw()).sample(200, torch.Generator().manual_seed(0))


def noisy():
    """Weights written by hand with noise in every entry."""
    generator = torch.Generator().manual_seed(1)
    w = handmade.weights(scale=6).to(torch.float64)
    noise = {name: torch.randn(each.shape, generator=generator, dtype=torch.float64) for name, each in w.tensors().items()}
    return w.replace(**{name: each + 0.02 * noise[name] for name, each in w.tensors().items()})


def test_the_cost_is_what_an_explicit_sharing_out_reaches():
    w, found = noisy(), 0.0
    for product in [math.sqrt(128) * QK(w, layer) for layer in (1, 2)] + [OV(w, layer) for layer in (1, 2)]:
        U, S, V = torch.linalg.svd(product)
        left, right = U * S.sqrt(), S.sqrt()[:, None] * V
        assert torch.allclose(left @ right, product)
        found += left.square().sum() + right.square().sum()
    factor = (w.W_out.norm(dim=1) / w.W_in.norm(dim=0)).sqrt()
    found += (w.W_in * factor).square().sum() + (w.W_out / factor[:, None]).square().sum()
    found += sum(each.square().sum() for each in (w.W_E, w.W_pos, w.W_U))
    assert torch.isclose(cost(w), found)
    assert found < sum(each.square().sum() for each in w.tensors().values())


def test_balanced_weights_cost_less_and_they_and_other_coordinates_change_no_logit():
    w, noise = noisy(), torch.randn(128, 128, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    others = [balanced(w, mixing) for mixing in (False, True)]
    assert all(cost(each) < 0.9 * cost(w) for each in others)
    logits = last_logits(w, BATCH.tokens)
    for each in (*others, in_coordinates(w, torch.eye(128, dtype=torch.float64) + 0.03 * noise)):
        assert torch.allclose(last_logits(each, BATCH.tokens), logits, atol=1e-6 * logits.abs().max())
