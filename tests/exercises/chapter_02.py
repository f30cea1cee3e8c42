"""Answers to the exercises of chapter 2: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib import Weights, forward


def parameters(d_vocab=None, layers=2):
    def count_parameters(n_numbers, n_variables, length, d_model, d_mlp):
        rows = (d_vocab or (lambda N, V: N + V + 3))(n_numbers, n_variables) + length
        return rows * d_model + layers * 4 * d_model**2 + 2 * d_model * d_mlp + d_model * n_numbers

    return count_parameters


def masked_with_zero(scores):
    return scores.tril().softmax(-1)


def masked_after_softmax(scores):
    return scores.softmax(-1).tril()


def softmax_over_queries(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf).softmax(0)


def masked_with_diagonal(scores):
    return scores.masked_fill(torch.ones_like(scores).triu().bool(), -math.inf).softmax(-1)


def uniform(scores):
    seen = torch.ones_like(scores).tril()
    return seen / seen.sum(-1, keepdim=True)


def turned_by(key_side, index=lambda layer: layer - 1, in_place=False):
    """An answer to exercise 2.3 that multiplies W_K by `key_side(M)`."""

    def turned(weights, layer, M):
        W_Q, W_K = (W if in_place else W.clone() for W in (weights.W_Q, weights.W_K))
        W_Q[index(layer)] = W_Q[index(layer)] @ M
        W_K[index(layer)] = W_K[index(layer)] @ key_side(M)
        return weights.replace(W_Q=W_Q, W_K=W_K)

    return turned


def hooked(*names):
    def without_layer_2_attention(lens, tokens):
        return lens.run_with_hooks(tokens, fwd_hooks=[(name, lambda tensor, hook: 0 * tensor) for name in names])

    return without_layer_2_attention


def whole(lens, tokens):
    return forward(Weights.from_transformer_lens(lens), tokens)


def removed_after_the_mlp(lens, tokens):
    logits, cache = lens.run_with_cache(tokens)
    return logits - cache["blocks.1.hook_attn_out"] @ Weights.from_transformer_lens(lens).W_U


def left_changed(lens, tokens):
    logits = hooked("blocks.1.hook_attn_out")(lens, tokens)
    with torch.no_grad():
        lens.blocks[1].attn.o.weight.zero_()
    return logits


MISTAKES = [
    ("count_parameters", parameters(lambda N, V: N + V), "PAD"),
    ("count_parameters", parameters(layers=1), "two layers"),
    ("count_parameters", parameters(lambda N, V: 74), "such a network has"),
    ("causal_pattern", lambda scores: masked_with_zero(scores)[None], "shape"),
    ("causal_pattern", lambda scores: scores.softmax(-1), "comes after it"),
    ("causal_pattern", masked_with_zero, "comes after it"),
    ("causal_pattern", masked_after_softmax, "sum to 1"),
    ("causal_pattern", softmax_over_queries, "sum to 1"),
    ("causal_pattern", masked_with_diagonal, "read itself"),
    ("causal_pattern", uniform, "it should be"),
    ("turned", lambda weights, layer, M: weights, "should become W_Q M"),
    ("turned", lambda weights, layer, M: (weights.W_Q, weights.W_K), "should return Weights"),
    ("turned", turned_by(torch.linalg.inv), "changes the logits"),
    ("turned", turned_by(lambda M: M), "changes the logits"),
    ("turned", turned_by(lambda M: torch.linalg.inv(M).T, index=lambda layer: 2 - layer), "changes layer"),
    ("turned", turned_by(lambda M: torch.linalg.inv(M).T, index=lambda layer: layer), "layer 1 is at index 0"),
    ("turned", turned_by(lambda M: torch.linalg.inv(M).T, in_place=True), "clone()"),
    ("without_layer_2_attention", whole, "nothing was removed"),
    ("without_layer_2_attention", hooked("blocks.0.hook_attn_out"), "layer 1's attention"),
    ("without_layer_2_attention", hooked("blocks.1.hook_attn_out", "blocks.1.hook_mlp_out"), "MLP of layer 2 should stay"),
    ("without_layer_2_attention", hooked("blocks.1.attn.hook_q"), "not those of the network"),
    ("without_layer_2_attention", removed_after_the_mlp, "before the MLP"),
    ("without_layer_2_attention", left_changed, "stays changed"),
]


def masked_softmax(scores):
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf).softmax(-1)


def without_W_O(lens, tokens):
    weights = Weights.from_transformer_lens(lens)
    return forward(weights.replace(W_O=torch.stack([weights.W_O[0], torch.zeros_like(weights.W_O[1])])), tokens)


RIGHT = [
    ("causal_pattern", masked_softmax),
    ("without_layer_2_attention", without_W_O),
    ("without_layer_2_attention", hooked("blocks.1.attn.hook_pattern")),
    ("without_layer_2_attention", hooked("blocks.1.attn.hook_z")),
]
