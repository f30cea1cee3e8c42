"""The checks of chapter 2, The model."""

import math
import random
from collections.abc import Callable

import torch

from ..model import Weights, forward, trace
from ..task import Task
from .common import as_tensor, exercise, expect, random_problem


@exercise
def count_parameters(answer: Callable) -> None:
    """Exercise 2.1: `answer(n_numbers, n_variables, length, d_model, d_mlp)` is the number of parameters."""
    for _ in range(10):
        task = Task(random.randint(3, 99), random.randint(2, 20), random.randint(8, 30))
        d_model, d_mlp = random.randint(1, 60), random.randint(1, 60)
        sizes = (task.n_numbers, task.n_variables, task.length, d_model, d_mlp)
        given = answer(*sizes)
        expect(given is not None, "your function returns nothing yet")
        tensors = Weights.init(task, 0, d_model, d_mlp).tensors().values()
        truth = sum(tensor.numel() for tensor in tensors)
        expect(given != truth - 3 * d_model, "three embeddings are missing: +, = and PAD are tokens too")
        expect(given != truth - 4 * d_model**2, "there are two layers, and each has four attention matrices")
        expect(given == truth, f"for the sizes {sizes} it gives {given}; such a network has {truth} parameters")


@exercise
def causal_pattern(answer: Callable) -> None:
    """Exercise 2.2: `answer(scores)` is the causal attention pattern of a table of scores (query, key)."""
    for size in (1, 2, *random.choices(range(3, 12), k=8)):
        scores = 2 * torch.randn(size, size)
        given = as_tensor(answer(scores.clone()), (size, size), "the pattern")
        expect(not given.isnan().any(), "some entries are not numbers; may every token read itself, the first one too?")
        expect(not given.triu(1).any(), "a query gives weight to a key that comes after it")
        worst = given.sum(1)[(given.sum(1) - 1).abs().argmax()].item()
        expect(abs(worst - 1) < 1e-5, f"each row should sum to 1; one of yours sums to {worst:.4f}")
        for query, row in enumerate(scores.tolist()):
            seen = [round(score, 2) for score in row[: query + 1]]
            powers = [math.exp(score) for score in row[: query + 1]]
            for key, power in enumerate(powers):
                weight, truth = float(given[query, key]), power / sum(powers)
                words = f"a query with the scores {seen} gives key {key} the weight {weight:.4f}; it should be {truth:.4f}"
                expect(abs(weight - truth) < 1e-5, words)


@exercise
def turned(answer: Callable) -> None:
    """Exercise 2.3: `answer(weights, layer, M)` has W_Q M in a layer, and the logits of before."""
    task = Task(7, 3, 10)
    tokens = torch.randint(task.d_vocab, (20, task.length))
    for layer in (1, 2):
        weights = Weights.init(task, random.randrange(2**31), d_model=12, d_mlp=20).to(torch.float64)
        weights = weights.replace(W_Q=4 * weights.W_Q, W_K=4 * weights.W_K)
        M = torch.eye(12) + torch.randn(12, 12) / 6
        M = M.to(torch.float64)
        before = {name: tensor.clone() for name, tensor in weights.tensors().items()}
        given = answer(weights, layer, M)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, Weights), f"it returns a {type(given).__name__}; it should return Weights")
        same = all(torch.equal(tensor, before[name]) for name, tensor in weights.tensors().items())
        expect(same, "it writes into the weights that it was given; copy a tensor with clone() before you change it")
        here, other = layer - 1, 2 - layer
        untouched = torch.equal(given.W_Q[other], weights.W_Q[other]) and torch.equal(given.W_K[other], weights.W_K[other])
        expect(untouched, f"asked to turn layer {layer}, it changes layer {3 - layer}; layer 1 is at index 0")
        expect(torch.allclose(given.W_Q[here], weights.W_Q[here] @ M), f"W_Q of layer {layer} should become W_Q M")
        gap = (forward(given, tokens) - forward(weights, tokens)).abs().max().item()
        expect(gap < 1e-8, f"turning layer {layer} changes the logits, by up to {gap:.2g}; is W_K right?")


@exercise
def without_layer_2_attention(answer: Callable) -> None:
    """Exercise 2.4: `answer(lens, tokens)` gives the logits without what layer 2's attention adds."""
    weights = Weights.init(seed=random.randrange(2**31))
    lens = weights.to_transformer_lens()
    tokens = torch.stack([random_problem().tokens() for _ in range(20)])
    activations = trace(weights, tokens)

    without = activations.resid_pre + activations.attn_out[:, 0]  # the stream with layer 1's attention alone
    given = as_tensor(answer(lens, tokens), tuple(activations.logits.shape), "the answer")

    def like(truth):
        return torch.allclose(given, truth, atol=1e-5)

    expect(not like(activations.logits), "the logits are those of the whole network, so nothing was removed")
    expect(not like(without @ weights.W_U), "the MLP of layer 2 should stay")
    block_0 = lens.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_attn_out", lambda out, hook: 0 * out)])
    expect(not like(block_0), "layer 1's attention is removed; our layer 2 is blocks.1 in TransformerLens")
    words = "the MLP still reads what layer 2's attention adds; remove it before the MLP, not after"
    expect(not like(activations.logits - activations.attn_out[:, 1] @ weights.W_U), words)
    truth = (without + (without @ weights.W_in).relu() @ weights.W_out) @ weights.W_U
    expect(like(truth), "the logits are not those of the network without layer 2's attention")
    restored = torch.allclose(lens(tokens), activations.logits, atol=1e-5)
    expect(restored, "the network stays changed after the call; use run_with_hooks")
