"""Contexts: all layouts, and how many contexts and problems there are."""

import doctest
import math

import pytest
from enumerated import every_context

from assign_add_lib import Problem, Task
from assign_add_lib.proof import contexts as module
from assign_add_lib.proof.contexts import contexts, count, layouts, problems
from assign_add_lib.task import KINDS, STUDY

TINY = [Task(3, 2, 8), Task(3, 2, 11), Task(4, 3, 9), Task(5, 3, 10)]


@pytest.mark.parametrize("task", TINY, ids=repr)
def test_layouts_and_counts_are_those_of_all_contexts_one_by_one(task):
    found = every_context(task)
    starts = [tuple((row >= task.first_variable).nonzero()[:, 0].tolist()) for row in found]
    assert len(found.unique(dim=0)) == len(found) == contexts(task)
    assert sorted(set(starts), key=lambda each: (len(each), each)) == list(layouts(task))
    for most in range(task.slots + 2):
        assert sum(len(each) == most for each in starts) == count(task, most)
        assert sum(len(each) <= most for each in starts) == contexts(task, most)


@pytest.mark.parametrize("task", TINY, ids=repr)
@pytest.mark.parametrize("asked", [{}, {1: 2}, {0: 1, 1: 0}], ids=str)
def test_contexts_that_assign_what_is_asked_for_are_counted(asked, task):
    found = every_context(task)
    for name, number in asked.items():
        found = found[((found[:, :-1] == task.first_variable + name) & (found[:, 1:] == number)).any(1)]
    sizes = (found >= task.first_variable).sum(1)
    for most in range(task.slots + 2):
        assert (sizes == most).sum() == count(task, most, len(asked))
        assert (sizes <= len(asked) + most).sum() == contexts(task, most, len(asked))
    assert len(found) == contexts(task, asked=len(asked))


def test_contexts_of_a_question_times_the_questions_are_the_problems_of_its_kind():
    for kind in KINDS:
        asked = KINDS.index(kind).bit_count()
        questions = math.perm(STUDY.n_variables, asked) * STUDY.n_numbers**2
        for most in range(STUDY.slots - asked + 1):
            assert questions * contexts(STUDY, most, asked) == problems(STUDY, kind, asked + most)


@pytest.mark.parametrize("task", TINY[:2], ids=repr)
def test_problems_of_every_kind_are_counted(task):
    kinds = dict.fromkeys(KINDS, 0)
    for context in every_context(task).tolist():
        names = [token for token in context if token >= task.first_variable]
        for left in [*range(task.n_numbers), *names]:
            for right in [*range(task.n_numbers), *names]:
                if not left == right >= task.first_variable:
                    tokens = [*context, task.plus, left, right, task.equal]
                    kinds[Problem.from_tokens(tokens, task).kind] += 1
    assert kinds == {kind: problems(task, kind) for kind in KINDS}


def test_the_study_has_as_many_as_the_book_says():
    assert [sum(len(each) == n for each in layouts(STUDY)) for n in range(7)] == [1, 11, 45, 84, 70, 21, 1]
    assert contexts(STUDY) == 29_498_839_524_116_689 and contexts(STUDY, 2) == 20_684_929
    assert problems(STUDY, "0-var") == 59**2 * contexts(STUDY)


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="there is no kind 3-var; the kinds are 0-var"):
        problems(STUDY, "3-var")


def test_the_examples_hold():
    tried = doctest.testmod(module)
    assert tried.attempted and not tried.failed
