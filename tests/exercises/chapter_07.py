"""Answers to the exercises of chapter 7: mistakes, with words of what their check must say."""

import math

import torch

MISTAKES = [
    ("sparing", ("torch.maximum(p, 1 - p)", "0.5"), "not always one half"),  # on the right
    ("sparing", ("torch.minimum(p, 1 - p)", "0.5"), "not always one half"),  # on the left
    ("rote", (" * train_pairs[..., None].double()", ""), "prefer some answer"),
    ("singles_out", lambda N, ks: True, "at their highest value"),
    ("singles_out", lambda N, ks: all(math.gcd(k, N) == 1 for k in ks), "do single out"),
    ("singles_out", lambda N, ks: any(math.gcd(k, N) == 1 for k in ks), "though none of them does so alone"),
    ("singles_out", lambda N, ks: math.gcd(*ks) == 1, "single out"),
    ("singles_out", lambda N, ks: math.gcd(N, *ks), "True or False"),
    ("rote", (".double()", ".double().clamp(min=0.5)"), "prefer some answer"),
    ("rote", ("size * right", "right"), "at `size`"),
    ("rote", ("size * right", "size * torch.ones_like(right)"), "wrong answers"),
    ("rote", lambda train_pairs, size: train_pairs, "shape"),
    ("sparing", ("    p = torch.where", "    torch.where"), "more than its partner"),
    ("sparing", ("p = torch.where(left & right", "torch.where(left & right"), "both numbers are spared"),
    ("sparing", ("0.1 + 0.8 * ", "0.5 + 0 * "), "as before"),
    ("sparing", ("left & right", "left | right"), "should still be read"),
    ("sparing", lambda pairs, generator, spared: torch.ones(len(pairs), 3), "sum to 1"),
    ("weighted", ("a * angle", "angle", "b * angle", "angle"), "computes x + y"),
    ("weighted", ("b * angle", "-b * angle"), "computes ax - by"),
    (
        "weighted",
        ("left, right = (a * angle + alpha).cos(), (b", "left, right = (b * angle + alpha).cos(), (a"),
        "computes bx + ay",
    ),
    ("weighted", ("alpha + beta).cos()", "alpha).cos()"), "of the pairs get ax + by"),
    ("weighted", (".cos().T", ".cos()"), "out has shape"),
    ("weighted", lambda N, ks, a, b, alpha, beta: alpha, "three things"),
    ("one_face", (").T)", ").T, torch.square)"), "not the square"),
    ("one_face", (").T)", ").T, lambda pre: pre)"), "no activation"),
    ("one_face", ("+ phase_out", "+ 2 * phase_in"), "the output phase is given"),
    ("one_face", ("amplitude_out * ", ""), "written have amplitudes"),
    ("one_face", ("amplitude_in * ", ""), "read have amplitudes"),
    ("one_face", ("amplitude_in * ", "", "amplitude_out * ", ""), "same wave"),
]
