"""Answers to the exercises of chapter 3: mistakes, with words of what their check must say."""

import torch

from assign_add_lib.model import trace


def without_bias_correction(w, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return w * (1 - 2e-5) - 0.001 * m / (v.sqrt() + 1e-8), m, v


def decay_in_the_gradient(w, g, m, v, t):
    g = g + 0.02 * w
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return w - 0.001 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8), m, v


def layers_swapped(weights, tokens):
    pattern = trace(weights, tokens).pattern
    return torch.einsum("bt,bti->bi", pattern[:, 0, -1], pattern[:, 1])


MISTAKES = [
    ("loss", lambda logits, answers: -logits.softmax(1).gather(1, answers[:, None]).log().mean(), "overflows"),
    ("loss", lambda logits, answers: (logits.logsumexp(1) - logits.gather(1, answers[:, None])[:, 0]).sum(), "the mean of"),
    ("score", lambda S, tokens, i, j: S[tokens[i], tokens[j]], "the network's score is"),  # tokens alone
    # the key in place of the query
    ("score", lambda S, t, i, j: S[t[j], t[i]] + S[t[j], 74 + i] + S[74 + j, t[i]] + S[74 + j, 74 + i], "query at position 1"),
    ("adamw", without_bias_correction, "after step 1"),
    ("adamw", decay_in_the_gradient, "after step 1"),
    ("reach", layers_swapped, "not the sums of"),
    ("reach", lambda weights, tokens: trace(weights, tokens).pattern[:, 1, -1], "not the sums of"),
]
