"""Answers to the exercises of chapter 11: mistakes, with words of what their check must say, and other right ones."""

from math import comb

import torch


def table_chance(left_out=True, first=True, of=-1):
    """An answer to exercise 11.1 with a mistake."""

    def chance_level(n):
        counts = [1, 1, *range(2, n - 1)][: n - 1] if left_out else [*range(1, n)]
        return sum(1 / count for count in counts[0 if first else 1 :]) / (n + of)

    return chance_level


def exclusion(ties=True, more=0, everyone=False):
    """An answer to exercise 11.2 with a mistake."""

    def by_exclusion(s, V, slots, N):
        s, total = V if everyone else min(s + more, V), 0
        for others in range(slots):
            for alike in range(min(others, s - 1) + 1):
                ways = comb(s - 1, alike) * comb(V - s, others - alike) / comb(V - 1, others)
                total += ways * (1 + alike / N * ties) / (1 + alike)
        return total / slots

    return by_exclusion


def share(barred=True, different=True, left_out=(), factor=True):
    """An answer to exercise 11.3 with parts left out."""

    def asked_share(V, never_right, never_left, r):
        left, right = torch.ones(V), torch.ones(V)
        if barred:
            left[list(never_left)], right[list(never_right)] = 0, 0
        pairs = left[:, None] * right * (1 - torch.eye(V) if different else 1)
        n = left.sum()
        two = r * (n if factor else 1) * pairs / pairs.sum()
        total = sum({"0": V, "1": 2 * n, "2": r * (n if factor else 1)}[kind] for kind in "012" if kind not in left_out)
        return torch.stack([left + two.sum(1), right + two.sum(0)], 1) / total

    return asked_share


def descent(order="both", first=0, factor=2):
    """An answer to exercise 11.4 with a mistake."""

    def steps_to_half(p, q, lr):
        for step in range(first, 10_001):
            if p * q >= 0.5:
                return step
            slope = factor * (1 - p * q)
            old = p
            p = p + lr * slope * q
            q = q + lr * slope * (old if order == "both" else p)
        return None

    return steps_to_half


def lever(shortest=True, others=True, sign=1, inside=False):
    """An answer to exercise 11.5 with a mistake."""

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
    ("chance_level", table_chance(left_out=False), "two back is left out"),
    ("chance_level", table_chance(first=False), "position 1 counts"),
    ("chance_level", table_chance(of=0), "positions 1 to n - 1"),
    ("chance_level", lambda n: 1 / n, "it gives"),
    ("by_exclusion", exclusion(ties=False), "equal to the right one"),
    ("by_exclusion", exclusion(more=1), "is one of the s"),
    ("by_exclusion", exclusion(everyone=True), "are candidates"),
    ("by_exclusion", lambda s, V, slots, N: 1 / s, "it gives"),
    ("one_lever", lever(shortest=False), "is enough"),
    ("one_lever", lever(others=False), "other rows"),
    ("one_lever", lever(sign=-1), "the product with row"),
    ("one_lever", lever(inside=True), "writes into"),
    ("asked_share", share(barred=False), "training never puts it there"),
    ("asked_share", share(different=False), "two different variables"),
    ("asked_share", share(factor=False), "2-var problems weigh r times n"),
    ("asked_share", share(left_out="0"), "the share is"),
    ("asked_share", lambda V, right, left, r: share()(V, right, left, r).T, "shape"),
    ("steps_to_half", descent(order="one"), "gradient descent takes"),
    ("steps_to_half", descent(first=1), "do both weights move at once"),
    ("steps_to_half", descent(factor=1), "gradient descent takes"),
    ("steps_to_half", descent(factor=-2), "gradient descent takes"),
]

RIGHT = [
    ("chance_level", table_chance()),
    ("by_exclusion", exclusion()),
    ("asked_share", share()),
    ("one_lever", lever()),
    ("one_lever", lambda e, V, i, x: e + torch.linalg.pinv(V)[:, i] * (x - V[i] @ e)),
    ("steps_to_half", descent()),
]
