"""Answers to the exercises of chapter 10: mistakes, with words of what their check must say."""

from assign_add_lib import handmade

MISTAKES = [
    ("share_of_previous", ("math.exp(s) + t)", "math.exp(s) + 1)"), "reads the token before it with"),
    ("uneven_answer", ("2 * cmath.phase(z)", "cmath.phase(z)"), "the network answers"),
    (
        "uneven_answer",
        lambda x, y, a, k: 2 * (x if a > 0.5 else y) % 59,
        "the network answers",
    ),  # the double of what is read more
    ("uneven_answer", ("a * cmath", "cmath", "(1 - a) * ", ""), "uneven reading misses"),
    ("cheaper_network", lambda: handmade.weights(scale=6, previous=8, operands=8, match=8, number=8, phases=21), "10 below"),
    ("share_of_previous", ("+ t)", "+ t + 1)"), "itself included"),
    ("share_of_previous", ("+ t)", "+ 15)"), "reads the token before it with"),
    ("lead", ("abs(size)", "size"), "is never negative"),
    ("lead", ("abs(size)", "1"), "the lead is"),
    ("lead", ("/ N", "/ 59", "range(1, N)", "range(1, 59)"), "modulo 57"),
    ("uneven_answer", lambda x, y, a, k: (x + y) % 59, "uneven reading misses"),
    ("uneven_answer", lambda x, y, a, k: round(2 * (a * x + (1 - a) * y)) % 59, "the network answers"),
    ("mass_without_mark", lambda problem: 1, "two things"),
    ("mass_without_mark", lambda problem: (1, problem.answer), "of the weight, not 1.000"),
    ("mass_without_mark", ("problem.answer", "0"), "carries no waves"),
    ("mass_without_mark", ("+= 1  # the variable at position 0", "+= 0  #"), "of the weight"),
    ("cheaper_network", lambda: {"scale": 6}, "the answer is a `Weights`"),
    ("cheaper_network", lambda: handmade.weights(scale=5), "the loss of your network is 0.01"),
    ("cheaper_network", lambda: handmade.weights(previous=5), "less than 0.999"),
    ("cheaper_network", lambda: handmade.weights(), "costs 1896"),
    ("cheaper_network", ("7.8, operands=6, match=6, number=4.5", "8, operands=8, match=8, number=8"), "10 below"),
]
