"""Answers to the exercises of chapter 11: mistakes, with words of what their check must say, and other right ones."""

from math import comb

import torch

from assign_add_lib.analysis.phases import arrival


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


def late(never=True, first=False, nearest=max, more=0, everyone=False, strict=True):
    """An answer to exercise 11.3 with a mistake."""

    def latecomers(accuracy, reference, level, wait):
        came = {}
        for place in accuracy:
            above = accuracy[place] >= level
            came[place] = arrival(accuracy[place], level) if not first else (above.idxmax() if above.any() else None)
        last = nearest(came[place] for place in reference) + more
        others = [place for place in accuracy if everyone or place not in reference]
        gone = {place for place in others if came[place] is None} if never else set()
        known = {place: came[place] - last - wait for place in others if came[place] is not None}
        return gone | {place for place, late in known.items() if late > 0 or (late == 0 and not strict) or place in reference}

    return latecomers


def lever(shortest=True, others=True, sign=1, inside=False):
    """An answer to exercise 11.4 with a mistake."""

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
    ("latecomers", late(never=False), "never arrives is late"),
    ("latecomers", late(first=True), "first crossing is no arrival"),
    ("latecomers", late(nearest=min), "the last of the reference"),
    ("latecomers", late(strict=False), "it is in the set"),
    ("latecomers", late(everyone=True), "columns in the reference"),
]

RIGHT = [
    ("chance_level", table_chance()),
    ("by_exclusion", exclusion()),
    ("latecomers", late()),
    ("one_lever", lever()),
    ("one_lever", lambda e, V, i, x: e + torch.linalg.pinv(V)[:, i] * (x - V[i] @ e)),
]
