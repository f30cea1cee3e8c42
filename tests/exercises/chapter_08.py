"""Answers to the exercises of chapter 8: mistakes, with words of what their check must say, and other right ones."""

import torch


def by_attention(mask=True, rows=True, tolerance=1e-6):
    """An answer to exercise 8.1 by the attention itself, with parts left out."""

    def same_head(one, other):
        seen = torch.ones_like(one).tril().bool() if mask else torch.ones_like(one).bool()
        tables = [table.masked_fill(~seen, -torch.inf) for table in (one, other)]
        tables = [table.softmax(1) if rows else table for table in tables]
        return torch.allclose(*tables, atol=tolerance, rtol=0)

    return same_head


def same_largest(one, other):
    seen = torch.ones_like(one).tril().bool()
    return bool((one.masked_fill(~seen, -torch.inf).argmax(1) == other.masked_fill(~seen, -torch.inf).argmax(1)).all())


def flip(nearest=False, shift=1, start=1, more=False):
    """An answer to exercise 8.2 with mistakes."""

    def first_lost(worth, position, place):
        row = position[place]
        for gap in range(start, place):
            variable = worth + row[place - gap - shift]
            rival = row[place - 1] if nearest else row[place - gap : place + int(more)].max()
            if variable < rival:
                return gap
        return 0

    return first_lost


def all_gaps(worth, position, place):
    """Another right answer to exercise 8.2, without a loop."""
    row = position[place, :place].flip(0)  # one back first
    lost = worth + row[1:] < row.cummax(0).values[:-1]
    return int(lost.int().argmax()) + 1 if lost.any() else 0


def bound(operands=(13, 14), held=True, first=1, turned=False):
    """An answer to exercise 8.3 with parts left out."""

    def binding_scores(block, pattern, tokens):
        scores = torch.zeros(16, dtype=block.dtype)
        for j in range(first, 16):
            for operand in operands:
                pair = tokens[operand], tokens[j - 1]
                entry = block[pair[::-1]] if turned else block[pair]
                scores[j] += pattern[15, operand] * entry * (pattern[j, j - 1] if held else 1)
        return scores

    return binding_scores


def level(everywhere=False, over=None, change=True):
    """An answer to exercise 8.4 with parts left out: the mean over the keys of a problem, over all or over the batch."""

    def flattened(term, keys):
        mean = (term * keys).sum(1, keepdim=True) / keys.sum(1, keepdim=True)
        if over == "all":
            mean = term.mean(1, keepdim=True)
        if over == "batch":
            mean = term[keys].mean()
        new = mean - term if change else mean.expand_as(term)
        return new if everywhere else new * keys

    return flattened


def by_problem(term, keys):
    """Another right answer to exercise 8.4, a problem at a time."""
    new = term.clone()
    for row, here in zip(new, keys, strict=True):
        row[here] = row[here].mean()
    return new - term


def rank(extra=0, turned=False, largest=True):
    """An answer to exercise 8.5 with mistakes."""

    def with_directions(block, r):
        U, s, V = torch.linalg.svd(block)
        kept = slice(0, r + extra) if largest else slice(len(s) - r, None)
        right = V.T[kept] if turned else V[kept]
        return (U[:, kept] * s[kept]) @ right

    return with_directions


def projected(block, r):
    """Another right answer to exercise 8.5."""
    V = torch.linalg.svd(block).Vh[:r]
    return block @ V.T @ V


MISTAKES = [
    ("same_head", by_attention(mask=False), "another future"),
    ("same_head", by_attention(rows=False), "the softmax forgets"),
    ("same_head", by_attention(tolerance=0.5), "it should say False"),
    ("same_head", same_largest, "it should say False"),
    ("same_head", lambda one, other: None, "nothing yet"),
    ("first_lost", flip(nearest=True), "always the strongest"),
    ("first_lost", flip(shift=0), "trying every gap"),
    ("first_lost", flip(more=True), "trying every gap"),
    ("first_lost", lambda worth, position, place: None, "nothing yet"),
    ("binding_scores", bound(operands=(13,)), "the term is"),
    ("binding_scores", bound(held=False), "how much of the token before"),
    ("binding_scores", bound(held=False, first=0), "nothing stands before"),
    ("binding_scores", bound(turned=True), "the columns what a key holds"),
    ("flattened", level(everywhere=True), "outside the mask"),
    ("flattened", level(over="all"), "not over all"),
    ("flattened", level(over="batch"), "not over the batch"),
    ("flattened", level(change=False), "added to the old one"),
    ("flattened", lambda term, keys: None, "nothing yet"),
    ("with_directions", rank(extra=-1), "are allowed"),
    ("with_directions", rank(extra=1), "the nearest is at"),
    ("with_directions", rank(turned=True), "on their sides"),
    ("with_directions", rank(largest=False), "the nearest is at"),
]

RIGHT = [
    ("same_head", by_attention()),
    ("first_lost", all_gaps),
    ("flattened", by_problem),
    ("with_directions", projected),
]
