"""Answers to the exercises of chapter 1: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.sampling import forms
from assign_add_lib.task import STUDY

everyone = range(12)
ALL_FORMS = (
    forms(STUDY, None, None) + forms(STUDY, everyone, None) + forms(STUDY, None, everyone) + forms(STUDY, everyone, everyone)
)


def twice(split, size, others=3):
    """The same variable on both sides, with its double, after so many other assignments, and before one where there are any."""
    n, x = torch.arange(size)[:, None], torch.randint(59, (size, others + 1))
    tokens = torch.full((size, 16), 61)
    tokens[:, 0 : 2 * others + 2 : 2], tokens[:, 1 : 2 * others + 2 : 2] = 62 + (n + torch.arange(others + 1)) % 12, x
    tokens[:, 12], tokens[:, 15] = 59, 60
    asked = max(others - 1, 0)
    tokens[:, 13:15] = tokens[:, 2 * asked, None]
    return tokens, 2 * x[:, asked] % 59


def asks_the_last(split, size):
    tokens, answers = twice(split, size)
    tokens[:, 13:15] = tokens[:, 6, None]
    return tokens, 2 * tokens[:, 7] % 59


def drawn(tokens, answers):
    """What to change in the solution that draws a tenth set, so that it gives these."""
    return "return law", "tokens, answers = law", "seed(10))", f"seed(10))\n    return {tokens}, {answers}"


NAMES = {"all_forms": ALL_FORMS}

MISTAKES = [
    ("numbers_to_add", ("1:12]", ":11]"), "the two numbers to add are"),  # the name itself is taken
    (
        "numbers_to_add",
        ("[:, None, :11] == operands[:, :, None]", "[:, None, :11] >= 62 + 0 * operands[:, :, None]"),
        "numbers to add",
    ),
    ("informed", ("numbers, operands =", "train_pairs[:] = True\n    numbers, operands ="), "should share the probability"),
    ("numbers_to_add", lambda tokens: tokens[:, 1:12:2].amin(1, keepdim=True).expand(-1, 2), "the two numbers to add are"),
    ("one_look_score", ("sum(scores) / m", "scores[-1]"), "counting the cases one by one"),
    ("one_look_score", ("/ (n - 1)", "/ n"), "counting the cases one by one"),
    ("informed", ("torch.where(kept.any(1, keepdim=True), kept, assigned)", "kept + 1e-9"), "should share the probability"),
    (
        "informed",
        ("(candidate, constant)", "(constant, candidate)", "right_first = (constant", "right_first = (candidate"),
        "share",
    ),
    ("informed", ("return votes / votes.sum(1, keepdim=True)", "return (votes == votes.amax(1, keepdim=True)).float()"), "share"),
    ("tenth_set", lambda split, size: twice(split, size, 0), "who takes random assigned numbers"),
    ("tenth_set", asks_the_last, "who takes the last assigned numbers"),
    ("numbers_to_add", lambda tokens: tokens[:, 13:15], "the two numbers to add are"),  # nothing is looked up
    ("numbers_to_add", ("operands, looked_up)", "operands, looked_up).flip(1)"), "the left operand comes first"),
    ("numbers_to_add", ("operands, looked_up)", "operands, looked_up)[0]"), "shape (2,)"),
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
