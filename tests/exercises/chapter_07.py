"""Answers to the exercises of chapter 7: mistakes, with words of what their check must say, and other right ones."""

import math

import torch


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


def with_waves(s, t, gamma=1, transpose=True):
    def weighted(N, ks, a, b, alpha, beta):
        angle = 2 * math.pi * ks * torch.arange(N)[:, None] / N
        out = (angle + alpha + gamma * beta).cos()
        turns = {"a": a, "b": b, "-b": -b, "1": 1}
        return (turns[s] * angle + alpha).cos(), (turns[t] * angle + beta).cos(), out.T if transpose else out

    return weighted


def face(act=torch.relu, rule=False, heights=(True, True)):
    def one_face(k, phase_in, amplitude_in, phase_out, amplitude_out):
        angle = 2 * math.pi * k * torch.arange(59).double()[:, None] / 59
        read = (amplitude_in if heights[0] else 1) * (angle + phase_in).cos()
        written = (amplitude_out if heights[1] else 1) * (angle + (2 * phase_in if rule else phase_out)).cos()
        return act(read[:, None] + read) @ written.T

    return one_face


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
    ("weighted", with_waves("1", "1"), "computes x + y"),
    ("weighted", with_waves("a", "-b"), "computes ax - by"),
    ("weighted", with_waves("b", "a"), "computes bx + ay"),
    ("weighted", with_waves("a", "b", gamma=0), "of the pairs get ax + by"),
    ("weighted", with_waves("a", "b", transpose=False), "out has shape"),
    ("weighted", lambda N, ks, a, b, alpha, beta: alpha, "three things"),
    ("one_face", face(torch.square), "not the square"),
    ("one_face", face(lambda pre: pre), "no activation"),
    ("one_face", face(rule=True), "the output phase is given"),
    ("one_face", face(heights=(True, False)), "written have amplitudes"),
    ("one_face", face(heights=(False, True)), "read have amplitudes"),
    ("one_face", face(heights=(False, False)), "same wave"),
]


RIGHT = [
    ("singles_out", lambda N, ks: math.gcd(*ks, N) < 2),
    ("rote", memory(lambda right, size: size * right)),
    ("sparing", shares(right_share)),
    ("weighted", with_waves("a", "b")),
    ("one_face", face()),
]
