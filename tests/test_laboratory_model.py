"""The network of a world: the study's where it is the study's; by paths as plainly; plainly as it is said in words."""

import math

import numpy as np
import pytest
import torch
from worlds import SIZES, WORLDS, rng

from assign_add_lib import Weights, forward, handmade, last_logits
from assign_add_lib.laboratory import World
from assign_add_lib.laboratory.data import draw_split, evaluation_sets, training_population
from assign_add_lib.laboratory.training import accuracy
from assign_add_lib.task import STUDY


def sharp(world):
    """A network in double precision whose attention is far from even, and problems."""
    network = world.network().double()
    for each in network.parameters():
        each.data *= 2.5
    return network, training_population(world, draw_split(world)).sample(40, rng()).tokens


def loaded(weights, world):
    """The study's weights in a network of the laboratory."""
    network = world.network()
    network.load_state_dict({name: each[:, None] if each.dim() == 3 else each for name, each in weights.tensors().items()})
    return network


def test_the_study_has_the_same_weights_and_logits():
    world, weights = World(seed=4), Weights.init(seed=4)
    network, tokens = world.network(), training_population(world, draw_split(world)).sample(30, rng(1)).tokens
    for name, ours in network.named_parameters():
        assert torch.equal(ours.squeeze(1) if ours.dim() == 4 else ours, weights.tensors()[name]), name
    with torch.no_grad():
        torch.testing.assert_close(network(tokens), last_logits(weights, tokens), atol=1e-6, rtol=0)
        torch.testing.assert_close(network.plain(tokens).logits, forward(weights, tokens), atol=1e-6, rtol=0)


def test_the_network_written_by_hand_solves_the_world_of_the_study():
    network, world = loaded(handmade.weights(task=STUDY), World()), World()
    for name, batch in evaluation_sets(world, draw_split(world), 200).items():
        assert accuracy(network, batch) == 1, name


@pytest.mark.parametrize("layers, heads", [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
def test_paths_lead_to_the_plain_forward_and_its_gradients(layers, heads):
    network, tokens = sharp(World(**SIZES, layers=layers, heads=heads))
    seen, (stream, read) = network.plain(tokens), network.last_stream(tokens)
    torch.testing.assert_close(network(tokens), seen.logits[:, -1], atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(stream, seen.mlp_in[:, -1], atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(read, seen.patterns[:, -1, :, -1], atol=1e-10, rtol=1e-10)
    assert read.amax(2).mean() > 0.25  # far from even, which would be 0.07
    weights = list(network.parameters())
    ours, theirs = (torch.autograd.grad(each.square().sum(), weights) for each in (network(tokens), seen.logits[:, -1]))
    for one, other in zip(ours, theirs):  # rounding goes with the largest terms, which reach 1e9: an entry may be a small rest
        torch.testing.assert_close(one / other.abs().max(), other / other.abs().max(), atol=1e-10, rtol=0)


@pytest.mark.parametrize("name", ["plain", "three"])
def test_the_plain_forward_is_what_is_said_in_words(name):
    """By numpy, one position, one head, one key at a time."""
    world = WORLDS[name]
    network, tokens = sharp(World(**{**world.to_dict(), "layers": 2, "heads": 2}))
    w, ids = {key: each.detach().numpy() for key, each in network.named_parameters()}, tokens[0].tolist()
    stream = [w["W_E"][token] + w["W_pos"][place] for place, token in enumerate(ids)]
    for layer in range(2):
        added = []
        for place, x in enumerate(stream):
            total = np.zeros_like(x)
            for head in range(2):
                q, key, value, out = (w[f"W_{part}"][layer, head] for part in "QKVO")
                scores = [(x @ q) @ (y @ key) / math.sqrt(q.shape[1]) for y in stream[: place + 1]]
                read = np.exp(scores) / np.exp(scores).sum()
                total += sum(a * (y @ value @ out) for a, y in zip(read, stream))
            added.append(total)
        stream = [x + y for x, y in zip(stream, added)]
    for place, x in enumerate(stream):
        logits = (x + np.maximum(x @ w["W_in"], 0) @ w["W_out"]) @ w["W_U"]
        np.testing.assert_allclose(network.plain(tokens).logits[0, place].detach().numpy(), logits, atol=1e-9)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_last_attention_can_be_set(layers):
    network, tokens = sharp(World(**SIZES, layers=layers, heads=2))
    stream, read = network.last_stream(tokens)
    torch.testing.assert_close(network.last_stream(tokens, read)[0], stream)
    found, _ = network.last_stream(tokens, torch.full_like(read, 1 / read.shape[2]))
    moves = list(network.W_V[-1] @ network.W_O[-1])
    for name in ("W_V", "W_O"):  # without its last layer, what the MLP reads is what that layer read
        getattr(network, name).data[-1] = 0
    before = network.plain(tokens).mlp_in
    torch.testing.assert_close(found, before[:, -1] + sum(before.mean(1) @ each for each in moves))
