"""Answers to the exercises of chapter 16: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.companions.rules import data
from assign_add_lib.companions.rules.solvers import elimination

NAMES = {"data": data}  # made ready in a cell that the page hides

MISTAKES = [
    ("likely", lambda rows: elimination(rows)[:, -1].amax(1), "0.08 more is asked for"),
    ("likely", lambda rows: rows.answers[:, -1] == 0, "0.08 more is asked for"),  # what is right, but not when
    ("likely", lambda rows: (rows.inputs[:, -2] != 0).all(1), "0.08 more is asked for"),  # as in seed 2
    ("likely", lambda rows: torch.full((len(rows.answers),), torch.nan), "not finite"),
    ("known", ("if len(multiples) > p:", "if len(inputs) > 1:"), "two rules differ there"),
    ("known", ("for c in range(p)", "for c in range(2)"), "is fixed, too"),
    ("known", (" | {(0, 0)}", " - {(0, 0)}"), "it is 0 for every rule"),
    ("known", ("len(multiples) > p", "False"), "combine two examples"),
    ("known", ("len(multiples) > p", "True"), "two rules differ there"),
    ("known", lambda inputs, p: set(inputs) | {(0, 0)}, "is fixed, too"),
    ("without_ratios", lambda p: [1 / p] * (p - 1), "question 2"),
    ("without_ratios", ("[1 / p]", "[1 / (p - 1)]"), "nothing came before"),
    ("without_ratios", ("flat = 1 / p", "flat = 0"), "the tasks whose answers are all 0"),
    ("without_ratios", ("p - 1 - seen", "p - seen"), "0 is struck out, too"),
    ("without_ratios", ("return [1 / p] +", "return"), "a line has 4 inputs"),
    ("likely", (" + 6 * (question != 0).all(1)", ""), "0.08 more is asked for"),
    ("likely", lambda rows: torch.zeros(len(rows.answers)), "0.50 of the pairs"),
    ("likely", lambda rows: rows.answers, "you gave 18000 scores"),
]
