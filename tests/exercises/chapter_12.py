"""Answers to the exercises of chapter 12: mistakes, with words of what their check must say, and other right ones."""

import math

import numpy as np

from assign_add_lib.analysis.phases import arrival
from assign_add_lib.claims import study
from assign_add_lib.claims.subjects import cosines
from assign_add_lib.engine.scoreboard import Claim

NAMES = {"np": np, "math": math, "SEEDS": study.SEEDS, "arrival": arrival, "Claim": Claim, "cosines": cosines, "study": study}
FIRST = "arrival(run.metrics[name], 0.95)", "next(iter(run.metrics.index[run.metrics[name] >= 0.95]), None)"
SEEN = '("seed-42",)'

MISTAKES = [
    ("soon", ("level=800", "level=1e9"), "tests nothing"),
    ("soon", ("level=800", "level=-5"), "tests nothing"),
    ("soon", ("level=800", "level=3200"), "tests nothing"),
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
    ("least_share", lambda held, runs: held / runs, "the least share is"),
    ("least_share", ("range(held,", "range(held + 1,"), "the least share is"),
    ("least_share", ("return low", "return low if held else 0.05"), "none or more is certain"),
    ("shared", ("level=0.925", "level=0.8"), "untrained has 0.849, so by your level of 0.8 the claim holds where it should fail"),
    ("shared", ("level=0.925", "level=0.99"), "fails where it should hold"),
    ("shared", ("level=0.925", "level=..."), "is no number yet"),
    ("shared", (SEEN, "()"), "it counts as evidence"),
    ("shared", ("(looked_up - other)", "(typed - other)", "1 - (", "(", "0.925", "0.01"), "holds where it should fail"),
    ("shared", lambda: 0.9, "one `Claim`"),
    (
        "shared",
        ("return 1 - (near.pow(2).mean() / far.pow(2).mean()).item()", 'return run.last["1-var train"]'),
        "of other pairs has 0.998",
    ),
]
RIGHT = [
    ("soon", ("level=800", "level=2000", "claim, 9", "claim, 7")),
    ("shared", ("level=0.925", "level=0.86")),
    ("soon", ("level=800", "level=np.int64(800)", "claim, 9", "[claim, np.int64(9)]")),
]
