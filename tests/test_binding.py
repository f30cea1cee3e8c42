"""The terms of the scores of both layers: they sum to the scores of the plain forward, and each is what its name says."""

import math

import pytest
import torch
from small import SIZES, problems, random_weights

from assign_add_lib import circuits as c
from assign_add_lib.model import run


@pytest.fixture(params=SIZES, ids=str)
def case(request):
    """A task, random weights for it, token ids and what the plain forward computes."""
    task, *sizes = request.param
    weights = random_weights(task, *sizes, scale=0.1 if sizes[0] == 128 else 0.4)
    tokens = problems(task, 20).tokens
    return task, weights, tokens, run(weights, tokens)


def score(query, key, weights, layer):
    """One score, of two residual streams."""
    W_Q, W_K = weights.W_Q[layer - 1], weights.W_K[layer - 1]
    return (query @ W_Q).dot(key @ W_K) / math.sqrt(W_Q.shape[1])


def moved(row, weights):
    """What layer 1 adds where it attends to one vector."""
    return (row @ weights.W_V[0]) @ weights.W_O[0]


def test_four_terms_sum_to_the_scores_of_layer_1(case):
    task, weights, tokens, activations = case
    terms = c.layer_1_terms(weights, tokens)
    assert terms.shape == (len(tokens), len(c.LAYER_1_TERMS), task.length, task.length)
    past = torch.ones(task.length, task.length).tril().bool()
    torch.testing.assert_close(terms.sum(1)[:, past], activations.scores[:, 0][:, past], rtol=0, atol=1e-10)


def test_each_of_the_four_terms(case):
    task, weights, tokens, _ = case
    terms = c.layer_1_terms(weights, tokens)
    for b, i, j in ((0, task.last, task.left), (1, 3, 2), (2, 5, 0)):
        queries = weights.W_E[tokens[b, i]], weights.W_pos[i]
        keys = weights.W_E[tokens[b, j]], weights.W_pos[j]
        expected = torch.stack([score(query, key, weights, 1) for query in queries for key in keys])
        torch.testing.assert_close(terms[b, :, i, j], expected)


def test_nine_terms_sum_to_the_scores_of_layer_2(case):
    task, weights, tokens, activations = case
    terms = c.layer_2_terms(weights, tokens, task)
    assert terms.shape == (len(tokens), len(c.QUERY_SOURCES), len(c.KEY_SOURCES), task.length)
    torch.testing.assert_close(terms.sum((1, 2)), activations.scores[:, 1, task.last], rtol=0, atol=1e-10)


def test_each_of_the_nine_terms(case):
    task, weights, tokens, activations = case
    terms = c.layer_2_terms(weights, tokens, task)
    for b in (0, 7, 19):
        A = activations.pattern[b, 0]
        own = weights.W_E[tokens[b]] + weights.W_pos
        named = sum(A[task.last, j] * moved(weights.W_E[tokens[b, j]], weights) for j in (task.left, task.right))
        rest = sum(A[task.last, j] * moved(own[j], weights) for j in range(task.length)) - named
        for j in range(task.length):
            before = A[j, j - 1] * moved(weights.W_E[tokens[b, j - 1]], weights) if j else torch.zeros_like(named)
            other = sum(A[j, i] * moved(own[i], weights) for i in range(j + 1)) - before
            for q, query in enumerate((own[task.last], named, rest)):
                for k, key in enumerate((own[j], before, other)):
                    torch.testing.assert_close(terms[b, q, k, j], score(query, key, weights, 2), rtol=0, atol=1e-10)


def test_name_by_name_is_made_of_the_identity_block():
    """For 2-variable problems the term is a sum of two entries of the block, weighted by two attentions of layer 1."""
    task, *sizes = SIZES[0]
    weights = random_weights(task, *sizes, scale=0.1)
    block = c.variable_identity(weights, task)
    tokens = problems(task, 200).tokens
    tokens = tokens[(tokens[:, task.left : task.last] >= task.first_variable).all(1)]
    assert len(tokens) > 20
    terms, A = c.layer_2_terms(weights, tokens, task)[:, 1, 1], run(weights, tokens).pattern[:, 0]
    for b, sequence in enumerate(tokens):
        for j in range(1, task.room):
            if sequence[j - 1] >= task.first_variable:
                before = sequence[j - 1] - task.first_variable
                entries = sum(A[b, task.last, o] * block[sequence[o] - task.first_variable, before] for o in (13, 14))
                torch.testing.assert_close(terms[b, j], A[b, j, j - 1] * entries)
