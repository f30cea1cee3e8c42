"""What the paper and chapter 14 say of the arms, as rows of the scoreboard: one subject a seed.

Levels of what the paper says were set before any shipped run was made.  A pilot of the discrete arm alone, at this size,
had solved every graph of 12 and of 24 nodes after 16 000 steps, and 0.68 of those of 48; nothing was known of the other
arms.  The paper's numbers are for 32 nodes in training and a modulus of 23; ours for 12 and 11.

What chapter 14 found inside the arms of seed 0 are claims too: their levels were set on it, before the others were measured.

Six rows of the paper's were withdrawn once all was measured, since they would have been decided by nothing: five compare how
far arms carry that did not learn the size of training, and one asks for shares of variances that are next to nothing.  The
chapter names them.  The row about waves had another number, which a table of all sums would have met as well.
"""

import pandas as pd

from ...engine.scoreboard import Claim
from .findings import best_frequency, collecting, counting, followed, gains, kept, moved_at, of_its_own, small, untouched
from .tables import load_table
from .training import TOKENS_PASS

SOURCE = "reasoning"
GROUP, PAPER, OURS = "Reasoning in a loop", "2510.14095", "chapter 14"
FULL = "14_reasoning: The full runs"
SEEN = ("seed-0",)  # where chapter 14 found what is claimed of the others
ALL = ("seed-0", "seed-1", "seed-2")  # known when the level was set: a count


def sources() -> dict[str, dict[str, pd.Series]]:
    """The shipped measures (measure, row, column) of each seed."""
    tables = load_table().sort_index()
    return {SOURCE: {name: tables[name] for name in tables}}


def _solved(arm: str, times: int):
    return lambda seed: seed["accuracy", arm, f"graphs, {times} times"]


def _gain(one: str, other: str, times: int):
    return lambda seed: _solved(one, times)(seed) - _solved(other, times)(seed)


def _amplified(seed) -> float:
    """How much more of the values than of the names the head of layer 2 moves that moves most of the values."""
    heads = gains(seed, "corrected").loc[2]
    best = heads.loc[heads["value"].idxmax()]
    return best["value"] / best["variable"]


def _of_both(measure, worst=min):
    """What a measure (seed, arm) gives for the two arms that pass tokens on: the worse of the two."""
    return lambda seed: worst(measure(seed, arm) for arm in TOKENS_PASS)


def _in_waves(seed, arm: str) -> float:
    """How many more sums are right with three frequencies alone than with three along numbers in random orders."""
    right = seed["waves", f"{arm}, neurons with 3 frequencies"]
    return right["right"] - right["right, relabelled"]


def _differing(seed) -> float:
    moved = moved_at(seed, "corrected")
    return min(moved["definition"], moved["mentions"], 1 - moved["operand"])


# fmt: off
CLAIMS: tuple[Claim, ...] = (
    Claim("correction, four times as large", GROUP, PAPER,
          "With all four mechanisms, graphs of four times the training size are solved.",
          "share of graphs of 48 nodes solved, corrected arm",
          _solved("corrected", 4), 0.9, of=SOURCE, theirs="1.00", where=FULL),
    Claim("correction helps", GROUP, PAPER,
          "Training on wrong values makes the discrete arm more robust on large graphs.",
          "corrected less discrete, share of graphs of 48 nodes solved",
          _gain("corrected", "discrete", 4), 0.02, of=SOURCE, theirs="0.05", where=FULL),
    Claim("discrete latents, twice as large", GROUP, PAPER,
          "Latents anchored in tokens carry the algorithm beyond the training size.",
          "share of graphs of 24 nodes solved, discrete arm",
          _solved("discrete", 2), 0.9, of=SOURCE, theirs="0.976", where=FULL),
    Claim("chain of thought fits", GROUP, PAPER,
          "Chain of thought solves graphs of the training size.",
          "share of graphs of 12 nodes solved, chain arm",
          _solved("chain", 1), 0.9, of=SOURCE, theirs="0.969", where=FULL),
    Claim("it stays solved", GROUP, OURS,
          "A solved graph stays solved when the discrete loop goes on.",
          "share of nodes right 16 iterations after the depth, less that at the depth, corrected arm",
          lambda seed: seed["iteration", "corrected", "+16 iterations"] - seed["iteration", "corrected", "+0 iterations"],
          -0.01, of=SOURCE, where="14_reasoning: Round by round"),
    Claim("wrong values are mended", GROUP, OURS,
          "The corrected arm recovers, over the rounds that follow, from wrong values at one of them.",
          "share of nodes right 8 iterations after 20% of the values were made wrong",
          lambda seed: seed["recovery", "corrected, 20% wrong", "8 later"], 0.98, of=SOURCE,
          where="14_reasoning: Wrong values"),
    Claim("values move in layer 2", GROUP, PAPER,
          "Layer 2 retrieves values: its OV map amplifies that factor.",
          "root mean square gain of the values' embeddings over that of the names', in the head that moves most of the values",
          _amplified, 2.0, of=SOURCE, where="14_reasoning: What heads pass on"),
    Claim("the MLP adds in waves", GROUP, PAPER,
          "The last MLP adds in the frequency domain.",
          "sums of two right with three frequencies, less the same along relabelled numbers, the lower of both arms",
          _of_both(_in_waves), 0.2, of=SOURCE, where="14_reasoning: Adding, in waves?", seen=ALL),
    Claim("layer 1 looks up at the operands", GROUP, OURS,
          "Layer 1 brings an operand's number to the operand's own token.",
          "least share of sums that follow an operand as layer 1 is exchanged there, over both arms",
          _of_both(followed), 0.9, of=SOURCE, where="14_reasoning: Inside", seen=SEEN),
    Claim("and not at the sum", GROUP, OURS,
          "At the sum it moves no number.",
          "share of sums that stay as layer 1 is exchanged at the sum, the lower of both arms",
          _of_both(untouched), 0.95, of=SOURCE, where="14_reasoning: Inside", seen=SEEN),
    Claim("two heads of layer 2 collect", GROUP, OURS,
          "Two heads of layer 2 carry all operands.",
          "heads of the smallest group of layer 2 that moves all operands in 0.9 of the graphs, the higher of both arms",
          _of_both(lambda seed, arm: len(collecting(seed, arm).split(" and ")), max), 2, at_most=True, of=SOURCE,
          where="14_reasoning: A head for each operand?", seen=SEEN),
    Claim("no head for each operand", GROUP, OURS,
          "No head of layer 2 has one operand of its own.",
          "largest share of sums in which one head exchanged moves one operand alone, the higher of both arms",
          _of_both(of_its_own, max), 0.5, at_most=True, of=SOURCE,
          where="14_reasoning: A head for each operand?", seen=SEEN),
    Claim("the discrete arm takes the operand's own", GROUP, OURS,
          "In the discrete arm the sum takes an older operand's number from the operand's own token.",
          "share of sums that move as it is changed there alone",
          lambda seed: moved_at(seed, "discrete")["operand"], 0.8, of=SOURCE,
          where="14_reasoning: Which token is read?", seen=SEEN),
    Claim("the corrected arm takes the one that differs", GROUP, OURS,
          "In the corrected arm it takes the number that differs from the operand's own.",
          "least of the shares that move as definition, or mentions, alone are changed, and that stay as the operand's own is",
          _differing, 0.9, of=SOURCE, where="14_reasoning: Which token is read?", seen=SEEN),
    Claim("large shares of nothing", GROUP, OURS,
          "At the sum the heads of layer 1 vary with the operands next to not at all.",
          "largest variance in layer 1, of the largest in layer 2, the higher of both arms",
          _of_both(small, max), 0.01, at_most=True, of=SOURCE,
          where="14_reasoning: A share of variance, its null, and its size", seen=SEEN),
    Claim("a head counts", GROUP, OURS,
          "A head of layer 2 that carries no number tells how many operands there are.",
          "least share of sums right as such a head is shifted to another count, the higher of both arms",
          _of_both(counting, max), 0.5, at_most=True, of=SOURCE, where="14_reasoning: Heads that count", seen=SEEN),
    Claim("neurons follow waves", GROUP, OURS,
          "Single neurons of the last MLP follow single waves.",
          "share of variance at the best frequency, the median neuron, less the same relabelled, the lower of both arms",
          _of_both(best_frequency), 0.15, of=SOURCE, where="14_reasoning: Adding, in waves?", seen=SEEN),
    Claim("three frequencies suffice", GROUP, OURS,
          "Three of the five frequencies carry nearly all sums of two.",
          "share of sums of two right with three frequencies, the lower of both arms",
          _of_both(lambda seed, arm: seed["waves", f"{arm}, neurons with 3 frequencies", "right"]), 0.9, of=SOURCE,
          where="14_reasoning: Adding, in waves?", seen=SEEN),
    Claim("the discrete arm keeps what it holds", GROUP, OURS,
          "A wrong value stays in the discrete arm.",
          "largest change, in eight rounds, of the share of nodes right after some were made wrong",
          kept, 0.01, at_most=True, of=SOURCE, where="14_reasoning: Wrong values", seen=SEEN),
)
# fmt: on
