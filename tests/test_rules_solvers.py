"""The exact solvers, question by question against plain search, and their accuracies against counting all rows."""

from itertools import product

import pytest
import torch

from assign_add_lib.companions.rules import solvers
from assign_add_lib.companions.rules.data import Rows, all_pairs, draw_inputs


def rng(seed):
    return torch.Generator().manual_seed(seed)


def some_rows(p, n=150, shots=5, seed=0, lines=0):
    tasks = all_pairs(p)[torch.randint(p * p, (n,), generator=rng(seed))]
    return Rows.solve(p, tasks, draw_inputs(n, shots, p, torch.ones(p * p, dtype=torch.bool), rng(seed + 1), lines))


def answers_that_fit(p, examples, question, tasks):
    """What the tasks say of a question that fit all examples, each once."""
    fitting = [(a, b) for a, b in tasks if all((a * x + b * y) % p == z for (x, y), z in examples)]
    return [(a * question[0] + b * question[1]) % p for a, b in fitting]


def questions(rows):
    """Each question of rows, with the examples before it, and where it stands."""
    for row, (inputs, answers) in enumerate(zip(rows.inputs.tolist(), rows.answers.tolist())):
        for shot, question in enumerate(inputs):
            yield row, shot, list(zip(inputs[:shot], answers[:shot])), question


@pytest.mark.parametrize("p, lines", [(5, 0), (7, 0), (7, 2), (5, 1)])
def test_regression_knows_what_all_fitting_tasks_agree_on(p, lines):
    rows, tasks = some_rows(p, lines=lines), list(product(range(p), repeat=2))
    found = solvers.regression(rows)
    for row, shot, examples, question in questions(rows):
        said = set(answers_that_fit(p, examples, question, tasks))
        expected = [1.0 if said == {z} else 0.0 if len(said) == 1 else 1 / p for z in range(p)]
        assert found[row, shot].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("p, lines", [(5, 0), (7, 2), (5, 1)])
def test_ratio_matching_looks_for_multiples(p, lines):
    rows = some_rows(p, lines=lines)
    rows = rows._replace(answers=torch.randint(p, rows.answers.shape, generator=rng(9)))  # votes may differ
    found = solvers.ratio_matching(rows)
    for row, shot, examples, question in questions(rows):
        votes = [
            c * z % p for c in range(p) for (x, y), z in examples
            if (x, y) != (0, 0) and [c * x % p, c * y % p] == question and question != [0, 0]
        ]  # fmt: skip
        if question == [0, 0]:
            votes = [0]
        expected = [votes.count(z) / len(votes) if votes else 1 / p for z in range(p)]
        assert found[row, shot].tolist() == pytest.approx(expected)


def test_memory_asks_the_tasks_that_fit_most():
    rows, known = some_rows(5, n=200), [(0, 1), (1, 1), (2, 3), (4, 0), (3, 3), (1, 2)]
    found, misfits = solvers.memory(rows, torch.tensor(known)), 0
    for row, shot, examples, question in questions(rows):
        fits = [sum((a * x + b * y) % 5 == z for (x, y), z in examples) for a, b in known]
        said = [(a * question[0] + b * question[1]) % 5 for (a, b), n in zip(known, fits) if n == max(fits)]
        misfits += max(fits) < len(examples)
        assert found[row, shot].tolist() == pytest.approx([said.count(z) / len(said) for z in range(5)])
    assert misfits > 100


def not_struck_out(p, examples, question, axis):
    """The answers to a question that examples leave, all scaled to 1 in one of the two numbers."""
    at_one, units = question[axis], {}
    for pair, z in examples:
        if pair[axis]:
            unit = pow(pair[axis], -1, p)
            units[pair[1 - axis] * unit % p] = z * unit % p
    came = {*units.values()}
    left = came if len(units) > 1 and len(came) == 1 else {*range(p)} - came
    return {value * at_one % p for value in left} if at_one else {*range(p)}


@pytest.mark.parametrize("p, shots", [(5, 4), (7, 6)])
def test_elimination_strikes_out_the_answers_that_came(p, shots):
    rows = some_rows(p, n=200, shots=shots)
    found, matched, alike = solvers.elimination(rows), solvers.ratio_matching(rows), 0
    for row, shot, examples, question in questions(rows):
        one, other = (not_struck_out(p, examples, question, axis) for axis in (0, 1))
        left = one & other or {*range(p)}
        alike += len(one) == 1
        if matched[row, shot].max() > 1.5 / p:
            expected = matched[row, shot].tolist()
        else:
            expected = [(z in left) / len(left) for z in range(p)]
        assert found[row, shot].tolist() == pytest.approx(expected)
    assert alike > 20


@pytest.mark.parametrize("examples", [0, 1, 2])
def test_expected_accuracies_are_those_of_all_rows(examples):
    """Every task with every sequence of inputs, modulo 3 (and 5 where these are few)."""
    for p in (3, 5) if examples < 2 else (3,):
        inputs = torch.cartesian_prod(*[torch.arange(p * p)] * (examples + 1)).view(-1, examples + 1)
        tasks = all_pairs(p).repeat_interleave(len(inputs), 0)
        rows = Rows.solve(p, tasks, all_pairs(p)[inputs].repeat(p * p, 1, 1))
        for solver in ("ratio_matching", "regression"):
            right = solvers.accuracy(getattr(solvers, solver)(rows), rows.answers)[:, -1].mean().item()
            assert right == pytest.approx(getattr(solvers, f"expected_{solver}")(p, examples), abs=1e-12)


def test_accuracy_shares_ties():
    probabilities = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.double)
    assert solvers.accuracy(probabilities, torch.tensor([1, 0, 2])).tolist() == pytest.approx([0.5, 0, 1 / 3])
