"""Answers to the exercises of chapter 17: mistakes, with words of what their check must say, and other right ones."""

import math

from assign_add_lib.laboratory import read_plan

NAMES = {"report": lambda *_: None}
WORLD = """
title = "Four heads"
question = "Do four heads do what one does?"

[world]
heads = 4

[[prediction]]
name = "four heads add"
statement = "Sums of constants are right."
because = "Each head can do what one does."
rival = "A quarter of the width is too narrow for the waves."
control = "The study's world."
chance = "0.017"
measure = "right"
of = "0-var train"
at_least = 0.9
"""


def half_a_circle(N):
    """An answer to exercise 17.1 that knows the case of the text alone."""
    return [(k, N // 2) for k in range(1, N // 2 + 1, 2)] if N % 2 == 0 else []


def by_odd_multiples(N):
    """An answer to exercise 17.1 that solves for the distance."""
    found = set()
    for k in range(1, N // 2 + 1):
        for odd in range(1, N, 2):
            d, rest = divmod(N * odd, 2 * k)
            if not rest and d <= N // 2:
                found.add((k, d))
    return found


def bound_by_pairs(luck=True, among_others=True):
    """An answer to exercise 17.2 that goes through what is asked and what is picked."""

    def bound(places, slots, N):
        total = 0
        for n in range(1, slots + 1):
            free = range(places, n) if among_others else range(n)
            for asked in range(n):
                picks = [1 if pick == asked else luck / N for pick in free]
                total += (1 if asked < places else sum(picks) / len(picks)) / n
        return total / slots

    return bound


def least_seeds(tail=0.0, all_hold=False, step=3):
    """An answer to exercise 17.4 that adds up chances from the other end."""

    def seeds_needed(q, most):
        n = step
        while True:
            fewest = n if all_hold else 2 * n / 3
            missed = sum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1) if k < fewest)
            if 1 - missed <= most + 1e-12 + tail:
                return n
            n += step

    return seeds_needed


MISTAKES = [
    ("silent", half_a_circle, "modulo 12 there are"),
    ("silent", lambda N: [(k, N // 2) for k in range(1, N // 2 + 1)], "of its size"),
    ("silent", lambda N: [(k, d) for k in range(1, N) for d in range(N) if 2 * k * d % (2 * N) == N], "frequencies go from 1"),
    ("bound", bound_by_pairs(luck=False), "the right sum modulo N"),
    ("bound", bound_by_pairs(among_others=False), "whose place is bound"),
    ("bound", lambda places, slots, N: places / slots, "0 of up to 6 places"),
    ("order_told", lambda a, b, c, d, psi: 0.0, "amounts 0.70, 0.30"),
    ("order_told", lambda a, b, c, d, psi: 4 * abs((a * d - b * c) * math.sin(psi)), "twice as much"),
    ("order_told", lambda a, b, c, d, psi: 2 * (b * c - a * d) * math.sin(psi), "amounts are not negative"),
    ("order_told", lambda a, b, c, d, psi: 2 * abs(a * d - b * c), "by what angle the second head turns"),
    ("seeds_needed", least_seeds(all_hold=True), "that asks that all of them hold"),
    ("seeds_needed", least_seeds(step=1), "it must be a multiple of 3"),
    ("own_world", lambda: read_plan("study").text, "does not differ"),
    ("own_world", lambda: "title = 1", "the file cannot be read"),
    ("own_world", lambda: WORLD.split("\n[[")[0], "predicts nothing"),
    ("own_world", lambda: WORLD.replace("at_least = 0.9", "at_most = 0.9"), "choose another level"),
    ("own_world", lambda: WORLD.replace("heads = 4", "d_model = 512"), "longer than ten minutes"),
]

RIGHT = [
    ("silent", by_odd_multiples),
    ("bound", bound_by_pairs()),
    ("seeds_needed", least_seeds()),
    ("order_told", lambda a, b, c, d, psi: abs(2 * math.sin(psi) * (b * c - a * d))),
    ("own_world", lambda: WORLD),
]
