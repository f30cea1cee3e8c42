"""The marked table says of each problem what a slow reader finds."""

import random

import pytest
import torch

from assign_add_lib import Problem, Split, Weights, forward
from assign_add_lib.errors import cleanly_read, mark
from assign_add_lib.sampling import Batch, evaluation_sets, exact_sets

SPLIT = Split.draw(seed=5)


@pytest.fixture(scope="module")
def batch():
    sets = evaluation_sets(SPLIT, size=60).values()
    return Batch(*(torch.cat(column) for column in zip(*sets)))


@pytest.fixture(scope="module")
def table(batch):
    return mark(Weights.init(seed=3), batch, SPLIT, chunk=77)


def test_each_row_describes_its_problem(batch, table):
    assert len(table) == len(batch.tokens)
    for tokens, row in zip(batch.tokens, table.itertuples()):
        problem = Problem.from_tokens(tokens)
        sides = [side if isinstance(side, str) else "number" for side in (problem.left, problem.right)]
        assert [row.left, row.right] == sides
        assert (row.x, row.y) == problem.values
        assert row.assignments == len(problem.assignments)
        assert row.held_out == (not SPLIT.train_pairs[row.x, row.y])
        assert row.twin == bool(SPLIT.train_pairs[row.y, row.x])
        assert row.out_of_place == (problem.left in ("k", "l")) + (problem.right in ("a", "b"))
        assert row.answer == problem.answer


def test_what_the_network_says_is_its_likeliest_answer(batch, table):
    likely = forward(Weights.init(seed=3), batch.tokens)[:, -1].softmax(1).max(1)
    assert table["said"].tolist() == likely.indices.tolist()
    assert torch.allclose(torch.tensor(table["confidence"].to_numpy()), likely.values.double(), atol=1e-6)
    assert (table["wrong"] == (table["said"] != table["answer"])).all()
    assert table["wrong"].any()


def test_every_exact_problem_is_new():
    batch = exact_sets(SPLIT)["2-var held-out"]
    chosen = torch.tensor(random.Random(0).sample(range(len(batch.tokens)), 3000))
    table = mark(Weights.init(), Batch(batch.tokens[chosen], batch.answers[chosen]), SPLIT)
    assert (table["held_out"] | (table["out_of_place"] > 0)).all()
    assert set(table["out_of_place"]) == {0, 1, 2}


def test_clean_reading_is_the_networks_own_where_nothing_is_to_be_mended():
    """With equal attention everywhere and no distractor, the two numbers are read equally already."""
    weights = Weights.init(seed=3)
    weights = weights.replace(W_Q=torch.stack([weights.W_Q[0], 0 * weights.W_Q[1]]))  # layer 2 reads all positions equally
    problems = [f"a={x}, b={y}, a+b=?" for x, y in ((1, 2), (40, 33), (7, 58))] + ["3+4=?", "c=5, 3+c=?", "c=5, c+5=?"]
    tokens = torch.stack([Problem.parse(each).tokens(seed=1) for each in problems])
    assert torch.equal(cleanly_read(weights, tokens), forward(weights, tokens)[:, -1].argmax(1))


def test_clean_reading_forgets_what_the_distractors_were_worth():
    weights = Weights.init(seed=3)
    weights = weights.replace(W_Q=0 * weights.W_Q, W_V=torch.stack([0 * weights.W_V[0], 9 * weights.W_V[1]]))
    tokens = torch.stack([Problem.parse(f"a=7, c={c}, b=12, a+b=?").tokens() for c in range(59)])
    assert len(set(forward(weights, tokens)[:, -1].argmax(1).tolist())) > 1
    assert len(set(cleanly_read(weights, tokens).tolist())) == 1
