"""Answers to the exercises of chapter 2: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib import Weights, forward


def scores_of(scaled):
    """An answer to exercise 2.1 that scales the vectors by a function of them."""

    def normalised_scores(C, QK1, tokens):
        x = C[tokens] + C[-len(tokens) :]
        x = x / scaled(x)
        return x @ QK1 @ x.T

    return normalised_scores


def sizes_apart(C, QK1, tokens):
    e, p = C[tokens], C[-len(tokens) :]
    x = (e + p) / (e.square().mean(1) + p.square().mean(1)).sqrt()[:, None]
    return x @ QK1 @ x.T


def rows_first(C, QK1, tokens):
    return scores_of(lambda x: 1)(C / rms(C), QK1, tokens)


def rms(x):
    return x.square().mean(1, keepdim=True).sqrt()


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
    ("normalised_scores", scores_of(lambda x: 1), "without normalisation"),
    ("normalised_scores", scores_of(lambda x: x.norm(dim=1, keepdim=True)), "root mean square is smaller"),
    ("normalised_scores", lambda C, QK1, tokens: scores_of(rms)(C, QK1, tokens).T, "the query is the row"),
    ("normalised_scores", scores_of(lambda x: x.std(1, keepdim=True)), "are off by up to"),
    ("normalised_scores", sizes_apart, "counts too"),
    ("normalised_scores", rows_first, "you normalise each row of C"),
    ("normalised_scores", lambda C, QK1, tokens: scores_of(rms)(C, QK1, tokens)[None], "shape"),
    ("typical_score", lambda d_model, d_head, s: (2 * d_model * s**4) ** 2, "that is the variance"),
    ("typical_score", lambda d_model, d_head, s: 2 * d_model * s**4 * math.sqrt(d_head), "divided by the square root"),
    ("typical_score", lambda d_model, d_head, s: d_model * s**4, "plus a position's"),
    ("typical_score", lambda d_model, d_head, s: 4 * d_model * s**4, "3000 draws give"),
    ("turned", lambda weights, layer, M: weights, "should become W_Q M"),
    ("turned", lambda weights, layer, M: (weights.W_Q, weights.W_K), "should return Weights"),
    ("turned", turned_by(torch.linalg.inv), "changes the logits"),
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


def without_W_O(lens, tokens):
    weights = Weights.from_transformer_lens(lens)
    return forward(weights.replace(W_O=torch.stack([weights.W_O[0], torch.zeros_like(weights.W_O[1])])), tokens)


RIGHT = [
    ("normalised_scores", scores_of(rms)),
    ("without_layer_2_attention", without_W_O),
    ("without_layer_2_attention", hooked("blocks.1.attn.hook_pattern")),
    ("without_layer_2_attention", hooked("blocks.1.attn.hook_z")),
]
