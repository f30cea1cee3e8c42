"""Answers to the exercises of chapter 7: mistakes, with words of what their check must say."""

import math

MISTAKES = [
    ("singles_out", lambda N, ks: True, "at their highest value"),
    ("singles_out", lambda N, ks: all(math.gcd(k, N) == 1 for k in ks), "do single out"),
    ("singles_out", lambda N, ks: any(math.gcd(k, N) == 1 for k in ks), "though none of them does so alone"),
    ("singles_out", lambda N, ks: math.gcd(*ks) == 1, "single out"),
    ("singles_out", lambda N, ks: math.gcd(N, *ks), "True or False"),
    ("weighted", ("a * angle", "angle", "b * angle", "angle"), "computes x + y"),
    ("weighted", ("b * angle", "-b * angle"), "computes ax - by"),
    (
        "weighted",
        ("left, right = (a * angle + alpha).cos(), (b", "left, right = (b * angle + alpha).cos(), (a"),
        "computes bx + ay",
    ),
    ("weighted", ("alpha + beta).cos()", "alpha).cos()"), "of the pairs get ax + by"),
    ("weighted", (".cos().T", ".cos()"), "out has shape"),
    ("weighted", lambda N, ks, a, b, alpha, beta: alpha, "three things"),
    ("moved_on", ("+ hours", "- hours"), "moves it back"),
    ("moved_on", ("(turn * x + phase)", "(turn * (x - hours) + hours * turn[1] * (turn > 0) + phase)"), "by the same angle"),
    ("moved_on", (".sum(1)", "[:, 1:].sum(1)"), "leaves out the constant"),
    ("moved_on", lambda table, hours: table, "not where they should be"),
    ("moved_on", lambda table, hours: (1 - hours) * table + hours * table.roll(-1, 0), "straight lines"),
    ("moved_on", lambda table, hours: table[:2], "shape"),
    ("doubles", ("min(2 * k % 59, -2 * k % 59)", "2 * k"), "misses doubles above 29"),
    ("doubles", ("min(2 * k % 59, -2 * k % 59)", "2 * k % 29"), "modulo 29"),
    ("doubles", ("folded & set(ks)", "folded | set(ks)"), "counted one by one"),
    ("doubles", ("folded & set(ks)", "folded"), "how many pairs there could be"),
    ("doubles", lambda ks: sum(k % 2 == 0 and k // 2 in ks for k in ks), "misses doubles above 29"),
]
