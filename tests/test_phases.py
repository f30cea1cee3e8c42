"""Phases: arrivals by the stated rule, spikes, and the phases of a run."""

import math
import random

import pandas as pd
import pytest
import torch
from small import TASK

from assign_add_lib import Split, Task, load_run
from assign_add_lib.analysis import phases
from assign_add_lib.analysis.shortcuts import expected_accuracy, random_assigned_number
from assign_add_lib.sampling import evaluation_populations


def series(*values, every=100):
    return pd.Series(values, index=range(0, every * len(values), every), dtype=float)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ((0, 0, 1, 1, 1), 200),
        ((0, 0.5, 0.5), 100),  # at the level is enough
        ((0, 1, 0, 0, 0, 1, 1), 500),  # a dip that is too long
        ((0, 1, 1, 0, 0), 100),  # brief, and open at the end
        ((0, 1, 1, 0, 0, 0), None),
        ((0, 1, math.nan, 1), 100),  # nothing measured counts as below
    ],
)
def test_arrival_of_hand_made_series(values, step):
    assert phases.arrival(series(*values), 0.5) == step


def slow_arrival(values, level, brief):
    for start, value in enumerate(values):
        if value < level:
            continue
        longest = stretch = 0
        for later in values[start:]:
            stretch = stretch + 1 if later < level else 0
            longest = max(longest, stretch)
        if longest <= brief:
            return start
    return None


def test_arrival_is_the_rule_read_word_by_word():
    draw, found = random.Random(0), set()
    for _ in range(600):
        values = [draw.choice((0.2, 0.8)) for _ in range(draw.randint(1, 12))]
        for brief in (0, 1, 2, 5):
            expected = slow_arrival(values, 0.5, brief)
            assert phases.arrival(series(*values, every=1), 0.5, brief) == expected, (values, brief)
            found.add(expected)
    assert {None, 0, 3} < found


def test_a_spike_is_from_the_last_step_before_a_quarter_to_three_quarters():
    values = series(0.4, 0.5, 0.54, 0.56, 0.7, 0.84, 0.86, 0.9)  # quarters of the way from 0.4 to 1: 0.55 and 0.85
    assert phases.spike(values, 0.4) == (200, 600)
    assert phases.spike(values, 0.4, 0.81) == (100, 500)  # quarters: 0.5025 and 0.7075
    assert phases.spike(values, 0.8) is None
    assert phases.spike(series(0.9, 1), 0.4) == (0, 0)  # it was there from the start


@pytest.mark.parametrize("task", [TASK, Task()])
def test_shortcut_level_is_what_the_solver_scores(task):
    law = evaluation_populations(Split.draw(task, 3))["1-var train"]
    batch = law.sample(200_000, torch.Generator().manual_seed(0))
    assert phases.shortcut_level(task) == pytest.approx(expected_accuracy(random_assigned_number, batch, task), abs=0.003)


def test_phases_of_the_shipped_run_are_those_of_chapter_3():
    metrics = load_run("seed-42").metrics
    assert phases.phase_spans(metrics, Task()) == [("1", 0, 2300), ("2", 2300, 10_500), ("3", 10_500, 30_000)]
    assert phases.phase_spans(metrics.loc[:5000], Task()) == [("1", 0, 2300), ("2", 2300, 5000)]
    assert phases.phase_spans(metrics.loc[:1000], Task()) == [("1", 0, 1000)]
