"""Answers to the exercises of chapter 11: mistakes, with words of what their check must say, and other right ones."""

import torch

SIDE = """side = torch.randn(len(embedding), dtype=embedding.dtype)
    side = side - vectors.T @ torch.linalg.solve(vectors @ vectors.T, vectors @ side)
    return embedding + side"""

MISTAKES = [
    ("by_exclusion", ("(1 + alike / N)", "1"), "equal to the right one"),
    ("by_exclusion", ("total = 0", "total, s = 0, min(s + 1, V)"), "is one of the s"),
    ("by_exclusion", ("total = 0", "total, s = 0, V"), "are candidates"),
    ("by_exclusion", lambda s, V, slots, N: 1 / s, "not always assigned"),
    ("by_exclusion", ("range(slots)", "[slots - 1]", "total / slots", "total"), "uniform on 1 to slots"),
    ("by_exclusion", lambda s, V, slots, N: 1 - (s > 1) * s / V / 3, "average over the number"),
    ("one_lever", ("return embedding", SIDE), "is enough"),
    ("one_lever", ("return", "vectors, gap = vectors[index : index + 1], gap[index : index + 1]\n    return"), "other rows"),
    ("one_lever", ("value - vectors[index] @ embedding", "vectors[index] @ embedding - value"), "the product with row"),
    ("one_lever", ("embedding + ", "embedding.add_(", ", gap)", ", gap))"), "writes into"),
    ("guilty", ("1, 14, 3", "1, 14, 1"), "are made with the number of c"),
    ("guilty", ("1, 14, 3", "2, 15, 3"), "are right"),
    ("guilty", ("1, 14, 3", "2, 15, 14"), "are right"),
    ("guilty", ("1, 14, 3", "0, 14, 3"), "layers 1 and 2"),
    ("guilty", ("1, 14, 3", "1, 3, 14"), "at or before it"),
    ("guilty", lambda: (14, 3), "three numbers"),
]

RIGHT = [("one_lever", lambda e, V, i, x: e + torch.linalg.pinv(V)[:, i] * (x - V[i] @ e))]
