"""What the paper says of networks that learn rules from examples, as rows of the scoreboard: one subject a seed.

All levels were set before any shipped run was made.  Known by then were pilots of one seed, of 7 numbers and 40 tasks: with the
plan over lines, four layers had answered 0.62 to 0.66 of the questions of unseen tasks after 15 examples, where ratio matching
answers about 0.88; the paper's own recipe, small, had stayed at 0.15 to 0.3; two layers had learned rows of one line as fast
and of two lines three times more slowly.  Nothing was known of what goes on inside.  The paper's numbers are for 29 numbers.

The lessons over lines are ours; the paper trains on rows of any inputs.  So what it says of its deeper networks is asked of plain
rows, and beside it, as a claim of the chapter, of four layers with lessons.  This was settled when all values were known, and
the levels stayed.  There are no plain rows of one and of two layers; what is said of these has "with lessons" in it.
"""

import pandas as pd

from ...engine.scoreboard import Claim, claims_of_chapter
from .seeds import EXAMPLES, SEEDS
from .tables import MEASURES, load_table
from .training import SHOTS, RuleConfig

SOURCE = "rules"
GROUP, PAPER = "Rules from examples", "2406.02550"
GUESS = 1 / RuleConfig.p  # of all main arms
FULL, WRONG = "Count: are they equally right?", "Break it: one wrong example at a time"  # headings of the chapter
INSIDE = "Where it happens inside"


def sources() -> dict[str, dict[str, dict[str, pd.DataFrame]]]:
    """The shipped tables of 7 numbers, by seed and by the name of their measure."""
    tables = {name: load_table(name) for name in MEASURES if name != "numbers_known"}
    seeds = [f"seed-{seed}" for seed in SEEDS]
    return {SOURCE: {seed: {name: each.xs(seed, axis=1, level=1) for name, each in tables.items()} for seed in seeds}}


def _right(arm: str):
    return lambda tables: tables["shots"]["right"][arm, "unseen tasks", SHOTS - 1]


def _share_of_ratio_matching(arm: str):
    """How far it gets from a guess to what ratio matching answers of the same rows."""
    return lambda tables: (_right(arm)(tables) - GUESS) / (_right("ratio matching")(tables) - GUESS)


def _above_two_layers(tables) -> float:
    return _right("four layers")(tables) - _right("two layers")(tables)


def _without_match(arm: str):
    return lambda tables: tables["combining"]["right"][arm, "unseen tasks", "no match"]


def _faded(arm: str):
    return lambda tables: tables["course"]["best"][arm, "unseen tasks"] - tables["course"]["last"][arm, "unseen tasks"]


def _wrong(example: str, then: str):
    return lambda tables: tables["wrong_example"][then]["four layers", "unseen tasks", example]


def _most_read(tables) -> float:
    """Over the heads, the largest ratio of what the question gives the answer of a multiple and of another direction."""
    heads = tables["reading"].loc["four layers", "any"].xs("z", level="token")
    return (heads["a multiple"] / heads["another direction"]).max()


def _above_null(arm: str):
    """The largest wave of a head over its own null, in the head where this is largest."""
    return lambda tables: tables["head_waves"].loc[arm].eval("`largest wave` - null").max()


def _moved_by(answer: str, exchanged: str):
    """The largest share of rows that give this answer, over the depths above the embedding at which the stream is exchanged."""
    return lambda tables: tables["exchanges"].loc["four layers", "other", exchanged].loc[1:, answer].max()


_theirs, _ours = (claims_of_chapter("16_rules", GROUP, origin, SOURCE) for origin in (PAPER, "chapter 16"))
# fmt: off
_ROWS = {  # the claims of the paper that are asked of plain rows, and of four layers with lessons: what is measured of which arm
    "unseen tasks by rule": ("With enough tasks in training, unseen tasks are solved from examples",
        f"unseen tasks, {SHOTS - 1} examples: way from a guess to what ratio matching answers of the same rows",
        _share_of_ratio_matching, 0.6, FULL),
    "four layers combine examples": ("Four layers combine examples: they answer also where none is a multiple of the question",
        f"right of unseen tasks after {EXAMPLES} examples of which none is a multiple", _without_match, 0.3, WRONG),
    "generalisation fades": ("Deeper networks pass through a phase in which unseen tasks are solved best, and lose some of it",
        "unseen tasks: best step less last", _faded, 0.05, FULL),
    "heads in waves of logarithms": ("What a head writes turns with the logarithms of x and y: circles of circles",
        "largest over the heads: share of the largest wave less what 95% of relabelled numbers stay below",
        _above_null, 0.05, INSIDE),
}

CLAIMS: tuple[Claim, ...] = (
    *(make(f"{name}{words}", f"{statement}{words}.", f"{of}, {measured}", measure(arm), level, heading)
      for name, (statement, measured, measure, level, heading) in _ROWS.items()
      for make, words, of, arm in ((_theirs, "", "plain rows, four layers", "plain"),
                                   (_ours, ", with lessons", "with lessons, four layers", "four layers"))),
    _ours("plain rows memorise here",
        "Without lessons, and with a weight decay of 0.1, a network of our size answers seen tasks and not unseen ones.",
        f"plain, unseen tasks, {SHOTS - 1} examples", _right("plain"), 0.3, FULL, at_most=True),
    _theirs("two layers suffice", "Two layers are the least that solve unseen tasks: two do, with lessons.",
        f"with lessons, two layers, unseen tasks, {SHOTS - 1} examples: way from a guess to ratio matching",
        _share_of_ratio_matching("two layers"), 0.4, FULL),
    _theirs("one layer does not", "Two layers are the least that solve unseen tasks: one does not, with lessons.",
        f"with lessons, one layer, unseen tasks, {SHOTS - 1} examples: way from a guess to ratio matching",
        _share_of_ratio_matching("one layer"), 0.2, FULL, at_most=True),
    _theirs("four layers above two", "Deeper networks solve unseen tasks better, with lessons.",
        f"with lessons, four layers less two layers, unseen tasks, {SHOTS - 1} examples", _above_two_layers, 0.03, FULL),
    _theirs("two layers match ratios",
        "Two layers, with lessons, do not combine examples: where no example is a multiple of the question, they guess.",
        f"with lessons, two layers, right of unseen tasks after {EXAMPLES} examples of which none is a multiple",
        _without_match("two layers"), 0.25, WRONG, at_most=True),
    _ours("a wrong match is followed", "The answer of the example that is a multiple of the question decides, times the factor.",
        "with lessons, four layers, share of right answers that move as ratio matching says once the match is wrong",
        _wrong("the match", "moved"), 0.7, WRONG),
    _ours("another wrong example is not", "Other examples do not decide.",
        "with lessons, four layers, share of right answers that stay once another example is wrong",
        _wrong("another", "kept"), 0.8, WRONG),
    _ours("the match is read", "A head lets the question read the example that is a multiple of it.",
        "with lessons, four layers, largest ratio over the heads: weight on the answer of a multiple, and of another direction",
        _most_read, 3.0, INSIDE),
    _ours("the factor moves with the question",
        "Exchanged at some depth, the question's stream brings the other row's factor to this row's example.",
        "with lessons, share of exchanges at the question's y whose answer is c' z, at the best depth above the embedding",
        _moved_by("c' z", "its y"), 0.3, INSIDE),
    _ours("the answer moves with the match",
        "Exchanged above the embedding, the stream at the match's z brings its answer, and the factor stays.",
        "with lessons, share of exchanges at the match's z whose answer is c z', at the best depth above the embedding",
        _moved_by("c z'", "the match's z"), 0.5, INSIDE),
)
# fmt: on
