"""Answers to the exercises of chapter 8: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.analysis import scores
from assign_add_lib.task import STUDY

NAMES = {"lookup": scores, "task": STUDY, "torch": torch}


def by_attention(table):
    """Another right answer to exercise 8.1: whether the last row gives every query the same attention."""
    future = torch.ones_like(table).triu(1).bool()
    both = (each.masked_fill(future, -torch.inf).softmax(1) for each in (table, table[-1:].expand_as(table)))
    return torch.allclose(*both, atol=1e-6, rtol=0)


def strongest(scores):
    """The key that each query reads most."""
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).argmax(1)


CHANGE, SHIFT = "return flat", "(was.logit() - now.logit())[:, None] * keys"

MISTAKES = [
    ("place_blind", ("[seen].all()", "[-2][seen[-2]].all()"), "it should say False"),
    ("place_blind", ("table[-1]", "table[0]"), "anything in the future"),
    ("place_blind", lambda table: bool((strongest(table) == strongest(table[-1:].expand_as(table))).all()), "should say"),
    ("place_blind", lambda table: bool((table == table[-1]).all()), "which the softmax forgets"),
    (
        "with_directions",
        ("U, s, V = torch.linalg.svd(block)", "U, s, V = torch.linalg.svd(block + block.T)"),
        "the nearest is at",
    ),
    ("with_directions", ("(U[:, :r] * s[:r])", "U[:, :r]"), "the nearest is at"),
    ("place_blind", (".tril()", ""), "anything in the future"),
    ("place_blind", ("difference - constant", "difference"), "the softmax forgets"),
    ("place_blind", ("1e-6", "3"), "it should say False"),
    ("separated", ("7 - gap", "8 - gap"), "position 8 should hold each number once"),
    ("separated", ("7 - gap", "6 - gap"), "should hold a letter"),
    ("separated", ("torch.arange(59)", "17"), "each number once"),
    ("separated", ("task.pad", "0"), "should be PAD"),
    ("separated", ("task.plus, task.token", "task.equal, task.token"), "+ stands at"),
    ("separated", ("19, task.equal", "19, task.plus"), "= stands at"),
    ("separated", ("19, task.equal", 'task.token("b"), task.equal'), "letter plus a number"),
    ("flat_restored", (" + " + SHIFT, ""), "the constant is missing"),
    ("flat_restored", ("was.logit() - now.logit()", "(was / now).log()"), "multiplies the odds"),
    ("flat_restored", ("was.logit() - now.logit()", "now.logit() - was.logit()"), "the wrong sign"),
    ("flat_restored", (CHANGE, "return scores + flat"), "return the change"),
    ("flat_restored", (CHANGE, "return term * keys + flat"), "must be added to the old term"),
    ("flat_restored", ("[:, None] * keys", "[:, None]"), "outside the mask nothing changes"),
    ("flat_restored", lambda scores, term, keys: keys.to(term.dtype), "you give the same to all"),
    ("with_directions", ("[:r]", "[: r + 1]", "[:, :r]", "[:, : r + 1]"), "the nearest is at"),
    ("with_directions", ("[:r]", "[: r - 1]", "[:, :r]", "[:, : r - 1]"), "are allowed"),
    ("with_directions", ("V[:r]", "V.T[:r]"), "on their sides"),
]


def asked_on_the_right(gap):
    """Another right answer to exercise 8.2, as lists: another letter, to the right of the +, and numbers downwards."""
    rows = []
    for number in range(58, -1, -1):
        row = [STUDY.pad] * 12 + [STUDY.plus, number, STUDY.token("c"), STUDY.equal]
        row[8], row[7 - gap] = number, STUDY.token("c")
        rows.append(row)
    return rows


RIGHT = [("place_blind", by_attention), ("separated", asked_on_the_right)]
