"""Answers to the exercises of chapter 8: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.circuits import layer_2_terms


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


def without(sign=-1, turned=False):
    """An answer to exercise 8.4 with parts turned."""

    def deleted(weights, tokens, query, key):
        terms = layer_2_terms(weights, tokens)
        return sign * (terms[:, key, query] if turned else terms[:, query, key])

    return deleted


def the_other_eight(weights, tokens, query, key):
    terms = layer_2_terms(weights, tokens)
    return terms.sum((1, 2)) - terms[:, query, key]


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
    ("deleted", without(sign=1), "once more"),
    ("deleted", without(turned=True), "exchanged"),
    ("deleted", the_other_eight, "added to all nine"),
    ("deleted", lambda weights, tokens, query, key: None, "nothing yet"),
    ("nearness", lambda block: block.trace() / len(block), "the cosine is"),
    ("nearness", lambda block: block.trace() / block.norm(), "the cosine is"),
    ("nearness", lambda block: block.trace().abs() / (block.norm() * len(block) ** 0.5), "the cosine is"),
    ("nearness", lambda block: torch.cosine_similarity(block, torch.eye(len(block)).double()), "shape"),
]

RIGHT = [
    ("same_head", by_attention()),
    ("first_lost", all_gaps),
    (
        "nearness",
        lambda block: torch.cosine_similarity(block.flatten(), torch.eye(len(block), dtype=block.dtype).flatten(), dim=0),
    ),
]
