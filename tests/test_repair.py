"""Repairs: each changes scores as it says, and nothing where there is nothing to change."""

from itertools import product

import pytest
import torch
from small import random_weights

from assign_add_lib import Task, last_logits, load_run
from assign_add_lib.circuits import QK, qk_table, variable_identity
from assign_add_lib.handmade import weights as by_hand
from assign_add_lib.model import trace
from assign_add_lib.proof import repair
from assign_add_lib.sampling import Population, evaluation_sets, forms, lay_out
from assign_add_lib.task import Split

WIDE = random_weights(Task(5, 4, 10), 32, 32, 8)
N, V = 5, 4


def table(weights):
    return repair.queries(weights) @ QK(weights, 2) @ repair.keys(weights).T


@torch.no_grad()
def test_sharper_scores_are_those_of_layer_2_times_the_factor(finished):
    weights = load_run(finished).weights()
    tokens = evaluation_sets(load_run(finished).split, size=9)["2-var train"].tokens
    plain, sharp = trace(weights, tokens).scores, trace(repair.sharpened(weights, (1, 1.5)), tokens).scores
    torch.testing.assert_close(sharp[:, 0], plain[:, 0])
    torch.testing.assert_close(sharp[:, 1, -1], 1.5 * plain[:, 1, -1])


@torch.no_grad()
@pytest.mark.parametrize("name", [each for each in repair.REPAIRS if "alike" in each and "copies" not in each])
def test_what_is_made_alike_is_alike_and_the_rest_as_it_was(name, monkeypatch):
    """Where queries and keys are long in all their directions, in as many dimensions as that takes."""
    before = table(WIDE)
    pinv = torch.linalg.pinv
    monkeypatch.setattr(torch.linalg, "pinv", lambda matrix, rtol: pinv(matrix, rtol=1e-12))
    after = table(repair.REPAIRS[name](WIDE))
    asking = slice(1, 1 + V)
    names, rest = torch.ones(1 + V + N, dtype=torch.bool), before.clone()
    names[asking] = False
    if "numbers" in name:
        rest[:, :N] = before[:, :N].mean(1, keepdim=True)
    if "names" in name:
        rest[names, N : N + V] = before[names, N : N + V].mean(1, keepdim=True)
    if "matches" in name:
        same, block = torch.eye(V, dtype=torch.bool), before[asking, N : N + V]
        rest[asking, N : N + V] = torch.where(same, block[same].mean(), block[~same].mean())
    torch.testing.assert_close(after, rest)


def leans(weights, seed=repair.SEED):
    """The mean score of the left number less that of the right one, of plain sums and with a variable left and right."""
    task, found = weights.task, []
    for sides in ((None, None), (range(V), None), (None, range(V))):
        law = Population(task, forms(task, *sides), torch.ones(N, N))
        questions = law.questions(repair.SIZE, torch.Generator().manual_seed(seed))
        tokens = lay_out(task, *questions, torch.Generator().manual_seed(seed)).tokens
        scores = trace(weights, tokens).scores[:, 1, -1].gather(1, task.value_positions(tokens))
        found.append((scores[:, 0] - scores[:, 1]).mean())
    return torch.stack(found)


@torch.no_grad()
def test_balanced_numbers_are_read_alike_as_far_as_two_constants_do_it():
    """By scores instead of attention: no other constants do better, and on other problems they do as well."""
    before, after = leans(WIDE), leans(balanced := repair.balanced(WIDE))
    torch.testing.assert_close(repair.log_ratios(WIDE), before)
    assert after.norm() < 0.7 * before.norm() and leans(balanced, 1).norm() < 0.7 * leans(WIDE, 1).norm()
    for place, by in product((WIDE.task.left, WIDE.task.right), (-0.1, 0.1)):
        change = torch.zeros_like(table(WIDE))
        change[0, N + V + place] = by
        assert leans(repair.with_scores(balanced, change)).norm() > after.norm()


@torch.no_grad()
def test_balance_moves_two_scores_alone(monkeypatch):
    pinv = torch.linalg.pinv
    monkeypatch.setattr(torch.linalg, "pinv", lambda matrix, rtol: pinv(matrix, rtol=1e-12))
    changed = table(repair.balanced(WIDE)) - table(WIDE)
    places = [N + V + WIDE.task.left, N + V + WIDE.task.right]
    assert (changed[0, places].abs() > 0.1).all()
    changed[0, places] = 0
    torch.testing.assert_close(changed, torch.zeros_like(changed))


@torch.no_grad()
def test_copies_score_as_other_numbers_do_by_the_least_change():
    after = repair.copies_alike(WIDE)
    scores = qk_table(after)[:N, :N]
    for n in range(N):
        assert scores[n, n].item() == pytest.approx(sum(scores[n, m].item() for m in range(N) if m != n) / (N - 1))
    wanted = torch.stack([torch.outer(x, x - WIDE.W_E[[m for m in range(N) if m != n]].mean(0)).flatten()
                          for n, x in enumerate(WIDE.W_E[:N])])  # fmt: skip
    least = torch.linalg.pinv(wanted) @ -(wanted @ QK(WIDE, 1).flatten())
    torch.testing.assert_close(QK(after, 1) - QK(WIDE, 1), least.view(WIDE.d_model, -1))
    torch.testing.assert_close(QK(after, 2), QK(WIDE, 2))


@torch.no_grad()
@pytest.mark.parametrize("name", repair.REPAIRS)
def test_the_network_written_by_hand_has_nothing_to_repair(name):
    task = Task(7, 4, 10)
    weights = by_hand((1, 2), task, d_model=64, d_mlp=32)
    tokens = torch.cat([each.tokens for each in evaluation_sets(Split.draw(task), size=20).values()])
    changed = repair.REPAIRS[name](weights)
    torch.testing.assert_close(last_logits(changed, tokens), last_logits(weights, tokens), atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(variable_identity(changed), variable_identity(weights), atol=1e-3, rtol=1e-4)


def test_a_narrow_head_is_refused():
    with pytest.raises(ValueError, match="heads as wide as the stream, 12, not 5"):
        repair.numbers_alike(random_weights(Task(7, 3, 9), 12, 5, 20))
