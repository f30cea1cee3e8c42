"""Answers to the exercises of chapter 5: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib import Task

NAMES = {"task": Task(), "torch": torch}
GIVEN = "argmax(1, keepdim=True), asked"

MISTAKES = [
    ("same_variable", lambda weights: torch.ones(12, 59), "should be True or False"),
    ("same_variable", lambda weights: torch.ones(12, 59, dtype=torch.bool), "of the 708 problems are right"),
    ("same_variable", ("view(12, 59)", "view(59, 12).T"), "of the 708 problems are right"),
    ("same_variable", ("v, v)", "x, x)"), "of the 708 problems are right"),  # typed doubles
    ("breaks", lambda: "c=30, a=41, 5+a=?", "a on the right, where training never puts it"),
    ("breaks", lambda: "b=3, c=1, b+b=?", "asks for b twice"),
    ("breaks", lambda: "b=3, b=1, b+7=?", "this is no problem"),
    ("blurred", lambda row: row, "still answers"),
    ("blurred", ("0.02 * row + 0.98", "0 * row + 1"), "order of the weights"),
    ("blurred", lambda row: torch.softmax(torch.where(row < row.topk(3).values[:, 2:], 0, row / 20), 1), "order of the weights"),
    ("blurred", lambda row: row**0.05, "sum to 1"),
    ("blurred", lambda row: row - 0.5 * row.flip(1), "negative"),
    ("assigned_twice", lambda tokens: tokens, "0 tokens change"),
    ("assigned_twice", (f"tokens.scatter(1, others.int().{GIVEN}", "torch.where(others, asked, tokens"), "change; one should"),
    ("assigned_twice", (".roll(-1, 1)", ""), "no assigned letter"),
    ("assigned_twice", (GIVEN, GIVEN.replace("asked", "tokens[:, 13:15].amin(1, keepdim=True)")), "the asked one"),
    ("same_variable", ("each.answer", "2 * each.values[0]"), "are right"),
    ("breaks", lambda: 36, "as text"),
    ("breaks", lambda: "b=17, d+19=?", "never assigned"),
    ("breaks", lambda: "c=1, b=17, a=42, b+19=?", "which is right"),
    ("breaks", lambda: "c=17, d=48, h=33, i=18, 33+33=?", "adds (33, 33), which is held out"),
]

RIGHT = [
    ("blurred", lambda row: row**0.05 / (row**0.05).sum(1, keepdim=True)),
    ("assigned_twice", ("others.int()", "15 - others.flip(1).int()")),  # the last of the others, where the page takes the first
    ("breaks", lambda: "a=0, c=0, d=0, e=0, f=0, b=6, b+19=?"),
]
