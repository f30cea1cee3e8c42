"""Answers to the exercises of chapter 7: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib.analysis import fourier


def memory(on_known, on_unknown=None):
    """A solver by heart, from its logits of right answers (N, N, N) and the size."""

    def rote(train_pairs, size):
        x = torch.arange(59)
        right = torch.nn.functional.one_hot((x[:, None] + x) % 59, 59).double()
        known = train_pairs[..., None].double()
        return on_known(right, size) * known + (0 if on_unknown is None else on_unknown(right)) * (1 - known)

    return rote


def shares(choose):
    """Weights from a share for each problem."""

    def sparing(pairs, generator, spared):
        p = choose(0.1 + 0.8 * torch.rand(len(pairs), generator=generator), *spared[pairs].T)
        return torch.stack([p, 1 - p, 0 * p], 1)

    return sparing


def right_share(p, left, right):
    p = torch.where(left, torch.minimum(p, 1 - p), p)
    p = torch.where(right, torch.maximum(p, 1 - p), p)
    return torch.where(left & right, 0.5, p)


def last_wins(p, left, right):
    p = torch.where(left, torch.minimum(p, 1 - p), p)
    return torch.where(right, torch.maximum(p, 1 - p), p)


def with_output_phase(sign_alpha, sign_beta, transpose=True):
    def subtracting(N, ks, alpha, beta):
        angle = 2 * math.pi * ks * torch.arange(N)[:, None] / N
        out = (angle + sign_alpha * alpha + sign_beta * beta).cos()
        return (angle + alpha).cos(), (angle + beta).cos(), out.T if transpose else out

    return subtracting


def with_wave(group_of, logit_of):
    def irrelevance(logits):
        x = torch.arange(len(logits))
        table, group = logit_of(logits), group_of(x[:, None], x) % len(x)
        inner = [table[group == each].std(correction=0) for each in x]
        return sum(inner) / len(x) / table.std(correction=0)

    return irrelevance


def upside_down(logits):
    return 1 / fourier.distance_irrelevance(logits)


MISTAKES = [
    ("singles_out", lambda N, ks: True, "at their highest value"),
    ("singles_out", lambda N, ks: all(math.gcd(k, N) == 1 for k in ks), "do single out"),
    ("singles_out", lambda N, ks: any(math.gcd(k, N) == 1 for k in ks), "though none of them does so alone"),
    ("singles_out", lambda N, ks: math.gcd(*ks) == 1, "single out"),
    ("singles_out", lambda N, ks: math.gcd(N, *ks), "True or False"),
    ("rote", memory(lambda right, size: size * right, lambda right: right), "prefer some answer"),
    ("rote", memory(lambda right, size: right), "at `size`"),
    ("rote", memory(lambda right, size: size * torch.ones_like(right)), "wrong answers"),
    ("rote", lambda train_pairs, size: train_pairs, "shape"),
    ("sparing", shares(lambda p, left, right: p), "more than its partner"),
    ("sparing", shares(last_wins), "both numbers are spared"),
    ("sparing", shares(lambda p, left, right: 0 * p + 0.5), "as before"),
    ("sparing", shares(lambda p, left, right: torch.where(left | right, 0.5, p)), "should still be read"),
    ("sparing", lambda pairs, generator, spared: torch.ones(len(pairs), 3), "sum to 1"),
    ("subtracting", with_output_phase(1, 1), "computes x + y"),
    ("subtracting", with_output_phase(-1, 1), "computes y - x"),
    ("subtracting", with_output_phase(0, 0), "of the pairs get x - y"),
    ("subtracting", with_output_phase(1, -1, transpose=False), "out has shape"),
    ("subtracting", fourier.analytic_mlp, "computes x + y"),
    ("subtracting", lambda *given: fourier.analytic_mlp(*given)[0], "three things"),
    ("irrelevance", with_wave(lambda x, y: x + y, fourier.right_logits), "of one sum"),
    ("irrelevance", with_wave(lambda x, y: x - y, lambda logits: logits.max(2).values), "not the largest"),
    ("irrelevance", upside_down, "it should be"),
]


RIGHT = [
    ("singles_out", lambda N, ks: math.gcd(*ks, N) < 2),
    ("rote", memory(lambda right, size: size * right)),
    ("sparing", shares(right_share)),
    ("irrelevance", fourier.distance_irrelevance),
]
