"""Repairs: each changes layer 2's scores as it says, and nothing where there is nothing to change."""

import pytest
import torch
from small import random_weights

from assign_add_lib import Task, last_logits, load_run
from assign_add_lib.circuits import QK, variable_identity
from assign_add_lib.handmade import weights as by_hand
from assign_add_lib.model import trace
from assign_add_lib.proof import repair
from assign_add_lib.sampling import evaluation_sets
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
@pytest.mark.parametrize("name", repair.REPAIRS)
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
