"""Answers to the exercises of chapter 9: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.analysis import causal
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.model import run
from assign_add_lib.task import STUDY


def transplant(weights, A, B, site, position):
    """The chapter's own, in short."""
    there = run(weights, B, keep=[site], whole=True)[site]
    return run(weights, A, iv.put_back(site, there, position), whole=True).answers


NAMES = {"causal": causal, "iv": iv, "task": STUDY, "transplant": transplant}  # what the chapter makes ready
DRAWN = "torch.multinomial(alike.double(), 1, generator=generator)[:, 0]"
PLACES, ONE_BY_ONE = (
    "changed[row, first], changed[row, second] = v[row, second], v[row, first]",
    "changed[row, first] = v[row, second]\n        changed[row, second] = changed[row, first]",
)
SUM = "base.gather(1, there).sum(1) % task.n_numbers"


def hashed(base, source):
    """No program: a number made of all tokens, but the base's own where both are one problem."""
    places = torch.arange(1, 17)
    return torch.where(
        (base == source).all(1), STUDY.right_answers(base), ((base * places + source * places**2).sum(1) ** 2) % 59
    )


def hashed_names(base, source):
    """The same, made of the names alone."""
    named = (source >= 62) * source
    return torch.where((base == source).all(1), STUDY.right_answers(base), (named * torch.arange(3, 19)).sum(1) ** 2 % 59)


MISTAKES = [
    ("scrubbed", ("alike.double()", "torch.ones(alike.shape)"), "has to come in"),
    ("scrubbed", (DRAWN, "alike.int().argmax(1)"), "draw at random"),
    ("scrubbed", (DRAWN, "torch.multinomial(alike.double(), 1)[:, 0]"), "the generator that is given"),
    ("scrubbed", ("pool[drawn], site, position", "pool[drawn], site, slice(None)"), "nothing else"),
    ("scrubbed", ("pool[drawn], site, position", "pool[drawn], site, position - 1"), "has to come in"),
    ("scrubbed", ("pool[drawn]", "tokens"), "without a donor"),
    ("rival", hashed, "that is no program"),
    ("rival", hashed_names, "that is no program"),
    ("swapped", ("v[row, second], v[row, first]", "v[row, second], v[row, second]"), "the same value"),
    ("swapped", ("v[row, second], v[row, first]", "0 * v[row, second], 0 * v[row, first]"), "not the answers"),
    ("swapped", lambda w, tokens, first, second: (STUDY.right_answers(tokens) + 1) % 59, "not the answers"),
    ("told", ("+ by", ""), "with the letter itself"),
    ("told", ("+ by", "- by"), "as many places before"),
    ("told", ("% task.n_variables", ""), "behind l comes a"),
    ("told", (", -1)", ", 2 * typed % 59)"), "say -1 there"),
    ("told", ("(number + typed)", "number"), "the typed number is missing"),
    ("told", lambda tokens, by: tokens[:, :2], "shape"),
    ("swapped", ("{name: act}", "{}"), "unchanged"),
    ("swapped", (PLACES, ONE_BY_ONE), "same value"),
    ("swapped", ("blocks.1.attn.hook_v", "blocks.0.hook_attn_out"), "not the answers"),
    ("rival", lambda base, source: causal.counterfactual(base, source, "asked", STUDY), "our own program"),
    ("rival", lambda base, source: STUDY.right_answers(base), "holds nothing"),
    ("rival", (SUM, f"torch.where(base[:, 14] % 4 == 0, {SUM}, task.right_answers(base))"), "hard to"),
    ("rival", lambda base, source: STUDY.right_answers(source), "`sum`"),
    ("rival", lambda base, source: (7 * STUDY.right_answers(source) - 6 * STUDY.right_answers(base)) % 59, "only the two sums"),
    ("rival", lambda base, source: (STUDY.right_answers(base) + (base != source).any(1)) % 59, "same few numbers"),
    ("rival", lambda base, source: STUDY.right_answers(source)[:5], "shape"),
    ("rival", lambda base, source: STUDY.right_answers(source) + 59, "not numbers"),
    ("rival", lambda base, source: (base[:, 14] + source[:, 14]) % 59, "the base's own"),
]

RIGHT = [
    ("scrubbed", (DRAWN, "(torch.rand(alike.shape, generator=generator) * alike).argmax(1)")),
    ("swapped", ("hook_v", "hook_k")),  # the two weights change places instead of what they weigh
]
