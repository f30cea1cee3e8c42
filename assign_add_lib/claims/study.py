"""Claims of the study: what it says of every run, as rows of a scoreboard.

To add a row, write a measure in `evidence`, or where the subjects are others than runs and sweeps, also a source; put a
`Claim` into `CLAIMS`; and make the board anew: `python -m assign_add_lib board`.
The levels were set with seed 42 known in every detail, and before the other seeds were measured; "rows alike" was added
after two of them had been.
"""

import pandas as pd

from ..analysis.fourier import key_frequencies, number_table
from ..analysis.phases import shortcut_level, way_up
from ..engine.manifest import shipped_file
from ..engine.scoreboard import Claim
from ..sampling import EVALUATION_SETS
from ..task import STUDY
from ..training import load_run
from .evidence import (
    Evidence,
    Sweep,
    at_the_end,
    below_shortcut,
    cosine_gap,
    enough,
    equal_prefers_operands,
    gain,
    grows_to_the_right,
    identity_rank,
    matched,
    one_by_one,
    order,
    other_misses,
    prefers_variables,
    probe,
    restricted_last,
    rows_alike,
    score_rises,
    spread_of_arrivals,
)

SEEDS = (*(f"seed-{seed}" for seed in range(9)), "seed-42")
HALFWAY = way_up(0.5, shortcut_level(STUDY))  # between a random assigned number and all right
SWEEPS = {"train_fraction": "exact 0-var held-out", "r": "exact 2-var held-out"}  # setting -> accuracy


def study_runs() -> dict[str, Evidence]:
    """The ten shipped runs of the study, by name."""
    return {name: Evidence(load_run(name)) for name in SEEDS}


def swept(setting: str, least: int = 8) -> dict[str, Sweep]:
    """The shipped sweep of a setting, by seed; seeds with fewer than `least` values are left out."""
    table = pd.read_csv(shipped_file(f"sweeps/{setting}.csv"))
    parts = {f"seed-{seed}": part.set_index(setting)[SWEEPS[setting]] for seed, part in table.groupby("seed")}
    return {name: Sweep(part) for name, part in parts.items() if part.index.nunique() >= least}


def claims_of(*names: str) -> list[Claim]:
    """The claims about some sources."""
    return [claim for claim in CLAIMS if claim.of in names]


def sources() -> dict[str, dict[str, object]]:
    """All that `CLAIMS` speak of, by source."""
    return {"runs": study_runs()} | {setting: swept(setting) for setting in SWEEPS}


FINAL, ORDER, ATTENTION, ADDITION, SWEPT = "Final accuracy", "Order of learning", "Finding the numbers", "Adding them", "Sweeps"
SPIKE_SETS = ("1-var train", "1-var add-restricted", "2-var train", "2-var add-restricted")

# fmt: off
CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(name, FINAL, "F2",
          f"The network ends up solving {name}.",
          "accuracy at the last step, 2000 problems",
          at_the_end(name), 0.99 if name.endswith(" train") else 0.95)
        for name in EVALUATION_SETS
    ),
    Claim("0-var before 1-var", ORDER, "F2",
          "Plain sums are solved before sums with a variable.",
          "steps from 0-var train to 1-var train, each halfway",
          order("0-var train", "1-var train", (0.5, HALFWAY)), 100),
    Claim("1-var before var-restricted", ORDER, "F2",
          "Variables are looked up where training puts them before they are where it never does.",
          "steps from 1-var train to 1-var var-restricted, halfway",
          order("1-var train", "1-var var-restricted", (HALFWAY, HALFWAY)), 100),
    Claim("two spikes", ORDER, "F2",
          "The var-restricted sets have a spike of their own, well after the first.",
          "the same steps",
          order("1-var train", "1-var var-restricted", (HALFWAY, HALFWAY)), 1000),
    Claim("one first spike", ORDER, "F2",
          "The sets with variables in their places rise together, held-out pairs included.",
          "steps between the first and the last of four sets, halfway",
          spread_of_arrivals(dict.fromkeys(SPIKE_SETS, HALFWAY)), 500, at_most=True),
    Claim("adding before identity", ORDER, "F12",
          "The addition circuit stands before the identity block.",
          "steps from ov2_mlp2_accuracy to qk2_ov1_var_identity, each at 0.5",
          order("ov2_mlp2_accuracy", "qk2_ov1_var_identity", (0.5, 0.5)), 100),
    Claim("names before 1-var", ORDER, "F12",
          "Assigned numbers attend to their variables before problems with variables are solved.",
          "steps from attn_l1_num_to_prev at 0.5 to 1-var train halfway",
          order("attn_l1_num_to_prev", "1-var train", (0.5, HALFWAY)), 100),
    Claim("identity with the spike", ORDER, "F8, F12",
          "The identity block rises together with the accuracy.",
          "steps between qk2_ov1_var_identity at 0.5 and 1-var train halfway",
          spread_of_arrivals({"qk2_ov1_var_identity": 0.5, "1-var train": HALFWAY}), 500, at_most=True),
    Claim("below the shortcut", ORDER, "chapter 11",
          "Until the first spike, variables out of place do worse than a random assigned number.",
          "median of 1-var var-restricted, from step 500 to the spike",
          below_shortcut, round(shortcut_level(STUDY), 3), at_most=True),
    Claim("restricted last", ORDER, "F9",
          "The last place to be solved has a restricted variable.",
          "steps from the last unrestricted place at 0.9 to the last of all",
          restricted_last, 100),
    Claim("one by one", ORDER, "chapter 11",
          "The four places that training never shows come at different times.",
          "steps from the first of them at 0.9 to the last",
          one_by_one, 500),
    Claim("score of the last variable", ORDER, "F9",
          "When the last variable is solved, = has come to read it more in layer 1.",
          "rise of its score over the jump, less the median of the other variables",
          score_rises, 0.1),
    Claim("= reads the operands", ATTENTION, "F4, F12",
          "In layer 1, = attends most to the two operands.",
          "attn_l1_equal_to_operands",
          at_the_end("attn_l1_equal_to_operands"), 0.99),
    Claim("numbers read the token before", ATTENTION, "F4, F12",
          "In layer 1, an assigned number attends most to its variable.",
          "attn_l1_num_to_prev",
          at_the_end("attn_l1_num_to_prev"), 0.99),
    Claim("= finds the numbers", ATTENTION, "F4, F12",
          "In layer 2, = attends most to the two numbers to be added.",
          "attn_l2_equal_to_values",
          at_the_end("attn_l2_equal_to_values"), 0.99),
    Claim("names can be read", ATTENTION, "F12",
          "After layer 1 a linear probe names an assigned number's variable.",
          "probe_l1_mid_var_from_num",
          at_the_end("probe_l1_mid_var_from_num"), 0.99),
    Claim("= prefers 13 and 14", ATTENTION, "F6",
          "In the table of layer 1, = prefers positions 13 and 14 to all other positions.",
          "score of the lower of the two, less the best other",
          equal_prefers_operands, 0.001),
    Claim("numbers prefer variables", ATTENTION, "F6",
          "In the table of layer 1, numbers prefer variables to numbers and PAD.",
          "share of numbers that score every variable higher",
          prefers_variables("numbers"), 1),
    Claim("positions prefer variables", ATTENTION, "F6",
          "In the table of layer 1, positions 0 to 11 prefer variables to numbers and PAD.",
          "share of positions that score every variable higher",
          prefers_variables("positions"), 1),
    Claim("grows to the right", ATTENTION, "F6",
          "The position part of layer 1 grows to the right.",
          "share of steps to the next key, up to key 10, that go up",
          grows_to_the_right, 0.9),
    Claim("rows alike", ATTENTION, "chapter 8",
          "This part is the same for all queries: a position does not know its own place.",
          "mean correlation of two rows",
          rows_alike, 0.9),
    Claim("previous-token table", ATTENTION, "F7a",
          "By position alone, each place prefers the one before it, two back left out.",
          "qk1_num_to_prev_var, share of 11 rows",
          at_the_end("qk1_num_to_prev_var"), 0.9),
    Claim("identity block", ATTENTION, "F7b",
          "Each variable, moved by layer 1, scores itself highest in layer 2.",
          "qk2_ov1_var_identity, share of 12 rows",
          at_the_end("qk2_ov1_var_identity"), 1),
    Claim("rank of the block", ATTENTION, "chapter 8",
          "The identity block has fewer dimensions than there are variables.",
          "singular values above a quarter of the largest, of 12",
          lambda run: identity_rank(run.weights), 11, at_most=True),
    Claim("F5a, same pair", ADDITION, "F5a",
          "The MLP reads the same vector whether a number was typed or looked up.",
          "mean cosine of the MLP's input, 1-var against 0-var",
          matched("MLP input"), 0.9),
    Claim("F5a, margin", ADDITION, "F5a",
          "This is not so for another pair.",
          "the same, less the mean cosine with another pair, mostly of the same x",
          cosine_gap("MLP input"), 0.2),
    Claim("F5b, same pair", ADDITION, "F5b",
          "Layer 2 puts the sum of two vectors at =.",
          "mean cosine of its output and e_x OV2 + e_y OV2, 1-var",
          matched("layer 2"), 0.9),
    Claim("F5b, margin", ADDITION, "F5b",
          "This is not so for another pair.",
          "the same, less the mean cosine with another pair, mostly of the same x",
          cosine_gap("layer 2"), 0.2),
    Claim("probe before the MLP", ADDITION, "text",
          "Before the MLP a linear probe cannot read the answer.",
          "accuracy on held-out pairs, 1-var",
          probe(0), 0.1, at_most=True),
    Claim("probe after the MLP", ADDITION, "text",
          "After the MLP it can.",
          "accuracy on held-out pairs, 1-var",
          probe(1), 0.9),
    Claim("bare circuit", ADDITION, "text",
          "OV2 and the MLP alone add nearly all pairs.",
          "ov2_mlp2_accuracy, all 3481 pairs",
          at_the_end("ov2_mlp2_accuracy"), 0.99),
    Claim("only doubles are missed", ADDITION, "chapter 6",
          "The bare circuit fails on nothing but held-out doubles x + x.",
          "other pairs that it gets wrong, of 3481",
          other_misses, 0, at_most=True),
    Claim("best neuron", ADDITION, "F11",
          "There are neurons that compute a wave of one frequency in x and one in y.",
          "share of its variance that the best fit explains",
          lambda run: run.fits.max().item(), 0.95),
    Claim("typical neuron", ADDITION, "chapter 7",
          "Most neurons do, mainly.",
          "the same share, median of 512 neurons",
          lambda run: run.fits.median().item(), 0.5),
    Claim("few frequencies", ADDITION, "chapter 7",
          "The network adds with less than half of the 29 frequencies.",
          "frequencies with more than 1% of the energy that layer 2 passes on",
          lambda run: len(key_frequencies(number_table(run.weights))), 14, at_most=True),
    Claim("0.7 of the pairs suffice", SWEPT, "F3a",
          "The study's share of pairs is enough to learn addition.",
          "least share of pairs from which on held-out sums are at 0.9",
          enough(0.9), 0.7, at_most=True, of="train_fraction"),
    Claim("few pairs do not", SWEPT, "F3a",
          "With too few pairs there is no addition.",
          "gain in accuracy on held-out sums, smallest to largest share",
          gain, 0.5, of="train_fraction"),
    Claim("few 2-var problems suffice", SWEPT, "F3b",
          "2-var problems may be rare in training.",
          "least r from which on new 2-var problems are at 0.9",
          enough(0.9), 0.5, at_most=True, of="r"),
    Claim("but some are needed", SWEPT, "F3b",
          "With hardly any 2-var problems in training, they are solved worse.",
          "gain in exact 2-var accuracy, smallest to largest r",
          gain, 0.1, of="r"),
)
# fmt: on
