"""Tables, terms and the factored forward, against sums written out and the plain forward."""

import math

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
    torch.testing.assert_close(c.position_scores(weights), slow_scores(places, places, weights, 1))


def test_variable_identity(case):
    task, weights = case
    moved = [moved_by(row, weights, 1) for row in list(weights.W_E)[task.n_numbers + 3 :]]
    assert len(moved) == task.n_variables
    torch.testing.assert_close(c.variable_identity(weights), slow_scores(moved, moved, weights, 2))


def test_bare_addition(case):
    task, weights = case
    logits = c.bare_addition(weights)
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


def score(query, key, weights, layer):
    """One score, of two residual streams."""
    W_Q, W_K = weights.W_Q[layer - 1], weights.W_K[layer - 1]
    return (query @ W_Q).dot(key @ W_K) / math.sqrt(W_Q.shape[1])


def moved_by_layer_1(row, weights):
    """What layer 1 adds where it attends to one vector."""
    return (row @ weights.W_V[0]) @ weights.W_O[0]


def test_four_terms_sum_to_the_scores_of_layer_1(traced):
    task, weights, tokens, activations = traced
    terms = c.layer_1_terms(weights, tokens)
    assert terms.shape == (len(tokens), len(c.LAYER_1_TERMS), task.length, task.length)
    past = torch.ones(task.length, task.length).tril().bool()
    torch.testing.assert_close(terms.sum(1)[:, past], activations.scores[:, 0][:, past], rtol=0, atol=1e-10)


def test_each_of_the_four_terms(traced):
    task, weights, tokens, _ = traced
    terms = c.layer_1_terms(weights, tokens)
    for b, i, j in ((0, task.last, task.left), (1, 3, 2), (2, 5, 0)):
        queries = weights.W_E[tokens[b, i]], weights.W_pos[i]
        keys = weights.W_E[tokens[b, j]], weights.W_pos[j]
        expected = torch.stack([score(query, key, weights, 1) for query in queries for key in keys])
        torch.testing.assert_close(terms[b, :, i, j], expected)


def test_nine_terms_sum_to_the_scores_of_layer_2(traced):
    task, weights, tokens, activations = traced
    terms = c.layer_2_terms(weights, tokens)
    assert terms.shape == (len(tokens), len(c.QUERY_SOURCES), len(c.KEY_SOURCES), task.length)
    torch.testing.assert_close(terms.sum((1, 2)), activations.scores[:, 1, task.last], rtol=0, atol=1e-10)


def test_each_of_the_nine_terms(traced):
    task, weights, tokens, activations = traced
    terms = c.layer_2_terms(weights, tokens)
    for b in (0, 7, 19):
        A = activations.pattern[b, 0]
        own = weights.W_E[tokens[b]] + weights.W_pos
        named = sum(A[task.last, j] * moved_by_layer_1(weights.W_E[tokens[b, j]], weights) for j in (task.left, task.right))
        rest = sum(A[task.last, j] * moved_by_layer_1(own[j], weights) for j in range(task.length)) - named
        for j in range(task.length):
            before = A[j, j - 1] * moved_by_layer_1(weights.W_E[tokens[b, j - 1]], weights) if j else torch.zeros_like(named)
            other = sum(A[j, i] * moved_by_layer_1(own[i], weights) for i in range(j + 1)) - before
            for q, query in enumerate((own[task.last], named, rest)):
                for k, key in enumerate((own[j], before, other)):
                    torch.testing.assert_close(terms[b, q, k, j], score(query, key, weights, 2), rtol=0, atol=1e-10)


def test_name_by_name_is_made_of_the_identity_block():
    """For 2-variable problems the term is a sum of two entries of the block, weighted by two attentions of layer 1."""
    task, *sizes = SIZES[0]
    weights = random_weights(task, *sizes, scale=0.1)
    block = c.variable_identity(weights)
    tokens = problems(task, 200).tokens
    tokens = tokens[(tokens[:, task.left : task.last] >= task.first_variable).all(1)]
    assert len(tokens) > 20
    terms, A = c.layer_2_terms(weights, tokens)[:, 1, 1], trace(weights, tokens).pattern[:, 0]
    for b, sequence in enumerate(tokens):
        for j in range(1, task.room):
            if sequence[j - 1] >= task.first_variable:
                before = sequence[j - 1] - task.first_variable
                entries = sum(A[b, task.last, o] * block[sequence[o] - task.first_variable, before] for o in (13, 14))
                torch.testing.assert_close(terms[b, j], A[b, j, j - 1] * entries)
