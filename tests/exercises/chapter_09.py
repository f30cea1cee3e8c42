"""Answers to the exercises of chapter 9: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib.analysis import causal
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.analysis.statistics import sign_test
from assign_add_lib.model import trace
from assign_add_lib.task import STUDY


def one_sided(first, second):
    one, other, _ = sign_test(first, second)
    n = one + other
    return sum(math.comb(n, k) for k in range(min(one, other) + 1)) / 2**n


def on_all(first, second):
    one, n = int(torch.minimum(first.sum(), second.sum())), len(first)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(one + 1)) / 2**n)


def this_split(first, second):
    one, other, _ = sign_test(first, second)
    return 2 * math.comb(one + other, one) / 2 ** (one + other)


def by_coins(first, second):
    """Another right one: the same sum over both tails, each as far from the middle."""
    one, other, _ = sign_test(first, second)
    n = one + other
    return sum(math.comb(n, k) for k in range(n + 1) if abs(2 * k - n) >= abs(one - other)) / 2**n


def reading(place, layer=2):
    """An answer to exercise 9.2 that makes `=` of a layer read `place(tokens)`."""

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


def closing(part="k", sign=1, weight=True, everything=False):
    """Answers to exercise 9.4: what is taken out of 14, and where."""

    def closed(w, tokens):
        seen = trace(w, tokens)
        moved = seen.resid_pre[:, 13] @ w.W_V[0] @ w.W_O[0]
        moved = moved * seen.pattern[:, 0, 14, 13, None] if weight else moved
        moved = seen.attn_out[:, 0, 14] if everything else moved

        def taken(W):
            def act(held, hook):
                held = held.clone()
                held[:, 14, 0] -= sign * moved @ W[1]
                return held

            return act

        return [(f"blocks.1.attn.hook_{each}", taken({"k": w.W_K, "v": w.W_V}[each])) for each in part]

    return closed


def in_the_stream(w, tokens):
    moved = trace(w, tokens).pattern[:, 0, 14, 13, None] * ((w.W_E[tokens[:, 13]] + w.W_pos[13]) @ w.W_V[0] @ w.W_O[0])
    return [("blocks.0.hook_attn_out", lambda held, hook: held.index_add(1, torch.tensor([14]), -moved[:, None]))]


def by_slot(base, source):
    """The site holds which assignment is asked, not its name."""
    places = STUDY.value_positions(source)
    ours, theirs = (causal.assigned_positions(each, STUDY) for each in (base, source))
    slot = (theirs[:, None] == places[..., None]).int().argmax(2)
    return base.gather(1, torch.where(places < 12, ours.gather(1, slot), places)).sum(1) % 59


MISTAKES = [
    ("paired", one_sided, "one side"),
    ("paired", on_all, "leave them out"),
    ("paired", this_split, "this very split"),
    ("paired", lambda first, second: None, "returns nothing"),
    ("paired", lambda first, second: 0.5, "not 0.5"),
    ("paired", lambda first, second: 2 * one_sided(first, second), "no probability"),
    ("doubled", lambda lens, tokens: iv.answers(lens, tokens), "unchanged"),
    ("doubled", reading(right), "right number"),
    ("doubled", reading(lambda tokens: 13), "stands elsewhere"),
    ("doubled", reading(left, layer=1), "not the answers"),
    ("swapped", lambda lens, tokens, first, second: iv.answers(lens, tokens), "unchanged"),
    ("swapped", exchanging("blocks.1.attn.hook_v", copy=False), "same value"),
    ("swapped", exchanging("blocks.0.hook_attn_out"), "not the answers"),
    ("closed", lambda w, tokens: [], "unchanged"),
    ("closed", closing("kv"), "value at 14"),
    ("closed", in_the_stream, "value at 14"),
    ("closed", closing(sign=-1), "second time"),
    ("closed", closing(weight=False), "below 1"),
    ("closed", closing(everything=True), "came from 13"),
    ("closed", closing("v"), "not the logits"),
    ("rival", lambda base, source: causal.counterfactual(base, source, "asked", STUDY), "our own program"),
    ("rival", lambda base, source: STUDY.right_answers(base), "holds nothing"),
    ("rival", lambda base, source: STUDY.right_answers(source)[:5], "shape"),
    ("rival", lambda base, source: STUDY.right_answers(source) + 59, "not numbers"),
    ("rival", lambda base, source: (base[:, 14] + source[:, 14]) % 59, "the base's own"),
]

RIGHT = [
    ("closed", closing()),
    ("rival", by_slot),
    ("rival", lambda base, source: STUDY.right_answers(source)),
    ("paired", by_coins),
    ("paired", lambda first, second: sign_test(first, second)[2]),
    ("swapped", exchanging("blocks.1.attn.hook_k")),  # the two weights change places instead of what they weigh
]
