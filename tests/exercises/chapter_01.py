"""Answers to the exercises of chapter 1: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.sampling import forms
from assign_add_lib.task import STUDY

everyone = range(12)
ALL_FORMS = (
    forms(STUDY, None, None) + forms(STUDY, everyone, None) + forms(STUDY, None, everyone) + forms(STUDY, everyone, everyone)
)


def twice(split, size):
    """The same variable on both sides, with its double."""
    x = torch.arange(size) % 59
    tokens = torch.full((size, 16), 61)
    tokens[:, 0], tokens[:, 1], tokens[:, 12], tokens[:, 15] = 62 + torch.arange(size) % 12, x, 59, 60
    tokens[:, 13] = tokens[:, 14] = tokens[:, 0]
    return tokens, 2 * x % 59


def drawn(tokens, answers):
    """What to change in the solution that draws a tenth set, so that it gives these."""
    return "return law", "tokens, answers = law", "seed(10))", f"seed(10))\n    return {tokens}, {answers}"


NAMES = {"all_forms": ALL_FORMS}

MISTAKES = [
    ("numbers_to_add", lambda tokens: tokens[:, 13:15], "the two numbers to add are"),  # nothing is looked up
    ("numbers_to_add", ("operands, looked_up)", "operands, looked_up).flip(1)"), "the left operand comes first"),
    ("numbers_to_add", ("operands, looked_up)", "operands, looked_up)[0]"), "shape (2,)"),
    ("may_train", ("[x, y]", "[y, x]"), "training"),  # which of the two kinds of problems comes first is random
    ("may_train", (" and sides_allowed", ""), "where training never puts it"),
    ("one_look_score", ("1 / n + (1 - 1 / n) * by_luck", "(1 + (n - 1) / N) / n"), "that is the solver that never looks"),
    ("one_look_score", ("(n - 2) / N", "0"), "with probability 1/N"),
    ("tenth_set", ("new_forms.double(), split.held_out_pairs", "asked.double(), split.train_pairs"), "training may ask"),
    ("tenth_set", ("new_forms.double()", "asked.double()"), "an add-restricted set: it lacks a variable out of place"),
    ("tenth_set", ("held_out_pairs", "train_pairs"), "a var-restricted set: it lacks a held-out pair"),
    ("tenth_set", ("size,", "size + 1,"), "shape"),
    ("tenth_set", drawn("tokens", "answers + 1"), "has the answer"),
    ("tenth_set", drawn("tokens[:1].repeat(size, 1)", "answers[:1].repeat(size)"), "occur more than once"),
    ("informed", ("assigned & seen", "assigned"), "the answers should share the probability"),
    ("informed", ("return votes / votes.sum(1, keepdim=True)", "return votes[0]"), "shape (59,)"),
]

RIGHT = [("tenth_set", twice)]
