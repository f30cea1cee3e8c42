"""Answers to the exercises of chapter 10: mistakes, with words of what their check must say, and other right ones."""

import cmath
import math

from assign_add_lib import handmade


def itself_counted_twice(s, t):
    return math.exp(s) / (math.exp(s) + t + 1)


def every_key_seen(s, t):
    return math.exp(s) / (math.exp(s) + 15)


def lead_by(size, frequencies, x, y, N):
    return min(
        sum(size(math.cos(math.pi * k * (x - y) / N)) * (1 - math.cos(2 * math.pi * k * d / N)) for k in frequencies)
        for d in range(1, N)
    )


def angle_not_doubled(x, y, a, k):
    step = 2 * math.pi * k / 59
    angle = cmath.phase(a * cmath.exp(1j * step * x) + (1 - a) * cmath.exp(1j * step * y))
    return max(range(59), key=lambda q: math.cos(step * q - angle))


def asked_for(first=True, itself=True, numbers=True, answer=lambda problem: problem.answer):
    """An answer to exercise 10.4 that may forget position 0, what `=` has read, or the numbers looked up."""

    def mass_without_mark(problem):
        asked = [each for each in (problem.left, problem.right) if isinstance(each, str)]
        at_first = bool(problem.assignments) and problem.assignments[0][0] in asked
        return 2 / (2 + numbers * len(asked) + first * at_first + itself * (len(asked) == 2)), answer(problem)

    return mass_without_mark


def scored(score):
    """The network with all scores at one value, and scale 6."""
    return handmade.weights(scale=6, previous=score, operands=score, match=score, number=score)


MISTAKES = [
    ("share_of_previous", itself_counted_twice, "itself included"),
    ("share_of_previous", every_key_seen, "reads the token before it with"),
    ("share_of_previous", lambda s, t: 1 / (1 + math.exp(-s)), "reads the token before it with"),
    ("lead", lambda frequencies, x, y, N: lead_by(lambda size: size, frequencies, x, y, N), "is never negative"),
    ("lead", lambda frequencies, x, y, N: lead_by(lambda size: 1, frequencies, x, y, N), "the lead is"),
    ("lead", lambda frequencies, x, y, N: 20 * lead_by(abs, frequencies, x, y, N), "the lead is"),
    ("lead", lambda frequencies, x, y, N: handmade.margin(frequencies, N), "the lead is"),
    ("lead", lambda frequencies, x, y, N: lead_by(abs, frequencies, x, y, 59), "modulo 57"),
    ("uneven_answer", lambda x, y, a, k: (x + y) % 59, "uneven reading misses"),
    ("uneven_answer", lambda x, y, a, k: round(2 * (a * x + (1 - a) * y)) % 59, "the network answers"),
    ("uneven_answer", angle_not_doubled, "the network answers"),
    ("mass_without_mark", lambda problem: 1, "two things"),
    ("mass_without_mark", lambda problem: (1, problem.answer), "of the weight, not 1.000"),
    ("mass_without_mark", asked_for(answer=lambda problem: 0), "carries no waves"),
    ("mass_without_mark", asked_for(first=False), "of the weight"),
    ("mass_without_mark", asked_for(itself=False), "of the weight"),
    ("mass_without_mark", asked_for(numbers=False), "of the weight"),
    ("cheaper_network", lambda: {"scale": 6}, "the answer is a `Weights`"),
    ("cheaper_network", lambda: handmade.weights(scale=5), "the loss of your network is 0.01"),
    ("cheaper_network", lambda: handmade.weights(previous=5), "less than 0.999"),
    ("cheaper_network", lambda: handmade.weights(), "costs 1896"),
    ("cheaper_network", lambda: scored(8), "10 below"),
]

RIGHT = [
    ("share_of_previous", lambda s, t: 1 / (1 + t * math.exp(-s))),
    ("lead", lambda frequencies, x, y, N: lead_by(abs, frequencies, x, y, N)),
    ("mass_without_mark", asked_for()),
    ("cheaper_network", lambda: scored(7)),
    ("cheaper_network", lambda: handmade.weights(scale=6, previous=8, operands=6, match=6, number=4.5)),
]
