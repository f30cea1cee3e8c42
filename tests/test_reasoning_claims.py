"""Reasoning in a loop: each claim asks for the entry of the tables that its words name, and the shipped runs are as told."""

from itertools import combinations, product

import pandas as pd
import pytest

from assign_add_lib.companions.reasoning import tables
from assign_add_lib.companions.reasoning.claims import ALL, CLAIMS, OURS, PAPER, SEEN, SOURCE, sources
from assign_add_lib.companions.reasoning.model import ARMS
from assign_add_lib.companions.reasoning.seeds import SEEDS, ReasoningSeed
from assign_add_lib.companions.reasoning.training import (
    GRID,
    STEPS,
    TOKENS_PASS,
    ArmConfig,
    ArmLearner,
    ArmRun,
    answers,
    load_arm,
)
from assign_add_lib.engine.sweep import grid

BY_NAME = {claim.name: claim for claim in CLAIMS}


def table(**changed):
    """Measures of a seed, by (measure, row, column), zero where not given."""
    arms = "feed-forward", "chain", "recurrent", "continuous", "discrete", "corrected"
    rows = {("accuracy", arm, f"graphs, {times} times"): 0.0 for arm in arms for times in (1, 2, 3, 4)}
    for layer in (1, 2):
        for head in (1, 2, 3, 4):
            row = f"corrected, layer {layer}, head {head}"
            rows |= {("heads", row, f"operand {operand}"): operand / 6 for operand in (1, 2, 3)}
            rows |= {("heads", row, f"gain: {name}"): 1.0 for name in ("syntax", "variable", "operation", "value")}
            rows |= {("heads", f"untrained {row}", f"operand {operand}"): 1 / 3 for operand in (1, 2, 3)}
    rows |= {("iteration", "corrected", f"+{later} iterations"): 1.0 for later in (0, 16)}
    rows |= {("recovery", "corrected, 20% wrong", "8 later"): 1.0}
    rows |= found_inside()
    return pd.Series(rows | changed.get("rows", {})).rename_axis(["measure", "row", "column"]).sort_index()


def found_inside():
    """What `findings` reads: heads 1 and 3 of layer 2 carry all operands, head 4 counts, sums take what they do in seed 0."""
    rows = {}
    for arm in TOKENS_PASS:
        for operand, age in product((1, 2, 3), ("fresh", "older")):
            rows["exchanges", f"{arm}, layer 1, at operand {operand}, {age}", f"operand {operand}"] = 1.0
        rows["exchanges", f"{arm}, layer 1, at the sum", "none"] = 1.0
        for group in (each for size in range(5) for each in combinations("1234", size)):
            moved = 1.0 if {"1", "3"} <= set(group) else 0.3 if {"1", "3"} & set(group) else 0.0
            row = f"{arm}, layer 2, at the sum, heads {' and '.join(group) or 'none'}"
            rows |= {("exchanges", row, f"operand {operand}"): 0.1 for operand in (1, 2, 3)}
            rows |= {("exchanges", row, "all"): moved, ("exchanges", row, "none"): 1 - moved}
        for layer, head, to, adds in product((1, 2), (1, 2, 3, 4), (1, 2, 3), (1, 2, 3)):
            right = 0.2 if (layer, head) == (2, 4) and to != adds else 1.0
            rows["counts", f"{arm}, layer {layer}, head {head}, shift to {to}", f"adds {adds}"] = right
        for place, moved in (("definition", 1.0), ("operand", 0.0), ("mentions", 1.0)):
            rows["sources", f"{arm}, mentioned", place] = moved if arm == "corrected" else 1 - moved
        for layer, head in product((1, 2), (1, 2, 3, 4)):
            rows["heads", f"{arm}, layer {layer}, head {head}", "variance"] = 0.01 if layer == 1 else 10.0 * head
        rows["waves", f"{arm}, neurons", "best frequency"] = 0.8
        rows["waves", f"{arm}, neurons", "best frequency, relabelled"] = 0.5
        rows["waves", f"{arm}, neurons with 3 frequencies", "right"] = 0.95
        rows["waves", f"{arm}, neurons with 3 frequencies", "right, relabelled"] = 0.5
        for later in (0, 8):
            rows["recovery", f"{arm}, 20% wrong", f"{later} later"] = 1.0 if arm == "corrected" else 0.8
    return rows


@pytest.mark.parametrize(
    "name, rows, value",
    [
        ("correction, four times as large", {("accuracy", "corrected", "graphs, 4 times"): 0.8}, 0.8),
        ("correction helps", {("accuracy", "corrected", "graphs, 4 times"): 0.8,
                              ("accuracy", "discrete", "graphs, 4 times"): 0.5}, 0.3),
        ("chain of thought fits", {("accuracy", "chain", "graphs, 1 times"): 0.4}, 0.4),
        ("it stays solved", {("iteration", "corrected", "+16 iterations"): 0.25}, -0.75),
        ("wrong values are mended", {("recovery", "corrected, 20% wrong", "8 later"): 0.6}, 0.6),
        ("values move in layer 2", {("heads", "corrected, layer 2, head 3", "gain: value"): 6.0,
                                    ("heads", "corrected, layer 2, head 3", "gain: variable"): 2.0}, 3.0),
        ("the MLP adds in waves", {("waves", "discrete, neurons with 3 frequencies", "right, relabelled"): 0.8}, 0.15),
        ("layer 1 looks up at the operands", {}, 1.0),
        ("layer 1 looks up at the operands",
         {("exchanges", "corrected, layer 1, at operand 2, older", "operand 2"): 0.6}, 0.6),
        ("and not at the sum", {("exchanges", "discrete, layer 1, at the sum", "none"): 0.5}, 0.5),
        ("two heads of layer 2 collect", {}, 2),
        ("two heads of layer 2 collect",
         {("exchanges", "discrete, layer 2, at the sum, heads 2", "all"): 0.95}, 2),
        ("two heads of layer 2 collect",
         {("exchanges", "discrete, layer 2, at the sum, heads 1 and 3", "all"): 0.8,
          ("exchanges", "discrete, layer 2, at the sum, heads 1 and 2 and 3", "all"): 0.8,
          ("exchanges", "discrete, layer 2, at the sum, heads 1 and 3 and 4", "all"): 0.92}, 3),
        ("no head for each operand", {("exchanges", "corrected, layer 2, at the sum, heads 2", "operand 3"): 0.7}, 0.7),
        ("no head for each operand", {("exchanges", "corrected, layer 2, at the sum, heads 2", "all"): 0.7}, 0.1),
        ("the discrete arm takes the operand's own", {("sources", "discrete, mentioned", "operand"): 0.4}, 0.4),
        ("the corrected arm takes the one that differs", {("sources", "corrected, mentioned", "operand"): 0.4}, 0.6),
        ("large shares of nothing", {("heads", "discrete, layer 1, head 2", "variance"): 4.0}, 0.1),
        ("a head counts", {}, 0.2),
        ("a head counts", {("exchanges", "discrete, layer 2, at the sum, heads 4", "none"): 0.8}, 1.0),
        ("neurons follow waves", {("waves", "discrete, neurons", "best frequency, relabelled"): 0.7}, 0.1),
        ("three frequencies suffice", {("waves", "corrected, neurons with 3 frequencies", "right"): 0.5}, 0.5),
        ("the discrete arm keeps what it holds", {("recovery", "discrete, 20% wrong", "8 later"): 0.85}, 0.05),
    ],
)  # fmt: skip
def test_a_claim_asks_for_the_number_that_its_words_name(name, rows, value):
    assert BY_NAME[name].measure(table(rows=rows)) == pytest.approx(value)


def test_claims_are_of_this_source_and_say_where_they_come_from():
    assert len(BY_NAME) == len(CLAIMS) and {claim.of for claim in CLAIMS} == {SOURCE}
    assert {claim.origin for claim in CLAIMS} == {PAPER, OURS}
    for claim in CLAIMS:  # levels were set before any run, or on those of seed 0
        assert claim.seen in ((), SEEN, ALL) and (claim.origin == OURS or claim.seen != SEEN)
    for claim in CLAIMS:
        claim.measure(table())


CONFIGS = grid(ArmConfig, [{**part, "seed": SEEDS} for part in GRID])
RUNS = sorted(CONFIGS)


def test_the_shipped_runs_are_those_of_the_grid():
    assert ArmRun.shipped() == RUNS
    for name in RUNS:
        run = load_arm(name)
        assert run.config == CONFIGS[name] and run.steps == [STEPS[run.config.arm]]
        assert list(run.metrics.index) == list(range(0, STEPS[run.config.arm] + 1, 1000)) and not run.metrics.isna().any().any()
    files = [path for name in RUNS for path in load_arm(name).folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 6 * 2**20


@pytest.mark.parametrize("arm", ARMS)
def test_shipped_networks_answer_as_their_metrics_say(arm):
    """At the size of training, within 0.02 of the full-precision shares of nodes at the end of the training run."""
    for seed in SEEDS:
        run = load_arm(f"{arm}-{seed}")
        learner = ArmLearner(run.config)
        learner.network.load_state_dict(run.network().state_dict())
        asked = learner._evaluated_on[""]
        right = (answers(learner.network, arm, asked) == asked.solution).double().mean().item()
        assert right == pytest.approx(run.metrics.loc[STEPS[arm], "nodes"], abs=0.02)


@pytest.mark.parametrize("arm", TOKENS_PASS)
@pytest.mark.parametrize("seed", SEEDS)
def test_in_each_shipped_seed_both_arms_that_pass_tokens_on_solve_twice_the_size(arm, seed):
    graphs = ReasoningSeed(seed).graphs(2, 100)
    assert (answers(load_arm(f"{arm}-{seed}").network(), arm, graphs) == graphs.solution).all(1).double().mean() >= 0.95


def test_some_shipped_values_come_out_again():
    """Of the measures that take little time, the rows of one seed."""
    column, subject = sources()[SOURCE]["seed-1"], ReasoningSeed(1)
    for measure in ("waves", "heads"):
        found = pd.Series(tables.MEASURES[measure](subject))
        assert (found - column[measure].reindex(found.index)).abs().max() < 0.02 * found.abs().max()
