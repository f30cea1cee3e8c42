"""Tables, terms and the factored forward, against sums written out and the plain forward."""

import math
from itertools import product

import pytest
import torch
from small import SIZES, problems, random_weights
from torch.nn.functional import cross_entropy

from assign_add_lib import Problem, Task, Weights, forward, last_logits
from assign_add_lib import circuits as c
from assign_add_lib.circuits import mlp_input_sources
from assign_add_lib.model import trace


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
    rows, keys = torch.randn(3, weights.d_model, dtype=torch.float64), torch.randn(4, weights.d_model, dtype=torch.float64)
    torch.testing.assert_close(rows @ c.QK(weights, layer) @ keys.T, slow_scores(rows, keys, weights, layer))
    torch.testing.assert_close(rows @ c.OV(weights, layer), torch.stack([moved_by(row, weights, layer) for row in rows]))


def test_tables_are_scores_and_moves_row_by_row(case):
    task, weights = case
    every, places = [*weights.W_E, *weights.W_pos], list(weights.W_pos)[: task.length - 4]
    moved = [moved_by(row, weights, 1) for row in every]
    names = moved[task.n_numbers + 3 : task.d_vocab]
    assert len(names) == task.n_variables
    for table, truth in (
        (c.qk_table(weights), slow_scores(every, every, weights, 1)),
        (c.position_scores(weights), slow_scores(places, places, weights, 1)),
        (c.variable_identity(weights), slow_scores(names, names, weights, 2)),
    ):
        torch.testing.assert_close(table, truth)


def test_bare_addition(case):
    task, weights = case
    logits = c.bare_addition(weights)
    assert logits.shape == (task.n_numbers,) * 3
    for x, y in product(range(task.n_numbers), repeat=2):
        neurons = ((moved_by(weights.W_E[x], weights, 2) + moved_by(weights.W_E[y], weights, 2)) @ weights.W_in).clamp(min=0)
        torch.testing.assert_close(logits[x, y], neurons @ weights.W_out @ weights.W_U)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_factored_forward_and_its_gradients_are_the_plain_ones(sizes):
    """Logits at `=`, and the gradient of the loss in every weight, to 1e-10 in double precision."""
    batch, found = problems(sizes[0], 64), []
    for logits_of in (last_logits, lambda weights, tokens: forward(weights, tokens)[:, -1]):
        weights = random_weights(*sizes, scale=0.1 if sizes[1] == 128 else 0.4).trainable()
        logits = logits_of(weights, batch.tokens)
        cross_entropy(logits, batch.answers).backward()
        found.append({"logits": logits.detach()} | {name: each.grad for name, each in weights.tensors().items()})
    factored, plain = found
    for name, expected in plain.items():
        assert expected.abs().max() > 1e-4, f"{name}: nothing to compare"
        assert (factored[name] - expected).abs().max() < 1e-10, name


def test_factored_forward_in_single_precision_at_the_start_of_training():
    weights, tokens = Weights.init(seed=1), problems(Task(), 512).tokens
    torch.testing.assert_close(last_logits(weights, tokens), forward(weights, tokens)[:, -1], rtol=0, atol=1e-5)


def test_factored_forward_reads_any_tokens():
    """It holds for nonsense and for repeated tokens, where several keys fall on one row of the table."""
    weights = random_weights(*SIZES[1])
    tokens = torch.randint(SIZES[1][0].d_vocab, (50, 9), generator=torch.Generator().manual_seed(0))
    tokens[:10] = tokens[:10, :1]
    for each in (tokens, tokens[:, :5]):
        torch.testing.assert_close(last_logits(weights, each), forward(weights, each)[:, -1], rtol=0, atol=1e-10)


def test_sources_sum_to_the_mlp_input_and_name_the_numbers():
    weights = Weights.init(seed=3)
    problem = Problem.parse("c=1, b=17, a=42, b+19=?")
    tokens = problem.tokens(seed=0)[None]
    activations = trace(weights, tokens)
    parts = mlp_input_sources(weights, activations, tokens)
    assert torch.allclose(sum(parts.values()), activations.mlp_in[:, -1], atol=1e-5)
    place = tokens[0].tolist().index(17)
    read = activations.pattern[0, 1, -1]
    truth = (read[place] * weights.W_E[17] + read[14] * weights.W_E[19]) @ weights.W_V[1] @ weights.W_O[1]
    assert torch.allclose(parts["numbers to add"][0], truth, atol=1e-5)
    assert torch.allclose(parts["layer 1 at ="], activations.attn_out[:, 0, -1])


@pytest.fixture(params=SIZES, ids=str)
def traced(request):
    """A task, random weights for it, token ids and what the plain forward computes."""
    task, *sizes = request.param
    weights = random_weights(task, *sizes, scale=0.1 if sizes[0] == 128 else 0.4)
    tokens = problems(task, 20).tokens
    return task, weights, tokens, trace(weights, tokens)


def test_each_of_the_four_terms(traced):
    """And so their sum, which is the score."""
    task, weights, tokens, activations = traced
    streams = weights.W_E[tokens], weights.W_pos.expand(len(tokens), -1, -1)
    queries, keys = ([stream @ W[0] for stream in streams] for W in (weights.W_Q, weights.W_K))
    expected = torch.stack([query @ key.mT / math.sqrt(weights.W_Q.shape[2]) for query in queries for key in keys], 1)
    past, terms = torch.ones(task.length, task.length).tril().bool(), c.layer_1_terms(weights, tokens)
    torch.testing.assert_close(terms[..., past], expected[..., past], rtol=0, atol=1e-10)
    torch.testing.assert_close(terms.sum(1)[:, past], activations.scores[:, 0][:, past], rtol=0, atol=1e-10)


def test_each_of_the_nine_terms(traced):
    """And so their sum, which is the score."""
    task, weights, tokens, activations = traced
    terms = c.layer_2_terms(weights, tokens)
    torch.testing.assert_close(terms.sum((1, 2)), activations.scores[:, 1, task.last], rtol=0, atol=1e-10)
    for b in (0, 7, 19):
        A, names = activations.pattern[b, 0], moved_by(weights.W_E[tokens[b]], weights, 1)
        own = weights.W_E[tokens[b]] + weights.W_pos
        named = A[task.last, task.left : task.last] @ names[task.left : task.last]
        moved = A @ moved_by(own, weights, 1)
        before = torch.cat([torch.zeros_like(names[:1]), A.diagonal(-1)[:, None] * names[:-1]])
        queries = torch.stack([own[task.last], named, moved[task.last] - named])
        for k, keys in enumerate((own, before, moved - before)):
            torch.testing.assert_close(terms[b, :, k], slow_scores(queries, keys, weights, 2), rtol=0, atol=1e-10)
