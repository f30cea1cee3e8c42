"""What the paper says of networks that learn rules from examples, as rows of the scoreboard: one subject a seed.

All levels were set before any shipped run was made.  Known by then were pilots of one seed, of 7 numbers and 40 tasks: with the
plan over lines, four layers had answered 0.62 to 0.66 of the questions of unseen tasks after 15 examples, where ratio matching
answers about 0.88; the paper's own recipe, small, had stayed at 0.15 to 0.3; two layers had learned rows of one line as fast
and of two lines three times more slowly.  Nothing was known of what goes on inside.  The paper's numbers are for 29 numbers.
"""

import pandas as pd

from ...engine.scoreboard import Claim
from .seeds import EXAMPLES
from .tables import load_table
from .training import SHOTS, RuleConfig

SOURCE = "rules"
GROUP, PAPER = "Rules from examples", "2406.02550"
GUESS = 1 / RuleConfig.p  # of all main arms
LAST = f"{SHOTS - 1} examples"
FULL, UNMATCHED, WRONG, INSIDE, WAVES = (
    f"16_rules: {heading}"
    for heading in (
        "The full runs",
        "Where there is no match",
        "One example is wrong",
        "Inside: three steps to an answer",
        "Waves of logarithms",
    )
)


def sources() -> dict[str, dict[str, pd.Series]]:
    """The shipped measures (measure, row, column) of each seed."""
    tables = load_table()
    return {SOURCE: {name: tables[name].dropna() for name in tables}}


def _right(arm: str, of: str, examples: str = LAST):
    return lambda seed: seed["shots", f"{arm}, {of}", examples]


def _share_of_ratio_matching(arm: str):
    """How far it gets from a guess to what ratio matching answers of the same rows."""

    def measure(seed) -> float:
        right, matched = (_right(each, "unseen tasks")(seed) for each in (arm, "ratio matching"))
        return (right - GUESS) / (matched - GUESS)

    return measure


def _less(one, other):
    return lambda seed: one(seed) - other(seed)


def _combining(arm: str, rows: str):
    return lambda seed: seed["combining", f"{arm}, unseen tasks", rows]


def _most_read(arm: str):
    """Over the heads, the largest ratio of what the question gives the answer of a multiple and of another direction."""

    def measure(seed) -> float:
        heads = seed["reading"].unstack("column")
        heads = heads[heads.index.str.startswith(f"{arm}, ")]
        return (heads["a multiple, z"] / heads["another direction, z"]).max()

    return measure


def _above_null(seed) -> float:
    """The largest wave of a head of four layers over its own null, in the head where this is largest."""
    waves = seed["numbers"].unstack("column")
    heads = waves[waves.index.str.startswith("four layers, layer")]
    return (heads["largest wave"] - heads["null"]).max()


def _moved_by(answer: str, place: str):
    """The largest share of rows that give this answer, over the depths above the embedding at which the stream is exchanged."""

    def measure(seed) -> float:
        rows = seed["exchanges"].unstack("column").drop(index=f"four layers, {place}, depth 0")
        return rows[rows.index.str.startswith(f"four layers, {place}, depth")][answer].max()

    return measure


# fmt: off
CLAIMS: tuple[Claim, ...] = (
    Claim("unseen tasks by rule", GROUP, PAPER,
          "With enough tasks in training, unseen tasks are solved from examples.",
          f"four layers, unseen tasks, {LAST}: way from a guess to what ratio matching answers of the same rows",
          _share_of_ratio_matching("four layers"), 0.6, of=SOURCE, where=FULL),
    Claim("the plain recipe memorises here", GROUP, "chapter 16",
          "Without the plan over lines, a network of our size answers seen tasks and not unseen ones.",
          f"plain, unseen tasks, {LAST}",
          _right("plain", "unseen tasks"), 0.3, at_most=True, of=SOURCE, where=FULL),
    Claim("two layers suffice", GROUP, PAPER,
          "Two layers are the least that solve unseen tasks: two do.",
          f"two layers, unseen tasks, {LAST}: way from a guess to ratio matching",
          _share_of_ratio_matching("two layers"), 0.4, of=SOURCE, where=FULL),
    Claim("one layer does not", GROUP, PAPER,
          "Two layers are the least that solve unseen tasks: one does not.",
          f"one layer, unseen tasks, {LAST}: way from a guess to ratio matching",
          _share_of_ratio_matching("one layer"), 0.2, at_most=True, of=SOURCE, where=FULL),
    Claim("four layers above two", GROUP, PAPER,
          "Deeper networks solve unseen tasks better.",
          f"four layers less two layers, unseen tasks, {LAST}",
          _less(_right("four layers", "unseen tasks"), _right("two layers", "unseen tasks")), 0.03, of=SOURCE, where=FULL),
    Claim("two layers match ratios", GROUP, PAPER,
          "Two layers do not combine examples: where no example is a multiple of the question, they guess.",
          f"two layers, right of unseen tasks after {EXAMPLES} examples of which none is a multiple",
          _combining("two layers", "no match"), 0.25, at_most=True, of=SOURCE, where=UNMATCHED),
    Claim("four layers combine examples", GROUP, PAPER,
          "Four layers combine examples: they answer also where no example is a multiple of the question.",
          f"four layers, right of unseen tasks after {EXAMPLES} examples of which none is a multiple",
          _combining("four layers", "no match"), 0.3, of=SOURCE, where=UNMATCHED),
    Claim("generalisation fades", GROUP, PAPER,
          "Deeper networks pass through a phase in which unseen tasks are solved best, and lose some of it.",
          "four layers, unseen tasks: best step less last",
          lambda seed: seed["course", "four layers, unseen tasks", "best"] - seed["course", "four layers, unseen tasks", "last"],
          0.05, of=SOURCE, where=FULL),
    Claim("a wrong match is followed", GROUP, "chapter 16",
          "The answer of the example that is a multiple of the question decides, times the factor.",
          "four layers, share of right answers that move as ratio matching says once the match is wrong",
          lambda seed: seed["wrong examples", "four layers, unseen tasks, the match wrong", "moved"],
          0.7, of=SOURCE, where=WRONG),
    Claim("another wrong example is not", GROUP, "chapter 16",
          "Other examples do not decide.",
          "four layers, share of right answers that stay once another example is wrong",
          lambda seed: seed["wrong examples", "four layers, unseen tasks, another wrong", "kept"],
          0.8, of=SOURCE, where=WRONG),
    Claim("the match is read", GROUP, "chapter 16",
          "A head lets the question read the example that is a multiple of it.",
          "four layers, largest ratio over the heads: weight on the answer of a multiple, and of another direction",
          _most_read("four layers"), 3.0, of=SOURCE, where=INSIDE),
    Claim("heads in waves of logarithms", GROUP, PAPER,
          "What a head writes turns with the logarithms of x and y: circles of circles.",
          "four layers, largest over the heads: share of the largest wave less what 95% of relabelled numbers stay below",
          _above_null, 0.05, of=SOURCE, where=WAVES),
    Claim("the factor moves with the question", GROUP, "chapter 16",
          "Exchanged at some depth, the question's stream brings the other row's factor to this row's example.",
          "four layers, share of exchanges at the question's y whose answer is c' z, at the best depth above the embedding",
          _moved_by("c' z", "its y"), 0.3, of=SOURCE, where=INSIDE),
    Claim("the answer moves with the match", GROUP, "chapter 16",
          "Exchanged above the embedding, the stream at the match's z brings its answer, and the factor stays.",
          "four layers, share of exchanges at the match's z whose answer is c z', at the best depth above the embedding",
          _moved_by("c z'", "the match's z"), 0.5, of=SOURCE, where=INSIDE),
)
# fmt: on
