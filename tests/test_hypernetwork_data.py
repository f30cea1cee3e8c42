"""Composing in context: supports and tasks, against what can be worked out without them."""

import math

import numpy as np
import pytest
import torch
from arms import EVERY, rng
from scipy.sparse.csgraph import connected_components
from scipy.stats import chisquare, kstest

from assign_add_lib.companions.hypernetwork.data import COMBINATIONS, HELD_OUT, SUPPORTS, Teacher


@pytest.fixture(scope="module")
def teacher():
    return Teacher.draw(5)


@pytest.fixture(scope="module")
def unstructured():
    return Teacher.draw(5, structured=False)


@pytest.mark.parametrize(
    "support, pairs, parts, degree", [("connected", 16, 1, 4), ("disconnected", 12, 2, 3), ("connected-12", 12, 1, 3)]
)
def test_a_support_has_all_singles_and_links_its_modules_evenly(support, pairs, parts, degree):
    assert SUPPORTS[support][:8] == EVERY[:8] and len(set(SUPPORTS[support])) == len(SUPPORTS[support]) == 8 + pairs
    links = np.zeros((8, 8), int)
    links[*np.array(SUPPORTS[support][8:]).T] = 1
    links += links.T
    assert links.max() == 1 and not links.diagonal().any() and set(links.sum(0)) == {degree}
    assert connected_components(links, directed=False)[0] == parts
    assert HELD_OUT == [(0, 4), (0, 5), (1, 4), (1, 5), (1, 6), (2, 5), (2, 6), (2, 7), (3, 6), (3, 7)]
    assert not set(HELD_OUT) & set(SUPPORTS[support]) and COMBINATIONS == EVERY and len(SUPPORTS) == 3


def test_modules_have_variance_3_over_8_and_unstructured_combinations_share_nothing(teacher, unstructured):
    drawn, own = torch.stack([Teacher.draw(seed).modules for seed in range(20)]).double(), unstructured.modules
    assert drawn.shape == (20, 8, 8, 8) and own.shape == (36, 8, 8, 8)
    for each in (drawn, own):
        assert each.var().item() == pytest.approx(3 / 8, rel=4 * math.sqrt(2 / each.numel()))
        assert abs(each.mean().item()) < 4 * math.sqrt(3 / 8 / each.numel())
    alike = np.corrcoef(torch.cat([own.flatten(1), teacher.modules.flatten()[None]]).numpy())
    assert np.abs(alike - np.eye(37)).max() < 5 / math.sqrt(512)


@pytest.mark.parametrize("support", [*SUPPORTS.values(), HELD_OUT], ids=[*SUPPORTS, "held out"])
def test_100_000_tasks_obey_every_rule(teacher, support):
    tasks = teacher.sample(support, 100_000, rng(1), queries=0)
    z, x = tasks.z.double().numpy(), tasks.x.double().numpy()
    active = z != 0
    seen, counts = np.unique(active @ 2 ** np.arange(8), return_counts=True)
    assert set(seen) == {sum(2**module for module in modules) for modules in support}
    assert chisquare(counts).pvalue > 1e-3
    assert z[active].min() >= 0.5 and z[active].max() <= 1
    assert kstest(z[active], "uniform", (0.5, 0.5)).pvalue > 1e-3
    pairs = z[active.sum(1) == 2]
    one, other = pairs[pairs > 0].reshape(-1, 2).T
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(len(one))
    assert x.shape == (100_000, 16, 8) and -1 <= x.min() and x.max() < 1
    assert kstest(x[:, 0].ravel(), "uniform", (-1, 2)).pvalue > 1e-3
    together = np.cov(x.reshape(-1, 8).T)
    np.testing.assert_allclose(together, np.eye(8) / 3, atol=4 / 3 / math.sqrt(x.size / 8))
    np.testing.assert_allclose(x.mean((0, 1)), 0, atol=4 * math.sqrt(1 / 3 / (x.size / 8)))


@pytest.mark.parametrize("kind", ["teacher", "unstructured"])
@pytest.mark.parametrize("support", [EVERY, HELD_OUT], ids=["every", "held out"])
def test_each_task_is_the_one_that_its_code_says(request, kind, support):
    """Task by task, in double precision; without structure by the modules of the task's own combination."""
    drawn = request.getfixturevalue(kind)
    modules, readout = drawn.modules.double().numpy(), drawn.readout.double().numpy()
    for z, x, y in zip(*(each.double().numpy() for each in drawn.sample(support, 60, rng(2), queries=3))):
        active = tuple(int(m) for m in np.flatnonzero(z))
        own = modules if kind == "teacher" else modules[EVERY.index(active)]
        W = sum(z[m] * own[m] for m in active) / 2**0.5
        np.testing.assert_allclose(y, np.maximum(x @ W.T, 0) @ readout.T, atol=1e-5)


def test_a_code_of_ones_own_is_solved_as_a_drawn_one(teacher):
    tasks = teacher.sample(EVERY, 40, rng(3), queries=5)
    assert all(torch.equal(one, other) for one, other in zip(teacher.solve(tasks.z, tasks.x), tasks))
    assert [each.shape[1] for each in (*tasks.context, *tasks.queries)] == [16, 16, 5, 5]
    assert torch.equal(torch.cat([tasks.context[1], tasks.queries[1]], 1), tasks.y)


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("seed", [0, 7])
def test_answers_have_standard_deviation_1(seed, structured):
    y = Teacher.draw(seed, structured).sample(EVERY, 20_000, rng(4)).y
    assert y.std().item() == pytest.approx(1, abs=0.02)
