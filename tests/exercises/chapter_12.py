"""Answers to the exercises of chapter 12: mistakes, with words of what their check must say, and other right ones."""

import copy
import math

import numpy as np

from assign_add_lib.claims.study import SEEDS

NAMES = {"np": np, "copy": copy, "SEEDS": SEEDS}
FIRST = "arrival(run.metrics[name], 0.95)", "next(iter(run.metrics.index[run.metrics[name] >= 0.95]), None)"
SEEN = '("seed-42",)'

MISTAKES = [
    ("soon", ("level=800", "level=1e9"), "tests nothing"),
    ("soon", ("level=800", "level=-5"), "tests nothing"),
    ("soon", ("claim, 9", "claim, 8.5"), "a whole number"),
    ("soon", ("then - fits", "fits - then"), "not the other way round"),
    ("soon", FIRST, "which `arrival` knows"),
    ("soon", ("math.inf if then", "0 if then"), "it should be inf"),
    ("soon", ("level=800", "level=..."), "is no number yet"),
    ("soon", ("level=800", "level=math.inf"), "tests nothing"),
    ("soon", ("at_most=True", "at_most=False"), "set `at_most`"),
    ("soon", (SEEN, "()"), "it counts as evidence"),
    ("soon", (SEEN, '("seed-42", "42")'), "names runs"),
    ("soon", (SEEN, "SEEDS"), "none is left"),
    ("soon", ("claim, 9", "claim, ..."), "you expect it to hold"),
    ("soon", ("claim, 9", "claim, 10"), "9 runs are evidence"),
    ("soon", ("claim, 9", "claim"), "two things"),
    ("lower_rank", ("0.025", "0.05"), "2.5% at each end"),
    ("lower_rank", ("return next", "return -1 + next"), "count from 1"),
    ("lower_rank", ("(n + 1) // 2", "(n + 1) // 2 + 1", "025", "025 or k == n"), "draws among the k smallest are enough"),
    ("lower_rank", lambda n: 2, "which is too"),
    ("lower_rank", lambda n: math.ceil(0.025 * n), "a quantile of the values"),
    ("least_share", lambda held, runs: held / runs, "the least share is"),
    ("least_share", ("range(held,", "range(held + 1,"), "the least share is"),
    ("least_share", ("return low", "return low if held else 0.05"), "none or more is certain"),
    ("as_of", ("Subject(run.run, run.size)", "run"), "has changed"),
    ("as_of", ("Subject(run.run, run.size)", "copy.copy(run)"), "came along"),
    ("as_of", ("earlier.last = run.metrics.loc[step]", "pass"), "is not the row of step"),
    ("as_of", ("run.metrics.loc[step]", "run.metrics.iloc[-1]"), "is not the row of step"),
    ("as_of", ("weights(step)", "weights(50)"), "they should be those at step"),
    ("as_of", ("run.size", "500"), "as large as the run's"),
]
RIGHT = [
    ("soon", ("level=800", "level=2000", "claim, 9", "claim, 7")),
    ("soon", ("level=800", "level=np.int64(800)", "claim, 9", "[claim, np.int64(9)]")),
]
