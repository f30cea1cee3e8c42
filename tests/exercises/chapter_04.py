"""Answers to the exercises of chapter 4: mistakes, with words of what their check must say."""

import torch


def lower(share, seed):
    """Another right answer: what is below the diagonal is copied above it."""
    drawn = torch.rand(59, 59, generator=torch.Generator().manual_seed(seed))
    return torch.where(torch.ones(59, 59).tril().bool(), drawn, drawn.T) < share


RIGHT = [("both_or_none", lower)]
MISTAKES = [
    ("both_or_none", ("(drawn < share).triu()", "drawn < share", "upper | upper.T", "upper"), "parted"),
    ("both_or_none", (".triu()", ""), "pairs of two numbers are in training"),
    ("both_or_none", (".triu()", "", "upper | upper.T", "upper & upper.T"), "pairs of two numbers are in training"),
    ("both_or_none", (".triu()", ".triu(1)"), "of the doubles are in training"),
    ("both_or_none", ("manual_seed(seed)", "manual_seed(0)"), "another seed draws the same pairs"),
    ("both_or_none", (", generator=generator", ""), "the same seed draws other pairs"),
    ("both_or_none", lambda share, seed: torch.ones(59) > 0, "shape"),
    ("renamed", ("manual_seed(seed)", "manual_seed(0)"), "another seed gives the same names"),
    (
        "renamed",
        ("torch.Generator().manual_seed(seed)", "torch.Generator()\n    generator.seed()"),
        "the same seed gives other names",
    ),
    ("renamed", lambda tokens, old, seed: tokens, "still stands"),
    ("renamed", ("masked_fill(used, -1)", "masked_fill(letters == old, -1)"), "in use already"),
    ("renamed", ("tokens == old", "(tokens == old) | (tokens >= 62) & (torch.arange(16) == 13)"), "is changed"),
    ("renamed", ("draw.argmax(1)", "(~used).int().argmax(1)"), "new names are ever drawn"),
    ("renamed", lambda tokens, old, seed: torch.where(tokens == old, 61, tokens), "no variable"),
    ("evidence", ("log_likelihood(rote) -", "-log_likelihood(rote) +"), "that of the table comes first"),
    ("evidence", ("1 - p)", "1.0)"), "wrong answers are evidence too"),
    ("evidence", ("1 / 59", "0.1"), "pair by pair gives"),
    ("evidence", lambda right, twin, sure: right, "shape"),
]
