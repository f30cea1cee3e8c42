"""The checks of chapter 2, The model."""

import math
import random
from collections.abc import Callable

import torch

from ..model import Weights, forward, trace
from ..task import Task
from .common import as_tensor, exercise, expect, random_problem


@exercise
def normalised_scores(answer: Callable) -> None:
    """Exercise 2.1: `answer(C, QK1, tokens)` gives layer-1 scores (query, key) of vectors divided by their root mean square."""
    for _ in range(10):
        d_vocab, length, d = random.randint(5, 12), random.randint(2, 6), random.randint(3, 9)
        C, QK1 = torch.randn(d_vocab + length, d, dtype=torch.float64), torch.randn(d, d, dtype=torch.float64)
        tokens = torch.randint(d_vocab, (length,))
        given = as_tensor(answer(C.clone(), QK1.clone(), tokens.clone()), (length, length), "the answer").double()
        x = C[tokens] + C[d_vocab:]
        unit = x / x.square().mean(1, keepdim=True).sqrt()
        truth = unit @ QK1 @ unit.T
        expect(not torch.allclose(given, x @ QK1 @ x.T), "these are the scores without normalisation")
        length_not_rms = truth / d
        expect(not torch.allclose(given, length_not_rms), "you divide by the length of a vector; its root mean square is smaller")
        apart = (C[tokens].square().mean(1) + C[d_vocab:].square().mean(1)).sqrt()
        words = "the size of a sum is not that of its parts: the product of token and position counts too"
        expect(not torch.allclose(given, x @ QK1 @ x.T / (apart[:, None] * apart)), words)
        rows = C / C.square().mean(1, keepdim=True).sqrt()
        x_of_rows = rows[tokens] + rows[d_vocab:]
        words = "you normalise each row of C; normalise the sum of a token's row and a position's"
        expect(not torch.allclose(given, x_of_rows @ QK1 @ x_of_rows.T), words)
        expect(not torch.allclose(given, truth.T), "the query is the row, the key the column")
        gap = (given - truth).abs().max().item()
        expect(gap < 1e-6, f"the scores are off by up to {gap:.2g} from those of normalised vectors")


@exercise
def typical_score(answer: Callable) -> None:
    """Exercise 2.2: `answer(d_model, d_head, s)` is the standard deviation of an untrained layer-1 score; held against draws."""
    for _ in range(4):
        d, d_head, s = random.randint(16, 40), random.randint(4, 40), random.uniform(0.05, 0.4)
        given = answer(d, d_head, s)
        expect(given is not None, "your function returns nothing yet")
        e, p = (s * torch.randn(3000, 2, d) for _ in range(2))
        W_Q, W_K = (s * torch.randn(3000, d, d_head) for _ in range(2))
        x = (e + p)[:, :, None]  # (draw, position, 1, d)
        drawn = ((x[:, 0] @ W_Q) @ (x[:, 1] @ W_K).mT / math.sqrt(d_head)).std().item()
        ratio = float(given) / drawn
        hint = ""
        if abs(ratio / math.sqrt(d_head) - 1) < 0.1:
            hint = "; scores are divided by the square root of d_head"
        elif abs(2 * ratio - 1) < 0.1:
            hint = "; a vector is a token's embedding plus a position's"
        elif abs(math.sqrt(abs(float(given))) / drawn - 1) < 0.1:
            hint = "; that is the variance"
        words = f"for d_model = {d}, d_head = {d_head}, s = {s:.3f} it gives {float(given):.4g}; 3000 draws give {drawn:.4g}"
        expect(abs(ratio - 1) < 0.1, words + hint)


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
