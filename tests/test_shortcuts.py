"""Shortcut solvers, problem by problem, against a slow reader that goes through every choice."""

from itertools import permutations

import pytest
import torch
from small import TASK, read

from assign_add_lib import Problem, Split, Task
from assign_add_lib.analysis.shortcuts import SHORTCUTS, expected_accuracy
from assign_add_lib.sampling import Batch, evaluation_sets

TASKS = [TASK, Task(7, 4, 12), Task()]


def mixed(task, size=40):
    """Problems of all kinds, those with two variables among them."""
    return Batch(*(torch.cat(column) for column in zip(*evaluation_sets(Split.draw(task, 1), size=size).values())))


def slow(name, ids, task):
    """Every answer that a solver may give to one problem, each as often as any other."""
    each, N = read(ids, task.n_numbers, task.n_variables, task.length), task.n_numbers
    constants = [number for variable, number in ((each.u, each.x), (each.w, each.y)) if variable is None]
    numbers, missing = [number for _, number in each.slots], 2 - len(constants)
    if name == "chance":
        return list(range(N))
    if name == "ignore the variables":
        missing = 0
    if name == "last assigned number":
        numbers = numbers[-missing:] if missing else []
    return [(sum(constants) + sum(chosen)) % N for chosen in permutations(numbers, missing)]


@pytest.mark.parametrize("task", TASKS, ids=str)
@pytest.mark.parametrize("name", SHORTCUTS)
def test_each_solver_goes_through_its_choices(task, name):
    batch = mixed(task)
    found = SHORTCUTS[name](batch.tokens, task)
    kinds = set()
    for ids, shares in zip(batch.tokens.tolist(), found):
        said = torch.tensor(slow(name, ids, task))
        torch.testing.assert_close(shares, torch.bincount(said, minlength=task.n_numbers) / len(said))
        kinds.add(Problem.from_tokens(torch.tensor(ids), task).kind)
    assert kinds == {"0-var", "1-var left", "1-var right", "2-var"}
    answers = [slow(name, ids, task) for ids in batch.tokens.tolist()]
    right = [each.count(answer) / len(each) for each, answer in zip(answers, batch.answers.tolist())]
    assert expected_accuracy(SHORTCUTS[name], batch, task) == pytest.approx(sum(right) / len(right), abs=1e-6)


@pytest.mark.parametrize("name", SHORTCUTS)
def test_all_is_made_where_the_tokens_are(name):
    """What is made without naming a device lands elsewhere here, and cannot meet the tokens."""
    tokens = mixed(TASK).tokens
    with torch.device("meta"):
        assert SHORTCUTS[name](tokens, TASK).device == tokens.device
