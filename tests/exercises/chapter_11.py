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
    ("basin_depth", ("return min", "return max"), "easier of the two sides"),
    ("basin_depth", ("curve[:lowest].max(), curve[lowest:].max()", "curve.iloc[0], curve.iloc[-1]"), "not its end"),
    ("basin_depth", ("curve.min()", "curve[0.0]"), "starts at the lowest point"),
    ("basin_depth", lambda curve: 0.0, "it gives"),
    ("basin_depth", ("curve[:lowest]", "curve[curve.index < lowest]"), "belongs to both sides"),
]

RIGHT = [("one_lever", lambda e, V, i, x: e + torch.linalg.pinv(V)[:, i] * (x - V[i] @ e))]
