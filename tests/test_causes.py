"""Measures of causes: against the network computed by hand, and on one that is known to follow the algorithm."""

import math

import pytest
import torch

from assign_add_lib.analysis import interventions as iv
from assign_add_lib.claims import causes
from assign_add_lib.claims.subjects import Subject
from assign_add_lib.model import trace
from assign_add_lib.training import load_run


@pytest.fixture(scope="module")
def run():
    return Subject(load_run("seed-42"))


def by_hand(run, tokens, layer_1=None, layer_2=None):
    """Answers of a forward written out, with the scores changed by functions."""
    w = run.weights
    x, future = w.W_E[tokens] + w.W_pos, torch.ones(16, 16).triu(1).bool()
    for layer, change in enumerate((layer_1, layer_2)):
        scores = (x @ w.W_Q[layer]) @ (x @ w.W_K[layer]).mT / math.sqrt(128)
        if change:
            scores = change(scores.clone())
        kept = scores.masked_fill(future, -torch.inf).softmax(-1)
        if layer == 0:
            run.read = kept
        x = x + kept @ (x @ w.W_V[layer]) @ w.W_O[layer]
    last = x[:, -1]
    return ((last + (last @ w.W_in).relu() @ w.W_out) @ w.W_U).argmax(1)


@torch.no_grad()
def test_knock_outs_are_those_of_a_forward_written_out(run):
    tokens, right = causes.problems(run, "1-var train")
    table = run.weights.W_pos @ run.weights.W_Q[0] @ run.weights.W_K[0].T @ run.weights.W_pos.T / math.sqrt(128)

    def evenly(scores):
        return torch.where(run.task.assigned_numbers(tokens)[:, :, None], 0.0, scores)

    def unread(scores):
        scores[:, 15] = 0
        scores[:, 15, 13:15] = -torch.inf
        return scores

    def without_table(scores):
        scores[:, :12] -= table[:12]
        return scores

    acts = {causes.numbers_made_even: evenly, causes.operands_unread: unread, causes.no_position_table: without_table}
    whole = (by_hand(run, tokens) == right).double().mean().item()
    for act, change in acts.items():
        expected = (by_hand(run, tokens, layer_1=change) == right).double().mean().item()
        assert causes.accuracy("1-var train", act)(run) == pytest.approx(expected, abs=0.003)
        assert causes.lost("1-var train", act)(run) == pytest.approx(whole - expected, abs=0.005)


@torch.no_grad()
def test_without_the_block_or_with_its_columns_moved(run):
    w, (tokens, right) = run.weights, causes.problems(run, "1-var train")
    moved = w.W_E[62:] @ w.W_V[0] @ w.W_O[0]
    block = moved @ w.W_Q[1] @ w.W_K[1].T @ moved.T / math.sqrt(128)
    by_hand(run, tokens)
    variables = torch.stack([tokens == 62 + v for v in range(12)], 2).float()
    read = run.read @ variables  # (batch, pos, 12)

    def change_by(other):
        def change(scores):
            scores[:, 15] += torch.einsum("bv,vw,bkw->bk", read[:, 15], other, read)
            return scores

        return change

    expected = (by_hand(run, tokens, layer_2=change_by(-block)) == right).double().mean().item()
    assert causes.accuracy("1-var train", causes.block_removed)(run) == pytest.approx(expected, abs=0.003)
    given, hits = by_hand(run, tokens, layer_2=change_by(block.roll(1, 1) - block)), []
    for row, answer in zip(tokens.tolist(), given.tolist()):
        values = {row[k]: row[k + 1] for k in range(11) if row[k] >= 62}
        asked = [62 + (t - 62 + 1) % 12 if t >= 62 else t for t in row[13:15]]
        if all(t < 59 or t in values for t in asked):
            hits.append(answer == sum(values.get(t, t) for t in asked) % 59)
    assert causes.looks_up_next(run) == pytest.approx(sum(hits) / len(hits), abs=0.005)


@torch.no_grad()
def test_mean_mlp_is_blind_and_exchanged_names_are_followed(run):
    assert causes.accuracy("0-var train", causes.mean_mlp)(run) < 0.05
    assert causes.accuracy("1-var train", lambda run, tokens: iv.read_values(tokens, run.task))(run) == 1
    assert causes.names_exchanged(run) > 0.99
    site = "layer 2's attention pattern at ="
    assert causes.interchange(site)(run) == run.interchanges.loc[site, "places"]
    assert causes.undisturbed(run) == run.interchanges["nothing"].iloc[-3:].min()


@torch.no_grad()
@pytest.mark.parametrize("typed", [False, True])
def test_named_scores_key_by_key(run, typed):
    tokens, w = causes.problems(run, "1-var train")[0][:6], run.weights
    acts, moved = trace(w, tokens), w.W_E[62:] @ w.W_V[0] @ w.W_O[0]
    QK2 = w.W_Q[1] @ w.W_K[1].T / math.sqrt(128)
    block, own = moved @ QK2 @ moved.T, (w.W_E[60] + w.W_pos[15]) @ QK2 @ w.W_E.T
    for problem, (row, A) in enumerate(zip(tokens.tolist(), acts.pattern[:, 0])):
        asked = [(A[15, k], row[k] - 62) for k in (13, 14) if row[k] >= 62]
        expected = []
        for k, token in enumerate(row):
            reads = k in range(1, 12) and token < 59 and row[k - 1] >= 62 or typed and k == 14 and row[13] >= 62
            read = asked if k == 15 else [(A[k, k - 1], row[k - 1] - 62)] if reads else []
            expected.append(own[token] + sum(a * b * block[v, u] for a, v in asked for b, u in read))
        torch.testing.assert_close(causes._named(w, tokens, acts, typed)[problem], torch.stack(expected), atol=1e-4, rtol=1e-4)
    assert causes.accuracy("1-var train", causes.named_terms)(run) == pytest.approx(0.99, abs=0.006)
