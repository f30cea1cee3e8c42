"""Answers to the exercises of chapter 8: mistakes, with words of what their check must say, and other right ones."""

import torch


def previous(diagonal=False, two_back=True, first_row=False):
    """An answer to exercise 8.1 with parts left out."""

    def reads_previous(scores, mask_two_back):
        i = torch.arange(len(scores))
        allowed = (i <= i[:, None]) if diagonal else (i < i[:, None])
        if two_back and mask_two_back:
            allowed &= i != i[:, None] - 2
        best = scores.masked_fill(~allowed, -torch.inf).argmax(1)
        return (best == i - 1)[1:].sum() + int(first_row)

    return reads_previous


def previous_token(tokens):
    return torch.arange(len(tokens)) - 1


def first_variable(tokens):
    seen = (tokens >= 62).cumsum(0) > 0
    return torch.where(seen, (tokens >= 62).int().argmax(), -1)


def strictly_before(tokens):
    place = torch.where(tokens >= 62, torch.arange(len(tokens)), -1).cummax(0).values
    return torch.cat([torch.tensor([-1]), place[:-1]])


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


MISTAKES = [
    ("reads_previous", previous(diagonal=True), "read itself"),
    ("reads_previous", previous(two_back=False), "mask_two_back=True"),
    ("reads_previous", previous(first_row=True), "counting row by row"),
    ("latest_variable", previous_token, "it should get"),
    ("latest_variable", first_variable, "it should get"),
    ("latest_variable", strictly_before, "it should get"),
    ("latest_variable", lambda tokens: tokens[:12], "shape"),
    ("binding_scores", bound(operands=(13,)), "the term is"),
    ("binding_scores", bound(held=False), "how much of the token before"),
    ("binding_scores", bound(held=False, first=0), "nothing stands before"),
    ("binding_scores", bound(turned=True), "the term is"),
    ("memory", lambda vectors: vectors.T @ vectors, "orthonormal"),
    ("memory", lambda vectors: torch.eye(vectors.shape[1]), "differs from the identity"),
    ("memory", lambda vectors: vectors @ vectors.T, "shape"),
    ("memory", lambda vectors: torch.linalg.pinv(vectors) @ vectors, "differs from the identity"),
]

RIGHT = [("memory", lambda vectors: torch.linalg.pinv(vectors.T @ vectors, rtol=1e-10))]
