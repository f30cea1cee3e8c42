"""The fast forward by paths: the plain one for any layers and heads, altered as that is; in its world the study's."""

import pytest
import torch
from worlds import SIZES, rng

from assign_add_lib import Weights, last_logits
from assign_add_lib.laboratory import World, paths
from assign_add_lib.laboratory.data import draw_split, training_population
from assign_add_lib.model import run


def sharp(**settings):
    """Weights in double precision whose attention is far from even, and problems."""
    world = World(**SIZES, **settings)
    weights = Weights(**{name: 2.5 * each.double() for name, each in world.weights().tensors().items()})
    return weights.trainable(), training_population(world, draw_split(world)).sample(40, rng()).tokens


def test_the_study_has_the_same_weights_and_logits():
    world, weights = World(seed=4), Weights.init(seed=4)
    tokens = training_population(world, draw_split(world)).sample(30, rng(1)).tokens
    found = paths.last_logits(world.weights(), tokens)
    torch.testing.assert_close(found, last_logits(weights, tokens), atol=1e-6, rtol=0)
    assert torch.equal(found, paths.last_logits(weights, tokens))  # with an axis for the head or without


@pytest.mark.parametrize("layers, heads", [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
def test_paths_lead_to_the_plain_forward_and_its_gradients(layers, heads):
    weights, tokens = sharp(layers=layers, heads=heads)
    found, seen = paths.last_logits(weights, tokens), run(weights, tokens)
    torch.testing.assert_close(found, seen.logits, atol=1e-10, rtol=1e-10)
    assert seen[f"blocks.{layers - 1}.attn.hook_pattern"].amax(3).mean() > 0.25  # far from even, which would be 0.07
    ours, theirs = (torch.autograd.grad(each.square().sum(), list(weights.tensors().values())) for each in (found, seen.logits))
    for one, other in zip(ours, theirs):  # rounding goes with the largest terms, which reach 1e9: an entry may be a small rest
        torch.testing.assert_close(one / other.abs().max(), other / other.abs().max(), atol=1e-10, rtol=0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_patterns_are_altered_as_in_the_plain_forward(layers):
    """In each layer alone: the heads exchanged, and each key read as much as the one after it."""
    weights, tokens = sharp(layers=layers, heads=2)
    for layer in range(layers):
        alter = {f"blocks.{layer}.attn.hook_pattern": lambda pattern: pattern.flip(1).roll(1, 3) ** 2}
        found = paths.last_logits(weights, tokens, alter)
        torch.testing.assert_close(found, run(weights, tokens, alter).logits, atol=1e-10, rtol=1e-10)
        assert not torch.allclose(found, paths.last_logits(weights, tokens), rtol=0.01)
    with pytest.raises(ValueError, match="the patterns of attention can be altered, and not blocks.0.hook_attn_out"):
        paths.last_logits(weights, tokens, {"blocks.0.hook_attn_out": torch.relu})
