"""Answers to the exercises of chapter 10: mistakes, with words of what their check must say."""

import math

import torch

from assign_add_lib import handmade

SHELF = handmade.residual_blocks()
NAMES = {
    "math": math,
    "torch": torch,
    "handmade": handmade,
    "shelf": {"note": SHELF["moved"], "is number": SHELF["is number"]},
    "P": SHELF["position"].start,
}


def on_the_letter(scores):
    """The number 19 loses 20 wherever it stands."""
    changed = scores.clone()
    changed[SHELF["position"].start + 15, SHELF["position"].start + 14] -= 20
    return changed


MISTAKES = [
    ("mass_without_mark", lambda problem: 1, "two things"),
    ("mass_without_mark", lambda problem: (1, problem.answer), "of the weight, not 1.000"),
    ("mass_without_mark", ("problem.answer", "0"), "brings no hands"),
    ("mass_without_mark", ("+= 1  # the letter at position 0", "+= 0  #"), "of the weight"),
    ("three", ("hand**3", "hand**2"), "that square"),
    ("three", ("hand**3", "hand"), "neurons that cube say"),
    ("three", lambda x, y, z, ks: (x + y + z) % 59, "which these clocks miss"),
    ("three", ("in ks]", "in ks[:1]]"), "neurons that cube say"),
    ("three", lambda x, y, z, ks: 3 * x % 59, "neurons that cube say"),
    ("mended", lambda scores: scores, "of the kind b+19"),
    ("mended", on_the_letter, "of the kind 17+19"),
    ("mended", ("-40", "-20"), "of the kind b+19"),
    ("mended", ("-40", "40"), "of the kind b+19"),
    ("mended", lambda scores: scores[:16], "has shape"),
    ("mended", lambda scores: 0 * scores, "of the kind 17+19"),
    ("smaller_network", lambda: {"phases": 5}, "the answer is a `Weights`"),
    ("smaller_network", lambda: handmade.weights((1,), phases=5), "makes do with 47"),
    ("smaller_network", lambda: handmade.weights((1, 2), phases=5), "writes to 53"),
    ("smaller_network", lambda: handmade.weights((1,), phases=4), "your network has"),
    ("smaller_network", lambda: handmade.weights(match=0), "of the kind b+19"),
    ("smaller_network", ('changed["W_in"][number], ', 'changed["W_in"][both], '), "your network has"),
]
