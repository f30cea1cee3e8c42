"""The exact solvers, question by question against plain search, and their accuracies against counting all rows."""

from itertools import product

import pytest
import torch
from worlds import rng

from assign_add_lib.companions.rules import solvers
from assign_add_lib.companions.rules.data import Rows, all_pairs, draw_inputs


def some_rows(p, n=150, shots=5, seed=0, lines=0):
    tasks = all_pairs(p)[torch.randint(p * p, (n,), generator=rng(seed))]
    return Rows.solve(p, tasks, draw_inputs(n, shots, p, torch.ones(p * p, dtype=torch.bool), rng(seed + 1), lines))


def assert_spread(found, rows, answers):
    """Each question's probabilities are those of votes, told from the examples before it and the question."""
    for row, (inputs, given) in enumerate(zip(rows.inputs.tolist(), rows.answers.tolist())):
        for shot, question in enumerate(inputs):
            votes = list(answers(list(zip(inputs[:shot], given)), question))
            expected = [votes.count(z) / len(votes) for z in range(rows.p)]
            assert found[row, shot].tolist() == pytest.approx(expected)


def of_multiples(p, examples, question):
    """What examples say of a question that is a multiple of them; nothing where none is."""
    if question == [0, 0]:
        return [0]
    there = [(pair, z) for pair, z in examples if pair != [0, 0]]
    return [c * z % p for c in range(p) for (x, y), z in there if [c * x % p, c * y % p] == question]


@pytest.mark.parametrize("p, lines", [(5, 0), (7, 0), (7, 2), (5, 1)])
def test_regression_knows_what_all_fitting_tasks_agree_on(p, lines):
    def said(examples, question):
        fitting = [(a, b) for a, b in product(range(p), repeat=2) if all((a * x + b * y - z) % p == 0 for (x, y), z in examples)]
        answers = {(a * question[0] + b * question[1]) % p for a, b in fitting}
        return answers if len(answers) == 1 else range(p)

    rows = some_rows(p, lines=lines)
    assert_spread(solvers.regression(rows), rows, said)


@pytest.mark.parametrize("p, lines", [(5, 0), (7, 2), (5, 1)])
def test_ratio_matching_looks_for_multiples(p, lines):
    rows = some_rows(p, lines=lines)
    rows = rows._replace(answers=torch.randint(p, rows.answers.shape, generator=rng(9)))  # votes may differ
    assert_spread(solvers.ratio_matching(rows), rows, lambda *asked: of_multiples(p, *asked) or range(p))


def test_memory_asks_the_tasks_that_fit_most():
    rows, known, misfits = some_rows(5, n=200), [(0, 1), (1, 1), (2, 3), (4, 0), (3, 3), (1, 2)], []

    def said(examples, question):
        fits = [sum((a * x + b * y) % 5 == z for (x, y), z in examples) for a, b in known]
        misfits.append(max(fits) < len(examples))
        return [(a * question[0] + b * question[1]) % 5 for (a, b), n in zip(known, fits) if n == max(fits)]

    assert_spread(solvers.memory(rows, torch.tensor(known)), rows, said)
    assert sum(misfits) > 100


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
    rows, alike = some_rows(p, n=200, shots=shots), []

    def left(examples, question):
        one, other = (not_struck_out(p, examples, question, axis) for axis in (0, 1))
        alike.append(len(one) == 1)
        return of_multiples(p, examples, question) or one & other or range(p)

    assert_spread(solvers.elimination(rows), rows, left)
    assert sum(alike) > 20


def test_accuracy_shares_ties():
    probabilities = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.double)
    assert solvers.accuracy(probabilities, torch.tensor([1, 0, 2])).tolist() == pytest.approx([0.5, 0, 1 / 3])
