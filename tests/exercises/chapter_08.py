"""Answers to the exercises of chapter 8: mistakes, with words of what their check must say, and other right ones."""

import torch


def by_attention(one, other):
    """Another right answer to exercise 8.1: whether the attention is the same."""
    future = torch.ones_like(one).triu(1).bool()
    return torch.allclose(*(table.masked_fill(future, -torch.inf).softmax(1) for table in (one, other)), atol=1e-6, rtol=0)


def strongest(scores):
    """The key that each query reads most."""
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).argmax(1)


SECOND = "sorted(sums)[:-3:-1]"
CHANGE, SHIFT = "return flat", "(was.logit() - now.logit())[:, None] * keys"

MISTAKES = [
    ("same_head", ("[seen].all()", "[-1][seen[-1]].all()"), "every query counts"),
    ("same_head", ("1e-6)[seen].all()", "1e-6)[seen].double().mean() > 0.9"), "it should say False"),
    ("same_head", lambda one, other: bool((strongest(one) == strongest(other)).all()), "it should say False"),
    (
        "with_directions",
        ("U, s, V = torch.linalg.svd(block)", "U, s, V = torch.linalg.svd(block + block.T)"),
        "the nearest is at",
    ),
    ("with_directions", ("(U[:, :r] * s[:r])", "U[:, :r]"), "the nearest is at"),
    ("same_head", (".tril()", ""), "another future"),
    ("same_head", ("difference - constant", "difference"), "the softmax forgets"),
    ("same_head", ("1e-6", "3"), "it should say False"),
    ("separating", ('[*kinds, "number"]', "kinds"), "which is a key as well"),
    ("separating", ("latest = max", "latest = min"), "latest variable"),
    ("separating", (" and first - second > lead", ""), "one leads by"),
    # the number itself is forgotten where it is second
    ("separating", (SECOND, "max(sums), sorted(sums[:-1])[-1 - (sums[-1] < max(sums))]"), "if one forgets the number itself"),
    ("separating", lambda worth, position: [], "it finds no list"),
    ("separating", lambda worth, position: ["PAD"] * (len(position) - 1), "with a variable"),
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

RIGHT = [("same_head", by_attention)]
