"""Answers to the exercises of chapter 11: mistakes, with words of what their check must say, and other right ones."""

from math import comb

import torch


def exclusion(ties=True, more=0, everyone=False, most=False):
    """An answer to exercise 11.1 with a mistake."""

    def by_exclusion(s, V, slots, N):
        s, total = V if everyone else min(s + more, V), 0
        numbers = range(slots - 1 if most else 0, slots)
        for others in numbers:
            for alike in range(min(others, s - 1) + 1):
                ways = comb(s - 1, alike) * comb(V - s, others - alike) / comb(V - 1, others)
                total += ways * (1 + alike / N * ties) / (1 + alike)
        return total / len(numbers)

    return by_exclusion


def basin(side=min, ends=False, start=None):
    """An answer to exercise 11.2 with a mistake."""

    def basin_depth(curve):
        lowest = curve.idxmin()
        left, right = curve[:lowest], curve[lowest:]
        highest = (left.iloc[0], right.iloc[-1]) if ends else (left.max(), right.max())
        return side(highest) - curve[lowest if start is None else start]

    return basin_depth


def by_position(curve):
    """An answer to exercise 11.2 whose left side leaves the lowest point out."""
    i = curve.to_numpy().argmin()
    return min(curve.iloc[:i].max(), curve.iloc[i:].max()) - curve.min()


def lever(shortest=True, others=True, sign=1, inside=False):
    """An answer to exercise 11.3 with a mistake."""

    def one_lever(embedding, vectors, index, value):
        V = vectors if others else vectors[index : index + 1]
        gap = torch.zeros(len(V), dtype=embedding.dtype)
        gap[index if others else 0] = sign * (value - vectors[index] @ embedding)
        change = V.T @ torch.linalg.solve(V @ V.T, gap)
        if not shortest:
            side = torch.randn(len(embedding), dtype=embedding.dtype)
            change = change + side - V.T @ torch.linalg.solve(V @ V.T, V @ side)
        return embedding.add_(change) if inside else embedding + change

    return one_lever


MISTAKES = [
    ("by_exclusion", exclusion(ties=False), "equal to the right one"),
    ("by_exclusion", exclusion(more=1), "is one of the s"),
    ("by_exclusion", exclusion(everyone=True), "are candidates"),
    ("by_exclusion", lambda s, V, slots, N: 1 / s, "not always assigned"),
    ("by_exclusion", exclusion(most=True), "uniform on 1 to slots"),
    ("by_exclusion", lambda s, V, slots, N: 1 - (s > 1) * s / V / 3, "average over the number"),
    ("one_lever", lever(shortest=False), "is enough"),
    ("one_lever", lever(others=False), "other rows"),
    ("one_lever", lever(sign=-1), "the product with row"),
    ("one_lever", lever(inside=True), "writes into"),
    ("basin_depth", basin(side=max), "easier of the two sides"),
    ("basin_depth", basin(ends=True), "not its end"),
    ("basin_depth", basin(start=0.0), "starts at the lowest point"),
    ("basin_depth", lambda curve: 0.0, "it gives"),
    ("basin_depth", by_position, "belongs to both sides"),
]

RIGHT = [
    ("by_exclusion", exclusion()),
    ("basin_depth", basin()),
    ("one_lever", lever()),
    ("one_lever", lambda e, V, i, x: e + torch.linalg.pinv(V)[:, i] * (x - V[i] @ e)),
]
