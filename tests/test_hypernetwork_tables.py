"""Composing in context: the tables of the chapter against known truths, and the shipped one against the scoreboard."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from arms import rng

from assign_add_lib.companions.hypernetwork import tables
from assign_add_lib.companions.hypernetwork.analysis import at_fixed_questions, bank, fitted_codes
from assign_add_lib.companions.hypernetwork.data import CONTEXT, HELD_OUT, SUPPORTS, Teacher, execute, mix
from assign_add_lib.companions.hypernetwork.model import build
from assign_add_lib.companions.hypernetwork.seeds import seeds
from assign_add_lib.engine.scoreboard import load_board


@pytest.fixture(scope="module")
def teacher():
    return Teacher.draw(3)


@pytest.fixture(scope="module")
def tasks(teacher):
    return teacher.sample(HELD_OUT, 4, rng(1), queries=tables.ASKED + tables.SCORED)


def test_a_search_finds_the_code_behind_answers_again_and_leaves_the_executor_alone(teacher, tasks):
    executor = build("hypernetwork", 0).executor.requires_grad_(False)
    before, code = executor.modules_.clone(), tasks.z + 0.1
    found = fitted_codes(executor, tasks.x, executor(tasks.z, tasks.x), code)
    assert (found - tasks.z).abs().max() < 0.02 and torch.equal(code, tasks.z + 0.1)
    assert torch.equal(before, executor.modules_) and not found.requires_grad


def test_a_code_explains_any_mixture_and_a_sum_any_sum(teacher, tasks):
    wrong = tasks.z + 0.3 * torch.randn(tasks.z.shape, generator=rng(2))
    by_code, by_sum = tables.unexplained(teacher, tasks, teacher.solve(wrong, tasks.x).queries[1], tasks.z.roll(1, 0))
    assert by_code < 1e-3 < 0.01 < by_sum
    known = bank(SUPPORTS["connected"], 5)
    added = sum(teacher.solve(known[which].expand(4, -1), tasks.x).queries[1] for which in (60, 140, 300))
    by_code, by_sum = tables.unexplained(teacher, tasks, added, tasks.z.roll(1, 0))
    assert by_sum < 1e-2 < by_code


def test_the_fairest_blend_against_a_loop(teacher, tasks):
    for z, x, found in zip(tasks.z, tasks.queries[0], tables.fairest(teacher, tasks)):
        alone = [(x @ module.T / 2**0.5).relu() @ teacher.readout.T for module in teacher.modules]
        torch.testing.assert_close(found, sum(strength * each for strength, each in zip(z, alone)), atol=1e-5, rtol=1e-4)


def test_fixed_questions_are_the_same_for_all_tasks_and_leave_the_examples(teacher, tasks):
    fixed = at_fixed_questions(tasks, 9)
    asked = fixed.x[:, CONTEXT:]
    assert asked.shape == (4, 9, 8) and (asked == asked[0]).all() and asked.abs().max() <= 1
    assert all(torch.equal(*each) for each in zip(fixed.context, tasks.context)) and torch.equal(fixed.z, tasks.z)


def test_the_shipped_tables_agree_with_the_scoreboard_and_with_one_another():
    shipped, board = tables.load_tables(), load_board()
    assert all(list(table) == list(seeds()) and np.isfinite(table.to_numpy()).all() for table in shipped.values())
    assert {name: of.columns for name, of in tables.TABLES.items()} == {
        name: table.index.names for name, table in shipped.items()
    }
    errors, floors = shipped["errors"], shipped["floors"]
    answers = shipped["probes_of_answers"].xs("held-out pairs", level="tasks")
    for name, value in {
        "code legible, hypernetwork": shipped["probes"].loc["hypernetwork", "trained", "reading token", 3, "held-out pairs"],
        "code legible beyond a regression, vanilla": answers.loc["vanilla"] - answers.loc["kernel regression"],
        "only with a bottleneck": errors.loc["vanilla", "R²"] - floors.loc["kernel regression"],
    }.items():
        np.testing.assert_allclose(value, board.loc[name, list(errors)].astype(float), atol=2e-3)
    for solver in ("kernel regression", "nearest seen task"):
        np.testing.assert_allclose(errors.loc[solver, "R²"], floors.loc[solver], atol=1e-3)
    np.testing.assert_allclose(errors.loc["blend", "R²"], shipped["blends"].loc[0.1], atol=1e-3)
    alike = errors.loc["vanilla", "cosine with the blend"], errors.loc["blend", "cosine with vanilla"]
    pd.testing.assert_series_equal(*alike, check_names=False, atol=1e-3)


def test_the_error_that_changes_with_the_examples_is_told_from_the_one_that_lasts(teacher):
    z, encoder = teacher.sample(HELD_OUT, 60, rng(4)).z, object.__new__(tables.Encoder)
    encoder.teacher, encoder.to_latent = teacher, 2 * torch.eye(8)
    of_task = 0.3 * torch.randn(z.shape, generator=rng(5))
    for changing, share in ((0.0, 0.0), (0.3, 0.5), (0.6, 0.8)):

        def code(context, changing=changing):
            """Twice the true code plus an error of the task, and one that changes with the examples."""
            fixed = (z + of_task).repeat_interleave(len(context[0]) // len(z), 0)
            return 2 * (fixed + changing * torch.randn(fixed.shape, generator=rng(8)))

        encoder.network = SimpleNamespace(code=code)
        lasts, found = tables.lasting(encoder, z, draws=64)
        assert abs(found - share) < 0.03
        assert (lasts - of_task).abs().max() < 0.01 + changing * 5 / 8


def test_errors_are_averaged_over_the_tasks_of_a_pair(teacher):
    z = teacher.sample(HELD_OUT, 40, rng(6)).z
    off = torch.randn(z.shape, generator=rng(7))
    for task, found in enumerate(tables.mean_of_pairs(off, z)):
        same = [other for other in range(40) if torch.equal(z[task] > 0, z[other] > 0)]
        torch.testing.assert_close(found, off[same].mean(0))


def test_a_sum_of_answers_has_no_gap_and_the_teacher_all_of_it(teacher):
    class Seed:
        def __init__(self, network):
            self.network, self.teacher = network, teacher

        def tasks(self, support, n):
            return teacher.sample(HELD_OUT, n, rng(3))

        def run(self, arm, support, given_code):
            return SimpleNamespace(network=lambda: self.network)

    def network(code, asked):
        return execute(mix(code, teacher.modules), teacher.readout, asked)

    def apart(code, asked):
        return sum(network(code * one, asked) for one in torch.eye(8))

    for each, share in ((network, 1), (apart, 0)):
        each.modules_, each.readout = teacher.modules, teacher.readout
        found = tables.gaps(Seed(each), 20)
        assert found["connected", "gap, share of the teacher's"] == pytest.approx(share, abs=1e-4)
        assert found["connected", "R² of the sums"] == pytest.approx(1, abs=1e-4)


def test_pairs_and_swapped_codes_score_what_the_runs_do():
    shipped = tables.load_tables()
    new = [f"{one} {other}" for one, other in HELD_OUT]
    for name, each in seeds().items():
        for support, arms in tables.ARMS_OF.items():
            for arm in arms:
                mean = shipped["pairs"].loc[support, arm].loc[new, name].mean()
                assert mean == pytest.approx(each.score("out of distribution", arm, support), abs=0.03)
        for arm in ("hypernetwork", "mlp"):
            told = each.score("out of distribution", arm, given_code=True)
            assert shipped["swapped"].loc[arm, "true", "held-out pairs"][name] == pytest.approx(told, abs=0.03)
