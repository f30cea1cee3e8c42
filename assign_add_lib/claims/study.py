"""Claims of the study and of this book about every run, as rows of a scoreboard.

To add a row, write a measure in `subjects` or `causes`, or where the subjects are others than runs and sweeps, also a source;
put a `Claim` into `CLAIMS`, and commit its level before anything is measured; then make the board anew:
`python -m assign_add_lib board`.

`origin` says who claims it: a figure of the study (F2), its text, its appendix B, or a chapter of this book.  `quote` has the
words that the statement restates; `theirs` the study's own number, empty where it gives none or where our text of it has lost
the number.  `seen` names the runs whose values were known when the level was set.
"""

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from ..analysis.fourier import key_frequencies, number_table
from ..analysis.phases import shortcut_level, way_up
from ..engine.manifest import shipped_file
from ..engine.scoreboard import Claim
from ..sampling import EVALUATION_SETS
from ..task import STUDY
from ..training import load_run
from . import causes
from .subjects import (
    Subject,
    Sweep,
    adder_alone,
    asked_names,
    at_the_end,
    below_shortcut,
    beside_the_spike,
    constant_before_the_spike,
    cosine_gap,
    enough,
    equal_prefers_operands,
    first_rise,
    gain,
    grows_to_the_right,
    matched,
    most_read_before,
    on_the_plateau,
    one_by_one,
    order,
    other_misses,
    prefers_variables,
    probe,
    reads_last_variable,
    restricted_last,
    rows_alike,
    score_rises,
    scored_higher,
    spread_of_arrivals,
)

SEEDS = (*(f"seed-{seed}" for seed in range(9)), "seed-42")
KNOWN = ("seed-42",)  # the run on which levels were set
CHECKPOINTS = "checkpoints"  # the source of the runs that ship checkpoints of the whole training
ATTACKED = "attacked"  # the source of what an attack found in each run
HALFWAY = way_up(0.5, shortcut_level(STUDY))  # between a random assigned number and all right
SWEEPS = {"train_fraction": "exact 0-var held-out", "r": "exact 2-var held-out"}  # setting -> accuracy


def study_runs() -> dict[str, Subject]:
    """The ten shipped runs of the study, by name."""
    return {name: Subject(load_run(name)) for name in SEEDS}


def untrained() -> dict[str, Subject]:
    """The two runs that ship their first weights, as they were before training: what holds of them was not learned."""
    return {name: Subject(load_run(name), step=0) for name in ("seed-0", "seed-42")}


def swept(setting: str, least: int = 8) -> dict[str, Sweep]:
    """The shipped sweep of a setting, by seed; seeds with fewer than `least` values are left out."""
    table = pd.read_csv(shipped_file(f"sweeps/{setting}.csv"))
    parts = {f"seed-{seed}": part.set_index(setting)[SWEEPS[setting]] for seed, part in table.groupby("seed")}
    return {name: Sweep(part) for name, part in parts.items() if part.index.nunique() >= least}


def attacked() -> dict[str, pd.DataFrame]:
    """What the shipped attack found in each run, a row for each kind of questions."""
    return {name: part for name, part in pd.read_csv(shipped_file("proof/attacked.csv")).groupby("run") if name in SEEDS}


def of_broken(column: str) -> Callable[[pd.DataFrame], float]:
    """A measure: a share of the questions that the attack broke in a run, of all kinds together."""
    return lambda found: (found[column] * found["broken"]).sum() / found["broken"].sum()


def claims_of(*names: str) -> list[Claim]:
    """The claims about some sources."""
    return [claim for claim in CLAIMS if claim.of in names]


def said() -> list[dict]:
    """What the study's text says that measuring could contradict: place, says, and the rows that test it, or why none does."""
    return tomllib.loads(Path(__file__).with_name("said.toml").read_text("utf-8"))["claims"]


def sources() -> dict[str, dict[str, object]]:
    """All that `CLAIMS` speak of, by source."""
    runs = study_runs()
    early = {name: run for name, run in runs.items() if len(run.run.steps) > 1}
    return {"runs": runs, CHECKPOINTS: early, ATTACKED: attacked()} | {setting: swept(setting) for setting in SWEEPS}


FINAL, ORDER, ATTENTION = "Final accuracy", "Order of learning", "Finding the numbers"
ADDITION, CAUSES, SWEPT, FOR_ALL = "Adding them", "Causes", "Sweeps", "For all problems"
SPIKE_SETS = ("1-var train", "1-var add-restricted", "2-var train", "2-var add-restricted")
Row = partial(Claim, seen=KNOWN)


def _interchange(site: str) -> dict:
    """What the rows about one site of the causal model share; chapter 9 had shown three runs."""
    return {
        "measured": f"interchange accuracy of {site}",
        "measure": causes.interchange(site),
        "level": 0.9,
        "seen": ("seed-42", "seed-0", "seed-3"),
        "where": "09_causes: Interchange between problems",
    }


# fmt: off
CLAIMS: tuple[Claim, ...] = (
    *(
        Row(name, FINAL, "F2",
          f"At the end of training the network is right on nearly all problems of {name}.",
          "accuracy at the last step, 2000 problems",
          at_the_end(name), 0.99 if name.endswith(" train") else 0.95,
          quote="test accuracy across all addition types", where="03_training: The full run")
        for name in EVALUATION_SETS
    ),
    Row("0-var before 1-var", ORDER, "F2",
          "Sums without a variable are learned first, and only later those with one.",
          "steps from 0-var train to 1-var train, each halfway",
          order("0-var train", "1-var train", (0.5, HALFWAY)), 100,
          quote="only later learns variable–constant and variable–variable addition", where="11_phases: Count: ten runs"),
    Row("0-var solved first", ORDER, "text",
          "Sums without a variable are nearly perfect, held-out pairs included, while variables are still being learned.",
          "accuracy on 0-var add-restricted at the last measured step before the first spike",
          beside_the_spike("0-var add-restricted"), 0.95,
          quote="near-perfect test accuracy", where="11_phases: Count: ten runs"),
    Row("two spikes", ORDER, "F2, F10",
          "The var-restricted sets rise in a spike of their own, well after the sets that are not var-restricted.",
          "steps from 1-var train to 1-var var-restricted, halfway",
          order("1-var train", "1-var var-restricted", (HALFWAY, HALFWAY)), 1000,
          theirs="9100 to 10 700 (5300–5400 to 14 500–16 000)", quote="more targeted",
          where="11_phases: Count: ten runs"),
    Row("one first spike", ORDER, "F2",
          "Accuracy on 1-var problems rises in one spike.",
          "steps that 1-var train takes from a quarter of the way above the shortcut to three quarters",
          first_rise, 100, at_most=True,
          theirs="100 (5300–5400)", quote="increases rapidly", where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("sets rise together", ORDER, "F2",
          "The sets that are not var-restricted rise together.",
          "steps between the first and the last of four sets with variables, halfway",
          spread_of_arrivals(dict.fromkeys(SPIKE_SETS, HALFWAY)), 500, at_most=True,
          quote="all non-var-restricted evaluation sets", where="11_phases: Count: ten runs"),
    Row("adder with 0-var", ORDER, "appendix B",
          "The bare circuit comes with the accuracy on sums without a variable.",
          "steps between the share of pairs that it adds right and 0-var train, each at 0.9",
          spread_of_arrivals({"ov2_mlp2_accuracy": 0.9, "0-var train": 0.9}), 500, at_most=True,
          quote="This coincides with the model achieving", where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("adder alone", ORDER, "text",
          "Addition is learned independently: without any problem with a variable it comes at the same time.",
          "steps between the bare circuit at 0.9 in the run and in one trained on as many 0-var problems a step alone",
          adder_alone, 500, at_most=True,
          quote="prior to and independently of variable assignment", where="12_scoreboard: Look: the scoreboard", seen=()),
    Row("adding before identity", ORDER, "F12",
          "The addition circuit stands before the routing of variables.",
          "steps from the bare circuit to the identity block, each at one half",
          order("ov2_mlp2_accuracy", "qk2_ov1_var_identity", (0.5, 0.5)), 100,
          quote="first masters the core modular addition operation", where="11_phases: Count: ten runs"),
    Row("names before 1-var", ORDER, "F12",
          "Binding begins in the first phase: assigned numbers attend to their variables before 1-var problems are solved.",
          "steps from half of the assigned numbers to 1-var train halfway",
          order("attn_l1_num_to_prev", "1-var train", (0.5, HALFWAY)), 100,
          quote="begins to slowly emerge", where="11_phases: Count: ten runs"),
    Row("constants only", ORDER, "F8",
          "Before the first spike, = attends in layer 1 to constant operands, and not to variables that stand as operands.",
          "of its attention on the operands of 1-var problems, the constant's part, at the last measured step before the spike",
          constant_before_the_spike, 0.9,
          quote="still attends only to constant operands", where="12_scoreboard: Look: the scoreboard"),
    Row("operands read before", ORDER, "text",
          "Before the first spike layer 2's = attends, where no variable stands, to the two operands.",
          "share of 0-var problems in which its two largest weights are there, at the last checkpoint before the spike",
          most_read_before, 0.9, of=CHECKPOINTS,
          quote="initially only attends to operand positions", where="12_scoreboard: Look: the scoreboard"),
    Row("block weak before", ORDER, "F8",
          "Before the first spike the identity block is diagonal, though weakly.",
          "share of the 12 names that score themselves highest, just before the spike; by chance 4 or more come in 1.4%",
          beside_the_spike("qk2_ov1_var_identity"), round(4 / 12, 3),
          quote="only weakly diagonal on variable embeddings", where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("operands after the spike", ORDER, "F8",
          "After the first spike = attends in layer 1 to the two operands.",
          "share of problems in which its two largest weights are there, at the first measured step at which the spike is over",
          beside_the_spike("attn_l1_equal_to_operands", after=True), 0.8,
          theirs="80% to 99%", quote="attends cleanly to the two operand positions",
          where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("identity with the spike", ORDER, "F8, F12",
          "The first spike coincides with the emergence of the identity block.",
          "steps between half of the names scoring themselves highest and 1-var train halfway",
          spread_of_arrivals({"qk2_ov1_var_identity": 0.5, "1-var train": HALFWAY}), 500, at_most=True,
          quote="coincides with the emergence of the variable-assignment routing circuit",
          where="12_scoreboard: A claim that can fail"),
    Row("below the shortcut", ORDER, "chapter 11",
          "Until the first spike, variables out of place do worse than a random assigned number.",
          "median of 1-var var-restricted, from step 500 to the spike",
          below_shortcut, round(shortcut_level(STUDY), 3), at_most=True, where="11_phases: Break it: who says 38?"),
    Row("routing plateaus", ORDER, "appendix B",
          "Between the spikes the three measures of routing stand on a plateau between 80% and 99%.",
          "how many of the three have a median from 0.8 to 0.99 between the two spikes, on our batch of trained places",
          on_the_plateau, 3,
          theirs="80% to 99%", quote="plateau between", where="11_phases: Count: ten runs"),
    Row("restricted last", ORDER, "F9",
          "The last place to be solved has a restricted variable.",
          "steps from the last unrestricted place at 0.9 to the last of all",
          restricted_last, 100,
          theirs="b on the right", quote="correctly route sequences with b as the second operand",
          where="11_phases: Look: every letter"),
    Row("one by one", ORDER, "chapter 11",
          "The four places that training never shows come at different times.",
          "steps from the first of them at 0.9 to the last",
          one_by_one, 500, where="11_phases: Look: every letter"),
    Row("score of the last variable", ORDER, "F9",
          "Before the last variable is solved, = attends to it in layer 1 less than to any other.",
          "share of the other variables with a higher layer-1 score, at the last measured step before the jump",
          scored_higher, 1,
          quote="attends less strongly to b", where="11_phases: Look: every letter", seen=SEEDS),
    Row("the last score rises", ORDER, "F9",
          "As the scores of the last variable rise, so does its accuracy.",
          "rise of its layer-1 score over the jump, less the median of the other variables",
          score_rises, 0.1,
          quote="As the scores for b improve", where="11_phases: Look: every letter"),
    Row("the last number unread", ORDER, "F9",
          "Before the last variable is solved, = fails to attend to the number assigned to it in layer 2.",
          "share of its problems in which this number is one of the two most read, at the last checkpoint before the jump",
          reads_last_variable, 0.5, at_most=True, of=CHECKPOINTS,
          quote="fails to attend to the variable-assigned constant", where="12_scoreboard: Look: the scoreboard"),
    Row("= reads the operands", ATTENTION, "F4, F12",
          "In layer 1, = attends most to the two operands.",
          "attn_l1_equal_to_operands",
          at_the_end("attn_l1_equal_to_operands"), 0.99,
          quote="attends specifically to positions 13 and 14", where="05_attention: Count"),
    Row("numbers read the token before", ATTENTION, "F4, F12",
          "In layer 1, an assigned number attends most to the variable before it.",
          "attn_l1_num_to_prev",
          at_the_end("attn_l1_num_to_prev"), 0.99,
          quote="the variable situated directly before them", where="05_attention: Count"),
    Row("= finds the numbers", ATTENTION, "F4, F12",
          "In layer 2, = attends most to the two numbers to be added.",
          "attn_l2_equal_to_values",
          at_the_end("attn_l2_equal_to_values"), 0.99,
          quote="attends strongly to the specific operands", where="05_attention: Count"),
    Row("names can be read", ATTENTION, "F12",
          "After layer 1 a linear probe names an assigned number's variable.",
          "accuracy of our ridge classifier",
          at_the_end("probe_l1_mid_var_from_num"), 0.99,
          quote="successfully copied into the constant tokens' residual streams", where="11_phases: Count: ten runs"),
    Row("= holds the asked names", ATTENTION, "text",
          "After layer 1 a linear probe reads from = which variable is asked for.",
          "accuracy on held-out 1-var problems, our ridge classifier",
          asked_names, 0.99,
          quote="contains remapped embeddings of the variables in the addition",
          where="12_scoreboard: Look: the scoreboard", seen=()),
    Row("= prefers 13 and 14", ATTENTION, "F6",
          "In the table of layer 1, = prefers positions 13 and 14 to all other positions.",
          "score of the lower of the two, less the best other",
          equal_prefers_operands, 0.001,
          quote="exhibits a preference for the positional embeddings at 13 and 14",
          where="08_binding: Nine cells"),
    Row("numbers prefer variables", ATTENTION, "F6",
          "In the table of layer 1, numbers prefer variables to numbers and PAD.",
          "share of numbers that score every variable higher",
          prefers_variables("numbers"), 1,
          quote="interact strongly with variable tokens", where="08_binding: Nine cells"),
    Row("positions prefer variables", ATTENTION, "F6",
          "In the table of layer 1, positions 0 to 11 prefer variables to numbers and PAD.",
          "share of positions that score every variable higher",
          prefers_variables("positions"), 1,
          quote="similarly attend to variables", where="08_binding: Nine cells"),
    Row("grows to the right", ATTENTION, "F6",
          "The position part of layer 1 generally increases to the right.",
          "share of steps to the next key that go up, on average over the queries that see both",
          grows_to_the_right, 0.9,
          quote="generally increases towards the right", where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("rows alike", ATTENTION, "chapter 8",
          "This part is the same for all queries: a position does not know its own place.",
          "mean correlation of two rows",
          rows_alike, 0.9, where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("previous-token table", ATTENTION, "F7a",
          "By position alone, each place scores the one before it above all earlier ones but the one two back.",
          "qk1_num_to_prev_var, share of 11 rows",
          at_the_end("qk1_num_to_prev_var"), 0.9,
          quote="a strict positional preference", where="08_binding: Nine cells"),
    Row("identity block", ATTENTION, "F7b",
          "A variable that layer 1 has moved scores itself highest in layer 2.",
          "qk2_ov1_var_identity, share of 12 rows",
          at_the_end("qk2_ov1_var_identity"), 1,
          quote="maximized strictly when", where="08_binding: Twelve names"),
    Row("F5a, same pair", ADDITION, "F5a",
          "The MLP's input is nearly the same whether a number was typed or looked up.",
          "mean cosine of the MLP's input, 1-var against 0-var",
          matched("as 0-var"), 0.9,
          theirs="“very close to 1”", quote="very close to 1", where="06_addition: What the MLP is given"),
    Row("F5a, margin", ADDITION, "F5a",
          "It is much less alike for another pair.",
          "the same, less the mean cosine with another pair",
          cosine_gap("as 0-var"), 0.5,
          quote="significantly higher for matched operand pairs", where="06_addition: What the MLP is given"),
    Row("F5b, same pair", ADDITION, "F5b",
          "The MLP's input points along the sum of two vectors, one for each number.",
          "mean cosine of the MLP's input and e_x OV2 + e_y OV2, 0-var and 1-var",
          matched("bare sum"), 0.9,
          theirs="“very close to 1”", quote="essentially takes the vector as its input",
          where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("F5b, margin", ADDITION, "F5b",
          "It does so much less where the right numbers are shuffled.",
          "the same, less the mean cosine with the right numbers shuffled",
          cosine_gap("bare sum"), 0.2,
          quote="much higher than the randomly shuffled cosine similarity",
          where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("probe before the MLP", ADDITION, "text",
          "Before the MLP a linear probe does not find the answer.",
          "accuracy on held-out pairs, 1-var",
          probe(0), 0.1, at_most=True,
          quote="fail to predict", where="06_addition: What a linear probe can read"),
    Row("probe after the MLP", ADDITION, "text",
          "After the MLP it does.",
          "accuracy on held-out pairs, 1-var",
          probe(1), 0.9,
          quote="post-MLP probes succeed", where="06_addition: What a linear probe can read"),
    Row("bare circuit", ADDITION, "text",
          "OV2 and the MLP alone add nearly all pairs.",
          "ov2_mlp2_accuracy, all 3481 pairs",
          at_the_end("ov2_mlp2_accuracy"), 0.99,
          quote="nearly perfectly recovering the full model's performance", where="06_addition: The bare circuit"),
    Row("only doubles are missed", ADDITION, "chapter 6",
          "The bare circuit fails on nothing but held-out doubles x + x.",
          "other pairs that it gets wrong, of 3481",
          other_misses, 0, at_most=True, where="06_addition: Which pairs it misses"),
    Row("best neuron", ADDITION, "F11",
          "A neuron computes a wave of one frequency in x and in y.",
          "share of its variance that the best fit explains, in the best of 512",
          lambda run: run.fits.max().item(), 0.95,
          quote="near-perfect match", where="07_fourier: What a neuron computes"),
    Row("typical neuron", ADDITION, "chapter 7",
          "Most neurons do, mainly.",
          "the same share, median of 512 neurons",
          lambda run: run.fits.median().item(), 0.5, where="07_fourier: What a neuron computes"),
    Row("few frequencies", ADDITION, "chapter 7",
          "The network adds with less than half of the 29 frequencies.",
          "frequencies with more than 1% of the energy that layer 2 passes on",
          lambda run: len(key_frequencies(number_table(run.weights))), 14, at_most=True,
          where="07_fourier: Nine frequencies"),
    Row("numbers read evenly", CAUSES, "chapter 9",
          "Where assigned numbers do not read their variable in layer 1, look-up fails.",
          "accuracy on 1-var train, when they read all that they see equally",
          causes.accuracy("1-var train", causes.numbers_made_even), 0.5, at_most=True, where="09_causes: Taking a part away"),
    Row("operands unread", CAUSES, "chapter 9",
          "Where = does not read the operands in layer 1, look-up fails.",
          "accuracy on 1-var train, when it reads evenly all but positions 13 and 14",
          causes.accuracy("1-var train", causes.operands_unread), 0.5, at_most=True, where="09_causes: Taking a part away"),
    Row("no identity block", CAUSES, "chapter 9",
          "Without the identity block, look-up fails.",
          "accuracy on 1-var train without the block's term in layer 2's scores",
          causes.accuracy("1-var train", causes.block_removed), 0.5, at_most=True,
          where="09_causes: Taking a part away", seen=SEEDS),
    Row("no block, 0-var", CAUSES, "chapter 9",
          "Sums without a variable do not need the block.",
          "accuracy on 0-var train without the same term",
          causes.accuracy("0-var train", causes.block_removed), 0.95, where="09_causes: Taking a part away"),
    Row("no position table", CAUSES, "F7a",
          "The position table makes numbers read their variable: without it, look-up suffers.",
          "accuracy lost on 1-var train, without P QK1 Pᵀ before +",
          causes.lost("1-var train", causes.no_position_table), 0.05,
          quote="effectively acts as a previous-token head", where="12_scoreboard: Look: the scoreboard", seen=SEEDS),
    Row("no MLP", CAUSES, "text",
          "Without the MLP nothing is added.",
          "accuracy on 0-var train, when the MLP adds its mean",
          causes.accuracy("0-var train", causes.mean_mlp), 0.1, at_most=True,
          quote="critical to compute the modular addition", where="06_addition: What a linear probe can read"),
    Row("the block says which", CAUSES, "chapter 9",
          "With the block's columns moved by one, the number of the next variable is looked up.",
          "share of 1-var problems answered so, where that variable is assigned",
          causes.looks_up_next, 0.8, where="09_causes: Altering what a part says"),
    Row("names exchanged", CAUSES, "chapter 9",
          "With layer 1's output exchanged between two assigned numbers, each is found under the other's name.",
          "share of 1-var problems answered so",
          causes.names_exchanged, 0.9, where="09_causes: Altering what a part says"),
    Row("named terms suffice", CAUSES, "chapter 9",
          "Three named terms do the work, and all else of layer 2 may have its mean.",
          "accuracy on 1-var train with these terms alone",
          causes.accuracy("1-var train", causes.named_terms), 0.95, where="12_scoreboard: Look: the scoreboard"),
    Row("the story suffices", CAUSES, "chapter 9",
          "All that the causal model calls irrelevant may come from other problems.",
          "accuracy on 1-var train, when it does",
          causes.scrubbed, 0.95, where="09_causes: The whole story at once", seen=SEEDS),
    *(
        Row(name, CAUSES, "chapter 9", statement, **_interchange(site))
        for name, statement, site in (
            ("interchange, names", "What layer 1 writes at the assigned numbers works as their names in another problem.",
             "layer 1's output at the assigned numbers"),
            ("interchange, asked", "What layer 1 writes at = works as the asked variables in another problem.",
             "layer 1's output at ="),
            ("interchange, places", "Layer 2's attention works as the places of the numbers in another problem.",
             "layer 2's attention pattern at ="),
            ("interchange, number", "What layer 2 takes from the left number works as this number in another problem.",
             "layer 2's value at the left number"),
        )
    ),
    Row("interchange, elsewhere", CAUSES, "chapter 9",
          "At sites that the causal model does not use, another problem's content changes no answer.",
          "lowest share of own right answers, of three such sites",
          causes.undisturbed, 0.9, where="09_causes: Interchange between problems", seen=("seed-42", "seed-0", "seed-3")),
    Claim("few pairs do not", SWEPT, "F3a",
          "With too few pairs in training there is no addition of held-out ones.",
          "gain in accuracy on held-out sums, smallest to largest share of pairs",
          gain, 0.5, of="train_fraction",
          quote="in order to generalize to the entire", where="04_generalisation: How little is enough?"),
    Claim("few 2-var problems suffice", SWEPT, "F3b",
          "2-var problems may be rarer in training than the others.",
          "least r from which on new 2-var problems are at 0.9",
          enough(0.9), 0.5, at_most=True, of="r", where="04_generalisation: How little is enough?"),
    Claim("but some are needed", SWEPT, "F3b",
          "With hardly any 2-var problems in training, they are solved worse.",
          "gain in exact 2-var accuracy, smallest to largest r",
          gain, 0.1, of="r",
          quote="is required for the model to generalize", where="04_generalisation: How little is enough?"),
    *(
        Claim(name, FOR_ALL, "chapter 18", statement, f"share of the broken questions, {measured}",
              of_broken(column), level, at_most=at_most, of=ATTACKED, seen=("seed-6", "seed-42"),
              where="18_for_all: Count: ten networks")
        for name, statement, measured, column, level, at_most in (
            ("one number repeated", "What breaks a question repeats one number.",
             "in which one number fills half of the free places or more", "repeated in half", 0.9, False),
            ("one copy is too few", "It is the copies that break it.",
             "that are still broken with all copies but one replaced by random numbers", "broken with one copy", 0.3, True),
            ("not any number", "It is this number.",
             "that are still broken with another number in all its places", "broken with another number", 0.5, True),
            ("not any names", "It is these names, too.",
             "that are still broken with the free names drawn anew", "broken with other names", 0.6, True),
            ("taken for an operand", "The wrong answer takes the repeated number for an operand.",
             "in which it is an operand plus the repeated number", "answer takes it", 0.7, False),
        )
    ),
)
# fmt: on
