"""Answers to the exercises of chapter 16: mistakes, with words of what their check must say, and other right ones."""

import itertools

import torch

from assign_add_lib.companions.rules import data
from assign_add_lib.companions.rules.solvers import elimination

NAMES = {"data": data}  # made ready in a cell that the page hides

MISTAKES = [
    ("likely", lambda rows: elimination(rows)[:, -1].amax(1), "0.08 more is asked for"),
    ("likely", lambda rows: rows.answers[:, -1] == 0, "0.08 more is asked for"),  # what is right, but not when
    ("likely", lambda rows: (rows.inputs[:, -2] != 0).all(1), "0.08 more is asked for"),  # as in seed 2
    ("likely", lambda rows: torch.full((len(rows.answers),), torch.nan), "not finite"),
    ("matches_that_say", ("f * answer % p", "answer"), "its z needs the same factor"),
    ("matches_that_say", ("f * answer % p", "pow(f, -1, p) * answer % p"), "its z needs the same factor"),
    ("matches_that_say", ("range(1, p)", "range(p)"), "no multiple of (0, 0) is the question"),
    ("matches_that_say", ("range(1, p)", "range(2, p)"), "may ask the question itself"),
    ("matches_that_say", ("range(1, p)", "range(1, p - 1)"), "is missing"),
    ("matches_that_say", ("f * answer % p", "f * answer"), "take it modulo"),
    ("matches_that_say", lambda answer, question, p: [(*question, z) for z in range(p)], "does not belong there"),
    ("matches_that_say", lambda answer, question, p: [question], "give each example as (x, y, z)"),
    ("without_ratios", lambda p: [1 / p] * (p - 1), "question 2"),
    ("without_ratios", ("[1 / p]", "[1 / (p - 1)]"), "nothing came before"),
    ("without_ratios", ("flat = 1 / p", "flat = 0"), "the tasks whose answers are all 0"),
    ("without_ratios", ("p - 1 - seen", "p - seen"), "0 is struck out, too"),
    ("without_ratios", ("return [1 / p] +", "return"), "a line has 4 inputs"),
    ("likely", (" + 6 * (question != 0).all(1)", ""), "0.08 more is asked for"),
    ("likely", lambda rows: torch.zeros(len(rows.answers)), "0.50 of the pairs"),
    ("likely", lambda rows: rows.answers, "you gave 18000 scores"),
]


def by_trying_all(answer, question, p):
    """All examples, of which those stay whose multiple is the question with this answer."""
    every = itertools.product(range(p), repeat=3)
    return {each for each in every if any(tuple(f * n % p for n in each) == (*question, answer) for f in range(1, p))}


RIGHT = [("matches_that_say", by_trying_all)]
