"""The checks of chapter 2, The model."""

import math
import random
from collections.abc import Callable

import torch

from ..model import Weights, forward, trace
from ..task import Task
from .common import as_number, as_tensor, close, exercise, expect, expect_close, random_problem, refuse


@exercise
def normalised_scores(answer: Callable) -> None:
    """Exercise 2.1: `answer(C, QK1, tokens)` gives layer-1 scores (query, key) of vectors divided by their root mean square."""
    for _ in range(10):
        d_vocab, length, d = random.randint(5, 12), random.randint(2, 6), random.randint(3, 9)
        C, QK1 = torch.randn(d_vocab + length, d, dtype=torch.float64), torch.randn(d, d, dtype=torch.float64)
        tokens = torch.randint(d_vocab, (length,))
        given = as_tensor(answer(C.clone(), QK1.clone(), tokens.clone()), (length, length))
        x = C[tokens] + C[d_vocab:]
        rows = C / C.square().mean(1, keepdim=True).sqrt()
        of_rows = rows[tokens] + rows[d_vocab:]
        apart = (C[tokens].square().mean(1) + C[d_vocab:].square().mean(1)).sqrt()
        sizes_apart = x @ QK1 @ x.T / (apart[:, None] * apart)
        unit = x / x.square().mean(1, keepdim=True).sqrt()
        truth = unit @ QK1 @ unit.T
        wrong = {
            "these are the scores without normalisation": x @ QK1 @ x.T,
            "you divide by the length of a vector; its root mean square is smaller": truth / d,
            "the size of a sum is not that of its parts: the product of token and position counts too": sizes_apart,
            "you normalise each row of C; normalise the sum of a token's row and a position's": of_rows @ QK1 @ of_rows.T,
            "the query is the row, the key the column": truth.T,
        }
        refuse(given, wrong, rtol=1e-5)
        gap = (given - truth).abs().max().item()
        expect(gap < 1e-6, f"the scores are off by up to {gap:.2g} from those of normalised vectors")


@exercise
def typical_score(answer: Callable) -> None:
    """Exercise 2.2: `answer(d_model, d_head, s)` is the standard deviation of an untrained layer-1 score; held against draws."""
    for _ in range(4):
        d, d_head, s = random.randint(16, 40), random.randint(4, 40), random.uniform(0.05, 0.4)
        given = as_number(answer(d, d_head, s))
        e, p = (s * torch.randn(3000, 2, d) for _ in range(2))
        W_Q, W_K = (s * torch.randn(3000, d, d_head) for _ in range(2))
        x = (e + p)[:, :, None]  # (draw, position, 1, d)
        drawn = ((x[:, 0] @ W_Q) @ (x[:, 1] @ W_K).mT / math.sqrt(d_head)).std().item()
        ratio = given / drawn
        wrong = {
            "scores are divided by the square root of d_head": close(ratio / math.sqrt(d_head), 1, 0.1),
            "a vector is a token's embedding plus a position's": close(2 * ratio, 1, 0.1),
            "that is the variance": close(math.sqrt(abs(given)) / drawn, 1, 0.1),
        }
        words = f"for d_model = {d}, d_head = {d_head}, s = {s:.3f} it gives {given:.4g}; 3000 draws give {drawn:.4g}"
        expect_close(ratio, 1, words, 0.1, wrong)


@exercise
def turned(answer: Callable) -> None:
    """Exercise 2.3: `answer(weights, layer, M)` has W_Q M in a layer, and the logits of before."""
    task = Task(7, 3, 10)
    tokens = torch.randint(task.d_vocab, (20, task.length))
    for layer in (1, 2):
        weights = Weights.init(task, random.randrange(2**31), d_model=12, d_mlp=20).to(torch.float64)
        weights = weights.replace(W_Q=4 * weights.W_Q, W_K=4 * weights.W_K)
        M = torch.eye(12, dtype=torch.float64) + torch.randn(12, 12) / 6
        before = {name: tensor.clone() for name, tensor in weights.tensors().items()}
        given = answer(weights, layer, M)
        expect(isinstance(given, Weights), f"it returns a {type(given).__name__}; it should return Weights")
        same = all(torch.equal(tensor, before[name]) for name, tensor in weights.tensors().items())
        expect(same, "it writes into the weights that it was given; copy a tensor with clone() before you change it")
        here, other = layer - 1, 2 - layer
        untouched = torch.equal(given.W_Q[other], weights.W_Q[other]) and torch.equal(given.W_K[other], weights.W_K[other])
        expect(untouched, f"asked to turn layer {layer}, it changes layer {3 - layer}; layer 1 is at index 0")
        expect(close(given.W_Q[here], weights.W_Q[here] @ M, rtol=1e-5), f"W_Q of layer {layer} should become W_Q M")
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
    given = as_tensor(answer(lens, tokens), activations.logits.shape)
    too_late = activations.logits - activations.attn_out[:, 1] @ weights.W_U
    block_0 = lens.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_attn_out", lambda out, hook: 0 * out)])
    wrong = {
        "the logits are those of the whole network, so nothing was removed": activations.logits,
        "the MLP of layer 2 should stay": without @ weights.W_U,
        "layer 1's attention is removed; our layer 2 is blocks.1 in TransformerLens": block_0,
        "the MLP still reads what layer 2's attention adds; remove it before the MLP, not after": too_late,
    }
    refuse(given, wrong, 1e-5, 1e-5)
    truth = (without + (without @ weights.W_in).relu() @ weights.W_out) @ weights.W_U
    expect(close(given, truth, 1e-5, 1e-5), "the logits are not those of the network without layer 2's attention")
    restored = close(lens(tokens), activations.logits, 1e-5, 1e-5)
    expect(restored, "the network stays changed after the call; use run_with_hooks")
