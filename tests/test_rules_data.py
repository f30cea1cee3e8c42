"""Rules from examples: tasks, inputs and rows, against the rules as they are said."""

from collections import Counter

import pytest
import torch
from scipy.stats import chisquare
from worlds import rng

from assign_add_lib.companions.rules import data
from assign_add_lib.companions.rules.solvers import ratio_matching, regression

EVERY = torch.ones(49, dtype=torch.bool)


@pytest.mark.parametrize("p", [5, 7, 11])
def test_pairs_inverses_and_lines_are_those_of_the_field(p):
    pairs = data.all_pairs(p)
    assert data.index_of(pairs, p).tolist() == list(range(p * p)) and len(pairs) == p * p
    assert [number * inverse % p for number, inverse in enumerate(data.inverses(p).tolist())] == [0] + [1] * (p - 1)
    line = dict(zip(map(tuple, pairs.tolist()), data.line_of(pairs, p).tolist()))
    assert line[0, 0] == -1 and Counter(line.values()) == {-1: 1} | dict.fromkeys(range(p + 1), p - 1)
    for (x, y), name in line.items():  # a line holds the multiples of each of its points
        if (x, y) != (0, 0):
            assert {line[c * x % p, c * y % p] for c in range(1, p)} == {name}


@pytest.mark.parametrize("p, n", [(5, 8), (7, 4), (7, 8), (7, 24), (7, 48), (11, 96), (11, 120)])
def test_rectangles_let_each_task_share_both_its_numbers(p, n):
    for seed in range(5):
        tasks = data.choose_tasks(p, n, "rectangles", rng(seed))
        chosen = set(map(tuple, tasks.tolist()))
        assert len(chosen) == n and tasks.tolist() == sorted(tasks.tolist())
        for a, b in chosen:  # a corner of a rectangle of chosen tasks
            across, along = [y for x, y in chosen if x == a and y != b], [x for x, y in chosen if y == b and x != a]
            assert any((x, y) in chosen for x in along for y in across)


def test_tasks_at_random_are_all_equally_likely():
    drawn = [tuple(task) for seed in range(2000) for task in data.choose_tasks(5, 5, "random", rng(seed)).tolist()]
    assert len(set(drawn[:5])) == 5
    assert chisquare(list(Counter(drawn).values())).pvalue > 1e-3 and len(Counter(drawn)) == 25


@pytest.mark.parametrize("n, way", [(3, "random"), (50, "random"), (10, "rectangles"), (52, "rectangles")])
def test_a_wrong_number_of_tasks_is_refused(n, way):
    with pytest.raises(ValueError, match=f"from 4 to 49 tasks, of rectangles a multiple of 4, not {n}"):
        data.choose_tasks(7, n, way, rng(0))


def test_a_split_parts_tasks_and_inputs():
    split = data.Split.draw(7, 40, "rectangles", 0.8, 3)
    assert len(split.seen) == 40 and int(split.shown.sum()) == round(0.8 * 49)
    together = [*map(tuple, split.seen.tolist()), *map(tuple, split.unseen.tolist())]
    assert sorted(together) == [tuple(pair) for pair in data.all_pairs(7).tolist()]
    again, other = data.Split.draw(7, 40, "rectangles", 0.8, 3), data.Split.draw(7, 40, "rectangles", 0.8, 4)
    assert torch.equal(split.shown, again.shown) and not torch.equal(split.shown, other.shown)


def test_rows_are_solved_and_written_as_triples():
    tasks, inputs = torch.tensor([[2, 3], [4, 0]]), torch.tensor([[[1, 1], [6, 5]], [[3, 2], [0, 4]]])
    rows = data.Rows.solve(7, tasks, inputs)
    assert rows.answers.tolist() == [[5, (12 + 15) % 7], [12 % 7, 0]]
    assert rows.tokens.tolist() == [[1, 1, 5, 6, 5, 6], [3, 2, 5, 0, 4, 0]]


@pytest.mark.parametrize("lines", [1, 2, 5, 8])
def test_inputs_lie_on_as_many_lines_as_asked(lines):
    split = data.Split.draw(7, 40, "rectangles", 0.8, 0)
    inputs = data.draw_inputs(4000, 20, 7, split.shown, rng(lines), lines)
    found = data.line_of(inputs, 7)
    counts = torch.tensor([len(set(row)) for row in found.tolist()])
    assert found.min() >= 0 and counts.max() == lines and split.shown[data.index_of(inputs, 7)].all()
    if lines < 3:
        assert counts.double().mean() > lines - 0.01


def test_more_lines_than_there_are_are_refused():
    allowed = torch.zeros(49, dtype=torch.bool)
    allowed[[0, 1, 2, 8]] = True  # (0, 0), (0, 1), (0, 2) and (1, 1)
    assert set(data.line_of(data.draw_inputs(50, 9, 7, allowed, rng(0), 2), 7).flatten().tolist()) == {1, 7}
    with pytest.raises(ValueError, match="the inputs lie on 2 lines through the origin, not on 3"):
        data.draw_inputs(50, 9, 7, allowed, rng(0), 3)


def test_a_batch_holds_each_task_equally_often():
    tasks = data.choose_tasks(7, 40, "rectangles", rng(0))
    counts = data.index_of(data.draw_tasks(100, tasks, rng(1)), 7).bincount(minlength=49)
    assert set(counts.tolist()) == {0, 2, 3} and int((counts > 0).sum()) == 40
    rows = data.draw_rows(100, 9, 7, tasks, EVERY, rng(1), 2)
    assert rows.inputs.shape == (100, 9, 2) and rows.answers.shape == (100, 9)


@pytest.mark.parametrize("name", data.SETS)
def test_the_four_sets_are_what_their_names_say(name):
    split = data.Split.draw(7, 40, "rectangles", 0.8, 0)
    rows = data.draw_set(name, split, 300, 6, rng(0))
    shown = split.shown[data.index_of(rows.inputs, 7)]
    assert shown[:, :-1].all() and (not shown[:, -1].any() if name.endswith("new inputs") else shown[:, -1].all())
    tasks = split.unseen if name.startswith("unseen") else split.seen
    fits = ((rows.inputs[:, :, None] * tasks).sum(3) % 7 == rows.answers[..., None]).all(1)
    assert fits.any(1).all()


def test_kinds_and_factors_are_what_their_names_say():
    inputs = data.draw_inputs(300, 6, 7, EVERY, rng(0), lines=2)
    inputs[:40, 1] = 0
    rows = data.Rows.solve(7, data.draw_tasks(300, data.all_pairs(7), rng(3)), inputs)
    kinds, factors = data.kinds_of(rows), data.factors_of_last(rows)
    for row, (*examples, question) in enumerate(inputs.tolist()):
        for shot, example in enumerate(examples):
            multiples = [c for c in range(1, 7) if [c * example[0] % 7, c * example[1] % 7] == question]
            factor = multiples[0] if multiples and example != [0, 0] else 0
            kind = "the origin" if example == [0, 0] else "the same input" if factor == 1 else "a multiple"
            assert data.KINDS[kinds[row, shot]] == (kind if factor or example == [0, 0] else "another direction")
            assert factors[row, shot] == factor
    assert set(kinds.flatten().tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("example", [0, 3])
def test_matched_rows_have_one_match_where_it_is_wanted(example):
    generator = rng(example)
    draw = lambda n: data.draw_rows(n, 5, 7, data.all_pairs(7), EVERY, generator)  # noqa: E731
    rows = data.draw_where(lambda rows: data.matched(rows, example), 100, draw)
    factors = data.factors_of_last(rows)
    assert len(rows.answers) == 100 and (factors[:, example] > 1).all()
    assert not factors[:, [place for place in range(4) if place != example]].any()


def test_unmatched_rows_are_answered_by_regression_alone():
    rows = data.draw_rows(3000, 6, 7, data.all_pairs(7), EVERY, rng(0))
    ratio, solved = (solver(rows)[:, -1].amax(1) for solver in (ratio_matching, regression))
    alone = data.unmatched(rows)
    assert torch.equal(alone, (ratio < 0.5) & (solved > 0.5))
    for lines in (2, 4):
        kept = data.unmatched(rows, lines).tolist()
        for row, inputs in enumerate(rows.inputs.tolist()):
            slopes = {"steep" if x == 0 else y * pow(x, -1, 7) % 7 for x, y in inputs[:-1] if (x, y) != (0, 0)}
            assert kept[row] == (alone[row] and len(slopes) == lines)
        assert sum(kept) > 20


def test_a_wrong_answer_is_the_only_change():
    rows = data.draw_rows(50, 6, 7, data.all_pairs(7), EVERY, rng(0))
    example, by = torch.randint(5, (50,), generator=rng(1)), torch.full((50,), 3)
    by_how_much = (data.with_wrong_answers(rows, example, by).answers - rows.answers) % 7
    assert by_how_much.sum(1).tolist() == [3] * 50 and torch.equal(by_how_much.argmax(1), example)
