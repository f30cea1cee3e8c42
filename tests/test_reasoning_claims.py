"""Reasoning in a loop: each claim asks for the entry of the tables that its words name, and the shipped runs are as told."""

from itertools import product

import pytest
from small import assert_the_same

from assign_add_lib.companions.reasoning.claims import ALL, CLAIMS, OURS, PAPER, SEEN, SOURCE, obeys, sources
from assign_add_lib.companions.reasoning.model import ARMS, RIGHT_STARTS
from assign_add_lib.companions.reasoning.seeds import SEEDS
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
from assign_add_lib.engine.scoreboard import claim_values, load_board
from assign_add_lib.engine.sweep import grid

BY_NAME = {claim.name: claim for claim in CLAIMS}


def tables(rows):
    """The shipped tables of seed 0 with other numbers for some entries, by (table, *entries)."""
    found = {name: each.copy() for name, each in sources()[SOURCE]["seed-0"].items()}
    for (name, *entries), value in rows.items():
        assert tuple(entries) in found[name].index
        found[name][tuple(entries)] = value
    return found


SAME = None  # as without the change
IN_LAYER_2 = list(product(TOKENS_PASS, [2], "1234"))  # the heads there


@pytest.mark.parametrize(
    "name, rows, value",
    [
        ("correction, four times as large", {("accuracy", "corrected", 4, "graphs"): 0.8}, 0.8),
        ("correction helps", {("accuracy", "corrected", 4, "graphs"): 0.8, ("accuracy", "discrete", 4, "graphs"): 0.5}, 0.3),
        ("discrete latents, twice as large", {("accuracy", "discrete", 2, "graphs"): 0.7}, 0.7),
        ("chain of thought fits", {("accuracy", "chain", 1, "graphs"): 0.4}, 0.4),
        ("it stays solved", {("by_iteration", "corrected", 0): 1.0, ("by_iteration", "corrected", 16): 0.25}, -0.75),
        ("wrong values are mended", {("recovery", "corrected", 20, 8): 0.6}, 0.6),
        ("values move in layer 2", {("gains", "corrected", 2, 3, "value"): 6.0, ("gains", "corrected", 2, 3, "variable"): 2.0,
                                    ("gains", "corrected", 1, 2, "value"): 9.0}, 3.0),
        ("values move in layer 2, discrete arm", {("gains", "discrete", 2, 3, "value"): 6.0,
                                                  ("gains", "discrete", 2, 3, "variable"): 2.0}, 3.0),
        ("the MLP adds in waves", {("largest_frequencies", "discrete", 3, "right"): 0.95,
                                   ("largest_frequencies", "discrete", 3, "right, as large"): 0.93}, 0.02),
        ("layer 1 looks up at the operands", {("exchanges_at_operands", "corrected", 2, "older", "2"): 0.6}, 0.6),
        ("and not at the sum", {("exchanges", "discrete", 1, 4, "all", "none"): 0.5}, 0.5),
        ("two heads of layer 2 collect", {}, 2),
        ("two heads of layer 2 collect", {("exchanges", arm, 2, 1, "2", "all"): 0.91 for arm in TOKENS_PASS}, 1),
        ("two heads of layer 2 collect", {("exchanges", "discrete", 2, 2, "1, 3", "all"): 0.8,
                                          ("exchanges", "discrete", 2, 3, "1, 2, 3", "all"): 0.8,
                                          ("exchanges", "discrete", 2, 3, "1, 3, 4", "all"): 0.92}, 3),
        ("no head for each operand", {("exchanges", "corrected", 2, 1, "2", "3"): 0.7}, 0.7),
        ("no head for each operand", {("exchanges", "corrected", 2, 1, "2", "all"): 0.7,
                                      ("exchanges", "corrected", 2, 2, "2, 4", "3"): 0.7}, SAME),
        ("the discrete arm takes the operand's own", {("sources", "discrete", "mentioned", "operand", "moves"): 0.4}, 0.4),
        ("the corrected arm takes the one that differs", {("sources", "corrected", "mentioned", "operand", "moves"): 0.4}, 0.6),
        ("large shares of nothing", {("variances", "discrete", 2, head, "variance"): 10.0 * head for head in (1, 2, 3, 4)}
         | {("variances", "discrete", 1, 2, "variance"): 4.0}, 0.1),
        ("a head counts", {("counts", *each, "shift", 3, 1, "right"): 0.01 for each in IN_LAYER_2}, 0.01),
        ("a head counts", {("counts", *each, "shift", 3, 3, "right"): 0.01 for each in IN_LAYER_2}, SAME),  # no shift
        ("a head counts", {("exchanges", "discrete", 2, 1, "4", "none"): 0.8}, 1.0),
        ("neurons follow waves", {("waves", "discrete", "neurons", "best frequency"): 0.8,
                                  ("waves", "discrete", "neurons", "best frequency, relabelled"): 0.7}, 0.1),
        ("three frequencies suffice", {("largest_frequencies", "corrected", 3, "right"): 0.5}, 0.5),
        ("the discrete arm keeps what it holds", {("recovery", "discrete", 20, 0): 0.8,
                                                  ("recovery", "discrete", 20, 8): 0.85}, 0.05),
    ],
)  # fmt: skip
def test_a_claim_asks_for_the_number_that_its_words_name(name, rows, value):
    expected = BY_NAME[name].measure(tables({})) if value is SAME else value
    assert BY_NAME[name].measure(tables(rows)) == pytest.approx(expected)


def test_the_head_that_obeys_is_a_counting_one():
    told_two = "shift", 2, 1, "times"
    chosen = {("counts", "discrete", 2, "2", *told_two): 0.9, ("counts", "discrete", 1, "4", *told_two): 0.8}
    assert obeys(tables(chosen), "discrete") == (1, 4)  # head 2 of layer 2 leaves all sums right, whatever it is told
    assert obeys(tables({}), "discrete") == (2, 4)


def test_claims_are_of_this_source_and_say_where_they_come_from():
    assert len(BY_NAME) == len(CLAIMS) and {claim.of for claim in CLAIMS} == {SOURCE}
    assert {claim.origin for claim in CLAIMS} == {PAPER, OURS}
    for claim in CLAIMS:  # levels were set before any run, or on those of seed 0
        assert claim.seen in ((), SEEN, ALL) and (claim.origin == OURS or claim.seen != SEEN)


@pytest.mark.parametrize("seed", ALL)
def test_the_board_has_what_the_shipped_tables_say(seed):
    values = claim_values(CLAIMS, {SOURCE: {seed: sources()[SOURCE][seed]}})
    assert_the_same(values, load_board(), CLAIMS, rtol=1e-4, atol=1e-4)


CONFIGS = grid(ArmConfig, [{**part, "seed": SEEDS} for part in GRID])
RUNS = sorted(CONFIGS)


def test_the_shipped_runs_are_those_of_the_grid():
    assert ArmRun.shipped() == sorted([*RUNS, *(f"{arm}-{seed}" for arm in RIGHT_STARTS for seed in range(3))])
    for name in RUNS:
        run = load_arm(name)
        assert run.config == CONFIGS[name] and run.steps == [STEPS[run.config.arm]]
        assert list(run.metrics.index) == list(range(0, STEPS[run.config.arm] + 1, 1000)) and not run.metrics.isna().any().any()
    files = [path for name in RUNS for path in load_arm(name).folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 6 * 2**20


@pytest.mark.parametrize("place, arm", [*enumerate(ARMS)])
def test_a_shipped_network_of_each_arm_answers_as_its_metrics_say(place, arm):
    """Of one seed an arm: at the size of training, within 0.02 of the full-precision share of nodes at the end of training."""
    run = load_arm(f"{arm}-{SEEDS[place % 3]}")
    learner = ArmLearner(run.config)
    asked = learner._evaluated_on[""]
    right = (answers(run.network(), arm, asked) == asked.solution).double().mean().item()
    assert right == pytest.approx(run.metrics.loc[STEPS[arm], "nodes"], abs=0.02)
