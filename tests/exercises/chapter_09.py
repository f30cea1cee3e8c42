"""Answers to the exercises of chapter 9: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib.analysis import interventions as iv
from assign_add_lib.task import STUDY


def plain_interval(n_right, n):
    share = n_right / n
    half = 1.96 * math.sqrt(share * (1 - share) / n)
    return share - half, share + half


def at_95_percent(n_right, n):
    return iv.wilson(torch.arange(n) < n_right, z=1.645)[1:]


def reading(place, layer=2):
    """An answer to exercise 9.3 that makes `=` of a layer read `place(tokens)`."""

    def doubled(lens, tokens):
        def act(pattern, hook):
            pattern = pattern.clone()
            pattern[:, 0, 15] = iv.at(tokens, place(tokens)).to(pattern.dtype)
            return pattern

        return iv.answers(lens, tokens, [(iv.pattern_hook(layer), act)])

    return doubled


def left(tokens):
    return STUDY.value_positions(tokens)[:, 0]


def right(tokens):
    return STUDY.value_positions(tokens)[:, 1]


def exchanging(name, copy=True):
    def swapped(lens, tokens, first, second):
        row = torch.arange(len(tokens))

        def act(held, hook):
            changed = held.clone()
            changed[row, first] = held[row, second]
            changed[row, second] = (held if copy else changed)[row, first]
            return changed

        return iv.answers(lens, tokens, [(name, act)])

    return swapped


MISTAKES = [
    ("interval", plain_interval, "leave no room"),
    ("interval", lambda n_right, n: iv.wilson(torch.arange(n) < n_right)[:0:-1], "wrong order"),
    ("interval", at_95_percent, "does not solve"),
    ("interval", lambda n_right, n: iv.wilson(torch.arange(n) < n_right), "two numbers"),
    ("without_term", lambda pattern, term: (pattern.log() + term).softmax(-1), "adds the term"),
    ("without_term", lambda pattern, term: (pattern - term).softmax(-1), "comes after"),
    ("without_term", lambda pattern, term: pattern * (-term).exp(), "sum to 1"),
    ("without_term", lambda pattern, term: pattern, "not the softmax"),
    ("without_term", lambda pattern, term: (pattern.log() - term).softmax(-1)[0], "shape"),
    ("without_term", lambda pattern, term: pattern.mul_((-term).exp()), "writes into"),
    ("doubled", lambda lens, tokens: iv.answers(lens, tokens), "unchanged"),
    ("doubled", reading(right), "right number"),
    ("doubled", reading(lambda tokens: 13), "stands elsewhere"),
    ("doubled", reading(left, layer=1), "not the answers"),
    ("swapped", lambda lens, tokens, first, second: iv.answers(lens, tokens), "unchanged"),
    ("swapped", exchanging("blocks.1.attn.hook_v", copy=False), "same value"),
    ("swapped", exchanging("blocks.0.hook_attn_out"), "not the answers"),
]

RIGHT = [
    ("swapped", exchanging("blocks.1.attn.hook_k")),  # the two weights change places instead of what they weigh
    ("without_term", lambda pattern, term: pattern * (-term).exp() / (pattern * (-term).exp()).sum(-1, keepdim=True)),
    ("interval", lambda n_right, n: iv.wilson(torch.arange(n) < n_right)[1:]),
]
