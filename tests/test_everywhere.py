"""Bounds over all problems at once, against every problem of a tiny world."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
import torch

from assign_add_lib import Task, Weights, handmade, last_logits
from assign_add_lib.proof import everywhere
from assign_add_lib.proof.bounds import Tables
from assign_add_lib.task import KINDS

TINY = Task(n_numbers=5, n_variables=2, length=8)


def every_problem(task: Task) -> torch.Tensor:
    """Every problem, as tokens, written out one by one."""
    found = []
    names, numbers = range(task.first_variable, task.d_vocab), range(task.n_numbers)
    for k in range(task.slots + 1):
        for starts in combinations(range(task.room - 1), k):
            if any(later - earlier < 2 for earlier, later in zip(starts, starts[1:])):
                continue
            for chosen, values in product(permutations(names, k), product(numbers, repeat=k)):
                context = [task.pad] * task.room
                for start, name, value in zip(starts, chosen, values):
                    context[start : start + 2] = name, value
                for left, right in product([*numbers, *chosen], repeat=2):
                    if left != right or left < task.n_numbers:
                        found.append([*context, task.plus, left, right, task.equal])
    return torch.tensor(found)


@pytest.fixture(scope="module")
def problems():
    """Every problem of the tiny world, its right answer, its two numbers and the index of its kind."""
    tokens = every_problem(TINY)
    numbers = tokens.gather(1, TINY.value_positions(tokens))
    names = tokens[:, TINY.left : TINY.last] >= TINY.first_variable
    return tokens, numbers, names.long() @ torch.tensor([1, 2])


def least_leads(weights, problems):
    """The least lead of the right answer for each kind and pair of numbers, by trying every problem."""
    tokens, numbers, kinds = problems
    logits = last_logits(weights.to(torch.float64), tokens)
    answers = numbers.sum(1, keepdim=True) % TINY.n_numbers
    lead = logits.gather(1, answers)[:, 0] - logits.scatter(1, answers, -torch.inf).max(1).values
    found = np.full((len(KINDS), TINY.n_numbers, TINY.n_numbers), np.inf)
    np.minimum.at(found, (kinds.numpy(), *numbers.T.numpy()), lead.numpy())
    return found


def test_problems_are_all_there(problems):
    tokens, _, kinds = problems
    # contexts: none, one assignment (3 places, 2 names, 5 numbers), two (1 place, 2 orders, 25 pairs of numbers)
    contexts, with_one, with_two = 1 + 30 + 50, 30 + 2 * 50, 2 * 50
    assert torch.bincount(kinds).tolist() == [25 * contexts, 5 * with_one, 5 * with_one, with_two]
    assert len(torch.unique(tokens, dim=0)) == len(tokens)


@pytest.mark.parametrize("sharp", [4, 10, 20])
def test_written_by_hand_is_bounded_closely(problems, sharp):
    strengths = dict.fromkeys(("previous", "operands", "match", "number"), sharp)
    weights = handmade.weights((1, 2), TINY, d_model=32, d_mlp=32, **strengths)
    lead, shares = everywhere.least_lead(Tables(weights))
    truth = least_leads(weights, problems).min(0)
    assert (lead <= truth).all()
    assert 0.4 < shares.few[0] <= 0.5 <= shares.many[0] if sharp == 20 else shares.few[0] <= 0.5
    if sharp == 20:
        assert lead.min() > 0 and (truth - lead).max() < 1e-3 * truth.max()


@pytest.mark.parametrize("sharp", [1, 10])
def test_shares_that_are_known_prove_more_than_any_at_all_and_each_pair_stands_alone(problems, sharp):
    strengths = dict.fromkeys(("previous", "operands", "match", "number"), sharp)
    tables = Tables(weights := handmade.weights((1, 2), TINY, d_model=32, d_mlp=32, **strengths))
    pairs, shares = [(4, 4), (0, 3), *product(range(2), range(5))], everywhere.shares(tables, -1, -1)
    anything, read = (everywhere.leads(tables, each, pairs) for each in (everywhere.Shares.any(), shares))
    truth = least_leads(weights, problems)[0][tuple(zip(*pairs))]
    assert (anything < 0).all() and (anything < read).all() and (read <= truth).all()
    whole, _ = everywhere.least_lead(tables, KINDS[:1])
    np.testing.assert_allclose(whole[tuple(zip(*pairs))], read, rtol=1e-9)


@pytest.mark.parametrize("kind", range(len(KINDS)))
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
def test_no_bound_is_above_the_truth(problems, kind, scale):
    weights = Weights.init(TINY, seed=kind, d_model=16, d_mlp=24)
    weights = Weights(**{name: scale * tensor for name, tensor in weights.tensors().items()})
    lead, _ = everywhere.least_lead(Tables(weights), [KINDS[kind]])
    assert (lead <= least_leads(weights, problems)[kind]).all()


def test_one_wrong_problem_is_never_certified(problems):
    weights = handmade.weights((1, 2), TINY, d_model=32, d_mlp=32)
    spoilt = weights.W_E.clone()
    spoilt[TINY.first_variable, :4] += 6  # the first name brings waves of its own, wherever it is read
    weights = weights.replace(W_E=spoilt)
    truth = least_leads(weights, problems).min(0)
    lead, _ = everywhere.least_lead(Tables(weights))
    assert (lead <= truth).all()


def test_waves_prove_no_more_than_tables_and_as_much_where_there_is_nothing_else():
    tables, plain = Tables(handmade.weights()), (everywhere.NUMBER, everywhere.NUMBER)
    read, pairs = everywhere.shares(tables, *plain), [(10, 23), (0, 0)]
    exact = everywhere.leads(tables, read, pairs)
    turns = everywhere.leads(tables, read, pairs, waves=handmade.FREQUENCIES)
    fewer = everywhere.leads(tables, read, pairs, waves=handmade.FREQUENCIES[1:])
    assert (turns <= exact).all() and np.allclose(turns, exact, atol=1e-3) and (fewer < exact - 1).all()
