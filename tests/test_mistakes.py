"""The marked table says of each problem what a slow reader finds."""

import pandas as pd
import pytest
import torch

from assign_add_lib import Problem, Split, Task, Weights, forward
from assign_add_lib.analysis.mistakes import mark
from assign_add_lib.model import trace
from assign_add_lib.sampling import Batch, evaluation_sets

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


def test_what_is_read_of_the_numbers_is_as_the_plain_forward_has_it(batch, table):
    attention = trace(Weights.init(seed=3), batch.tokens).pattern[:, 1, -1].double()
    for tokens, row, read in zip(batch.tokens.tolist(), attention.tolist(), table.itertuples()):
        left, right = (13 + side if tokens[13 + side] < 59 else tokens.index(tokens[13 + side]) + 1 for side in (0, 1))
        wanted = [row[left], row[right]]
        others = sum(row[i] for i in range(12) if tokens[i] < 59 and i not in (left, right))
        assert read.larger_share == pytest.approx(max(wanted) / sum(wanted), abs=1e-5)
        assert read.distractors == pytest.approx(others / (others + sum(wanted)), abs=1e-5)


def test_all_is_made_where_the_problems_are(batch, table):
    """What is made without naming a device lands elsewhere here, and cannot meet the problems."""
    weights = Weights.init(seed=3)
    with torch.device("meta"):
        pd.testing.assert_frame_equal(mark(weights, batch, SPLIT, chunk=77), table)


def test_network_problems_and_split_must_be_of_one_task(batch):
    with pytest.raises(ValueError, match="the network is of"):
        mark(Weights.init(Task(59, 12, 18)), batch, SPLIT)
    with pytest.raises(ValueError, match="must hold"):
        mark(Weights.init(), Batch(batch.tokens.flip(1), batch.answers), SPLIT)
