"""Single paths against the plain forward and against slow sums."""

import pytest
import torch
from small import problems, random_weights

from assign_add_lib import Task, forward
from assign_add_lib.analysis import paths
from assign_add_lib.circuits import OV, QK
from assign_add_lib.model import trace

TASK = Task(7, 4, 12)
WEIGHTS = random_weights(TASK, 10, 6, 9, seed=3)
TOKENS, ANSWERS = problems(TASK, 40, seed=2)
SEEN = trace(WEIGHTS, TOKENS)
STREAM = SEEN.resid_pre + SEEN.attn_out[:, 0]


def test_an_unpatched_second_layer_is_the_networks_own():
    answers, row = paths.second_layer(WEIGHTS, TOKENS)
    assert torch.equal(answers, forward(WEIGHTS, TOKENS)[:, -1].argmax(1))
    torch.testing.assert_close(row, SEEN.pattern[:, 1, -1], atol=1e-5, rtol=1e-4)


def test_a_patched_path_changes_the_scores_and_not_what_is_moved():
    query, key = STREAM.flip(0)[:, -1], STREAM.flip(0)
    answers, row = paths.second_layer(WEIGHTS, TOKENS, query, key)
    for n in range(len(TOKENS)):
        scores = torch.stack([query[n] @ QK(WEIGHTS, 2) @ key[n, j] for j in range(TASK.length)])
        torch.testing.assert_close(row[n], scores.softmax(0), atol=1e-5, rtol=1e-4)
        held = STREAM[n, -1] + sum(row[n, j] * STREAM[n, j] for j in range(TASK.length)) @ OV(WEIGHTS, 2)
        logits = (held + (held @ WEIGHTS.W_in).relu() @ WEIGHTS.W_out) @ WEIGHTS.W_U
        assert answers[n] == logits.argmax()


def test_only_the_keys_of_number_operands_are_changed():
    torch.testing.assert_close(paths.operand_keys(WEIGHTS, TOKENS), STREAM)
    changes = {"place": "assigned"}, {"place": "none"}, {"strip": True}
    moved, bare, stripped = (paths.operand_keys(WEIGHTS, TOKENS, **each) for each in changes)
    head = torch.stack([WEIGHTS.W_pos[i] for i in range(1, TASK.room)]).mean(0)
    for n, row in enumerate(TOKENS.tolist()):
        for i, token in enumerate(row):
            operand = i in (TASK.left, TASK.right) and token < TASK.n_numbers
            as_moved = STREAM[n, i] - WEIGHTS.W_pos[i] + head if operand else STREAM[n, i]
            as_bare = STREAM[n, i] - WEIGHTS.W_pos[i] if operand else STREAM[n, i]
            as_stripped = SEEN.resid_pre[n, i] if operand else STREAM[n, i]
            torch.testing.assert_close(moved[n, i], as_moved, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(bare[n, i], as_bare, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(stripped[n, i], as_stripped, atol=1e-5, rtol=1e-4)


def test_an_unknown_place_is_refused():
    with pytest.raises(ValueError, match="place is one of its own, none, assigned, not 'mine'"):
        paths.operand_keys(WEIGHTS, TOKENS, place="mine")


def test_what_the_parts_add_sums_to_the_lead_of_the_answer():
    result = paths.lens_and_attribution(WEIGHTS, TOKENS, ANSWERS)
    logits, leads = forward(WEIGHTS, TOKENS)[:, -1], []
    for row, answer in zip(logits.tolist(), ANSWERS.tolist()):
        leads.append(row[answer] - max(value for number, value in enumerate(row) if number != answer))
    parts = ("embeddings", "layer 1", "layer 2", "MLP")
    assert sum(result[part, "added"] for part in parts) == pytest.approx(sum(leads) / len(leads), abs=1e-4)
    assert result["MLP", "lens"] == pytest.approx((logits.argmax(1) == ANSWERS).float().mean().item())
    before = (STREAM[:, -1] @ WEIGHTS.W_U).argmax(1)
    assert result["layer 1", "lens"] == pytest.approx((before == ANSWERS).float().mean().item())
