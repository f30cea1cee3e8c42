"""The network written by hand solves every problem, and each of its parts does what it was written for."""

import math
from itertools import combinations

import pytest
import torch

from assign_add_lib import Split, Task, forward, handmade, last_logits
from assign_add_lib.measures import accuracy, progress_measures
from assign_add_lib.model import trace
from assign_add_lib.sampling import Population, diagnostic_batch, evaluation_sets, forms
from assign_add_lib.task import STUDY, Problem

CHOICES = [(1,), (1, 14), handmade.FREQUENCIES, (1, 2, 3, 4, 5, 6), tuple(range(1, 11))]


def all_kinds(size, task=STUDY, seed=0):
    """Problems of all kinds, all pairs of numbers, all variables on both sides, with repeated variables left out."""
    V, v = task.n_variables, range(task.n_variables)
    kinds = V * forms(task, None, None) + forms(task, v, None) + forms(task, None, v) + forms(task, v, v) / (V - 1)
    law = Population(task, kinds, torch.ones(task.n_numbers, task.n_numbers, dtype=torch.bool))
    return law.sample(size, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("frequencies", CHOICES)
def test_any_frequencies_solve_all_pairs_and_kinds_and_doubles(frequencies):
    weights, n = handmade.weights(frequencies), torch.arange(59)
    x, y = torch.cartesian_prod(n, n).T
    tokens = all_kinds(1).tokens.repeat(len(x), 1)
    tokens[:, STUDY.left], tokens[:, STUDY.right] = x, y
    assert (last_logits(weights, tokens).argmax(1) == (x + y) % 59).all()
    assert accuracy(weights, all_kinds(20_000 if frequencies == handmade.FREQUENCIES else 5000)) == 1
    doubles = torch.stack([Problem((("a", 3), ("b", each)), "b", "b").tokens(seed=each) for each in range(59)])
    assert (last_logits(weights, doubles).argmax(1) == 2 * n % 59).all()


def test_plain_and_factored_forward_agree():
    weights, tokens = handmade.weights(), all_kinds(500).tokens
    logits = forward(weights, tokens)[:, -1]
    assert torch.allclose(last_logits(weights, tokens), logits, atol=1e-4 * logits.abs().max())
    with torch.no_grad():
        lens = weights.to_transformer_lens()(tokens)[:, -1]
    assert torch.allclose(lens, logits, atol=1e-4 * logits.abs().max())


def test_half_of_each_number_is_read():
    tokens = all_kinds(2000).tokens
    read = trace(handmade.weights(), tokens).pattern[:, 1, -1].gather(1, STUDY.value_positions(tokens))
    assert torch.allclose(read, torch.tensor(0.5), atol=1e-5)


def test_names_are_moved_to_assigned_numbers_and_equals_alone():
    tokens, at = all_kinds(2000).tokens, handmade.residual_blocks()
    moved = trace(handmade.weights(), tokens).attn_out[:, 0, :, at["moved"]]  # (batch, pos, V)
    for position in range(1, STUDY.last):
        before = tokens[:, position - 1, None] - STUDY.first_variable
        truth = (before == torch.arange(STUDY.n_variables)) & (position < STUDY.room)
        assert torch.allclose(moved[:, position], truth.float(), atol=1e-5)


def test_neurons_double_the_half_angle():
    weights, at = handmade.weights().to(torch.float64), handmade.residual_blocks()
    x, y = torch.cartesian_prod(torch.arange(59), torch.arange(59)).double().T[..., None]  # (3481, 1)
    step = 2 * math.pi * torch.tensor(handmade.FREQUENCIES) / 59
    half = torch.zeros(len(x), 128, dtype=torch.float64)
    half[:, at["operands"]] = torch.cat([((step * x).cos() + (step * y).cos()) / 2, ((step * x).sin() + (step * y).sin()) / 2], 1)
    answer = ((half @ weights.W_in).relu() @ weights.W_out)[:, at["answer"]]
    size, angle = (step * (x - y) / 2).cos().abs(), step * (x + y)
    assert torch.allclose(answer, torch.cat([size * angle.cos(), size * angle.sin()], 1), atol=1e-3)


def least_leads(sets, N):
    """Of sets of frequencies, the least lead of the right answer, over all differences x - y and all wrong answers."""
    k, n = sets[:, :, None], torch.arange(N)
    size, lead = (math.pi * k * n / N).cos().abs(), 1 - (2 * math.pi * k * n[1:] / N).cos()
    return torch.einsum("skn,skd->snd", size, lead).flatten(1).min(1).values


def test_the_five_have_the_largest_margin():
    """Multiplying all frequencies by one number changes no margin, so sets that hold a 1 are enough."""
    sets = torch.tensor([(1, *rest) for rest in combinations(range(2, 30), 4)])
    best = max(least_leads(part, 59).max() for part in sets.split(500))
    assert handmade.margin(handmade.FREQUENCIES, 59) == pytest.approx(best.item(), rel=1e-4)
    assert handmade.margin((1, 3), 7) == pytest.approx(least_leads(torch.tensor([[1, 3]]), 7).item(), rel=1e-4)


OTHERS = {Task(11, 4, 10): (1, 2, 3), Task(7, 3, 9): (2,), Task(3, 2, 8): (1,), Task(5, 30, 21): (1,), Task(97, 20, 30): (1, 11)}


@pytest.mark.parametrize("task", OTHERS, ids=str)
def test_other_sizes(task):
    assert accuracy(handmade.weights(OTHERS[task], task), all_kinds(3000, task)) == 1


def test_smallest_network():
    used = handmade.residual_blocks((1,))["answer"].stop
    weights = handmade.weights((1,), d_model=used, d_mlp=5)
    assert (used, weights.W_in.shape) == (47, (47, 5))
    assert accuracy(weights, all_kinds(5000)) == 1


def test_threshold_keeps_every_problem_right():
    assert accuracy(handmade.weights((1, 3, 11, 15, 18, 21, 22, 28), threshold=0.5), all_kinds(5000)) == 1


def test_whole_and_broken_parts_are_right_and_fail_where_predicted():
    split, sets = Split.draw(), evaluation_sets(Split.draw(), size=500)
    assert {accuracy(handmade.weights(), batch) for batch in sets.values()} == {1}
    assert set(progress_measures(handmade.weights(), diagnostic_batch(split)).values()) == {1}
    for broken, still in ((handmade.weights(match=0), "0-var train"), (handmade.weights(operands=18), "2-var train")):
        assert accuracy(broken, sets[still]) == 1
        assert accuracy(broken, sets["1-var train"]) < 0.05


def test_what_cannot_work_is_refused():
    for words, arguments in {
        "tell all sums": {"frequencies": ()},
        "tell all sums modulo 9": {"frequencies": (3,), "task": Task(9, 4, 10)},
        "even modulus": {"frequencies": (1, 2, 3), "task": Task(10, 4, 10)},
        "d_model of 71": {"d_model": 70},
        "d_mlp of 25": {"d_mlp": 24},
        "d_mlp of 515": {"phases": 103},
    }.items():
        with pytest.raises(ValueError, match=words):
            handmade.weights(**arguments)
