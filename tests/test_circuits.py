"""The tables against their definitions written as loops; the factored forward against the plain one."""

import math

import pytest
import torch
from small import SIZES, problems, random_weights
from torch.nn.functional import cross_entropy

from assign_add_lib import Task, Weights, forward, last_logits
from assign_add_lib import circuits as c


@pytest.fixture(params=SIZES[1:], ids=str)
def case(request):
    """A task and random weights for it."""
    return request.param[0], random_weights(*request.param)


def slow_scores(rows, keys, weights, layer):
    """Attention scores query by query and key by key: (row W_Q) . (key W_K) / sqrt(d_head)."""
    W_Q, W_K = weights.W_Q[layer - 1], weights.W_K[layer - 1]
    return torch.stack([torch.stack([(row @ W_Q).dot(key @ W_K) / math.sqrt(W_Q.shape[1]) for key in keys]) for row in rows])


def moved_by(row, weights, layer):
    """What attention of a layer adds where it attends to one residual stream."""
    return (row @ weights.W_V[layer - 1]) @ weights.W_O[layer - 1]


def test_embedding_table_is_tokens_above_positions(case):
    task, weights = case
    table = c.embedding_table(weights)
    assert len(table) == task.d_vocab + task.length
    assert torch.equal(table[task.pad], weights.W_E[task.pad])
    assert torch.equal(table[task.d_vocab + task.last], weights.W_pos[task.last])


@pytest.mark.parametrize("layer", [1, 2])
def test_qk_scores_and_ov_moves_like_the_heads(case, layer):
    _, weights = case
    rows = torch.randn(3, weights.d_model, dtype=torch.float64)
    keys = torch.randn(4, weights.d_model, dtype=torch.float64)
    torch.testing.assert_close(rows @ c.QK(weights, layer) @ keys.T, slow_scores(rows, keys, weights, layer))
    torch.testing.assert_close(rows @ c.OV(weights, layer), torch.stack([moved_by(row, weights, layer) for row in rows]))


def test_qk_table(case):
    _, weights = case
    every = [*weights.W_E, *weights.W_pos]
    torch.testing.assert_close(c.qk_table(weights), slow_scores(every, every, weights, 1))


def test_ov_table(case):
    _, weights = case
    every = [*weights.W_E, *weights.W_pos]
    torch.testing.assert_close(c.ov_table(weights), torch.stack([moved_by(row, weights, 1) for row in every]))


def test_position_scores(case):
    task, weights = case
    places = list(weights.W_pos)[: task.length - 4]
    torch.testing.assert_close(c.position_scores(weights, task), slow_scores(places, places, weights, 1))


def test_variable_identity(case):
    task, weights = case
    moved = [moved_by(row, weights, 1) for row in list(weights.W_E)[task.n_numbers + 3 :]]
    assert len(moved) == task.n_variables
    torch.testing.assert_close(c.variable_identity(weights, task), slow_scores(moved, moved, weights, 2))


def test_bare_addition(case):
    task, weights = case
    logits = c.bare_addition(weights, task)
    assert logits.shape == (task.n_numbers,) * 3
    for x in range(task.n_numbers):
        for y in range(task.n_numbers):
            both = moved_by(weights.W_E[x], weights, 2) + moved_by(weights.W_E[y], weights, 2)
            neurons = torch.clamp(both @ weights.W_in, min=0)
            torch.testing.assert_close(logits[x, y], neurons @ weights.W_out @ weights.W_U)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_factored_forward_and_its_gradients_are_the_plain_ones(sizes, seed):
    """Logits at `=`, and the gradient of the loss in every weight, to 1e-10 in double precision."""
    task = sizes[0]
    batch = problems(task, 64, seed)
    scale = 0.1 if sizes[1] == 128 else 0.4
    results = []
    for logits_of in (last_logits, lambda weights, tokens: forward(weights, tokens)[:, -1]):
        weights = random_weights(*sizes, seed, scale).trainable()
        logits = logits_of(weights, batch.tokens)
        cross_entropy(logits, batch.answers).backward()
        results.append({"logits": logits.detach()} | {name: each.grad for name, each in weights.tensors().items()})
    factored, plain = results
    for name, expected in plain.items():
        assert expected.abs().max() > 1e-4, f"{name}: nothing to compare"
        assert (factored[name] - expected).abs().max() < 1e-10, name


def test_gradients_of_the_factored_forward_are_slopes():
    """Autograd against finite differences, through every look-up."""
    task = Task(3, 2, 8)
    weights = random_weights(task, 4, 3, 5)
    tokens = problems(task, 3).tokens
    names = list(weights.tensors())

    def logits(*tensors):
        return last_logits(Weights(**dict(zip(names, tensors))), tokens)

    assert torch.autograd.gradcheck(logits, tuple(weights.trainable().tensors().values()))


def test_factored_forward_in_single_precision_at_the_start_of_training():
    weights, tokens = Weights.init(seed=1), problems(Task(), 512).tokens
    torch.testing.assert_close(last_logits(weights, tokens), forward(weights, tokens)[:, -1], rtol=0, atol=1e-5)


def test_factored_forward_reads_any_tokens():
    """It holds for nonsense and for repeated tokens, where several keys fall on one row of the table."""
    weights = random_weights(*SIZES[1])
    tokens = torch.randint(SIZES[1][0].d_vocab, (50, 9), generator=torch.Generator().manual_seed(0))
    tokens[:10] = tokens[:10, :1]
    torch.testing.assert_close(last_logits(weights, tokens), forward(weights, tokens)[:, -1], rtol=0, atol=1e-10)
    torch.testing.assert_close(last_logits(weights, tokens[:, :5]), forward(weights, tokens[:, :5])[:, -1], rtol=0, atol=1e-10)
