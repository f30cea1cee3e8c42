"""What a network of rows does: each measure against its words, row by row."""

import pytest
import torch

from assign_add_lib.companions.rules import analysis
from assign_add_lib.companions.rules.analysis import KINDS
from assign_add_lib.companions.rules.data import Rows, Split, all_pairs, draw_rows
from assign_add_lib.companions.rules.model import Network
from assign_add_lib.companions.rules.solvers import expected_ratio_matching, ratio_matching, regression
from assign_add_lib.companions.rules.training import SETS

EVERY = torch.ones(49, dtype=torch.bool)


def rng(seed):
    return torch.Generator().manual_seed(seed)


def some_rows(n=300, shots=6, seed=0, lines=2):
    return draw_rows(n, shots, 7, all_pairs(7), EVERY, rng(seed), lines)


def drawing(shots, tasks, generator, shown=EVERY):
    return lambda n: draw_rows(n, shots, 7, tasks, shown, generator)


def network(depth=2):
    torch.manual_seed(0)
    return Network(7, depth, 16, 2, std=0.4).requires_grad_(False)


@pytest.mark.parametrize("name", SETS)
def test_accuracy_by_shots_asks_the_set_it_names(name):
    split, seen = Split.draw(7, 40, "rectangles", 0.8, 0), []

    def answer(rows):
        seen.append(rows)
        return ratio_matching(rows)

    right = analysis.accuracy_by_shots(answer, split, name, 4, 200, rng(0))
    assert right.shape == (4,) and [rows.answers.shape for rows in seen] == [(200, k) for k in (1, 2, 3, 4)]
    places = torch.cat([rows.inputs[:, -1] @ torch.tensor([7, 1]) for rows in seen])
    assert split.shown[places].all() if "new" not in name else not split.shown[places].any()
    tasks = split.unseen if name.startswith("unseen") else split.seen
    for rows in seen:
        assert ((rows.inputs[:, :, None] * tasks).sum(3) % 7 == rows.answers[..., None]).all(1).any(1).all()


def test_accuracy_by_shots_of_ratio_matching_is_what_counting_gives():
    split = Split(7, all_pairs(7), EVERY)
    right = analysis.accuracy_by_shots(ratio_matching, split, "seen tasks", 5, 20_000, rng(1))
    assert right.tolist() == pytest.approx([expected_ratio_matching(7, k) for k in range(5)], abs=0.012)


def test_kinds_and_factors_are_what_their_names_say():
    rows = some_rows()
    rows.inputs[:40, 1] = 0
    rows = Rows.solve(7, all_pairs(7)[torch.randint(49, (300,), generator=rng(3))], rows.inputs)
    kinds, factors = analysis.kinds_of(rows), analysis.factor_of(rows)
    for row, inputs in enumerate(rows.inputs.tolist()):
        *examples, question = inputs
        for shot, example in enumerate(examples):
            multiples = [c for c in range(1, 7) if [c * example[0] % 7, c * example[1] % 7] == question]
            factor = multiples[0] if multiples and example != [0, 0] else 0
            kind = "the origin" if example == [0, 0] else ("another direction", "the same input", "a multiple")[
                0 if not factor else 1 if factor == 1 else 2]  # fmt: skip
            assert KINDS[kinds[row, shot]] == kind and factors[row, shot] == factor
    assert set(kinds.flatten().tolist()) == {0, 1, 2, 3}


def test_a_wrong_example_moves_ratio_matching_by_its_factor_and_leaves_others():
    """One line, two shots: the example decides.  Ten lines' worth of shots: a vote of several keeps its answer."""
    rows = some_rows(n=400, shots=2, lines=1)
    example, by = torch.zeros(400, dtype=torch.long), torch.randint(1, 7, (400,), generator=rng(4))
    found = analysis.following(ratio_matching, rows, example, by)
    assert found["before"].all() and found["moved"].all() and not found["kept"].any()
    rows = some_rows(n=2000, shots=9, lines=8)
    example, by = torch.randint(8, (2000,), generator=rng(5)), torch.randint(1, 7, (2000,), generator=rng(6))
    other = analysis.factor_of(rows)[torch.arange(2000), example] == 0
    found = analysis.following(ratio_matching, rows, example, by)
    assert torch.equal(found["kept"][other], found["before"][other]) and not found["moved"][other].any()
    assert 0.2 < found["moved"][~other].double().mean() < 0.8
    kept = analysis.following(regression, rows, example, by)["kept"][other & (example > 2)]
    assert kept.double().mean() > 0.7  # it takes the first two directions


def test_an_altered_answer_is_the_only_change():
    rows = some_rows(n=50)
    example, by = torch.randint(5, (50,), generator=rng(1)), torch.full((50,), 3)
    changed = analysis.altered(rows, example, by)
    different = rows.answers != changed.answers
    assert different.sum(1).tolist() == [1] * 50 and torch.equal(different.int().argmax(1), example)
    assert ((changed.answers - rows.answers)[different] % 7 == 3).all() and torch.equal(rows.inputs, changed.inputs)


def test_patterns_and_means_by_kind_are_those_of_a_loop():
    net, rows = network(), some_rows(n=30)
    weights, resid = analysis.patterns_at_questions(net, rows), net.embed(rows.tokens)
    for layer, of_layer in zip(net.layers, weights):
        q, k, _ = layer.queries_keys_values(resid)
        expected = (q[:, :, -2:-1] @ k[:, :, :-1].transpose(2, 3) / 8**0.5).softmax(3)[:, :, 0]
        torch.testing.assert_close(of_layer, expected)
        resid = layer(resid)
    found, kinds = analysis.read_by_kind(net, rows), analysis.kinds_of(rows)
    for place, kind in enumerate(KINDS[:3]):
        seen = [weights[:, row, :, 3 * shot + 2] for row, shot in (kinds == place).nonzero().tolist()]
        torch.testing.assert_close(found[kind, "z"], torch.stack(seen).mean(0))


def test_streams_at_questions_lead_to_the_logits():
    net, rows = network(), some_rows(n=10)
    streams = analysis.stream_at_questions(net, rows)
    assert len(streams) == 3 and all(each.shape == (10, 6, 16) for each in streams)
    torch.testing.assert_close(net.read_out(streams[-1]), net(rows.tokens))
    assert torch.equal(streams[0][:, 2], net.embed(rows.inputs[:, 2, 1]))


def test_matched_rows_have_one_match_where_it_is_wanted():
    split = Split.draw(7, 40, "rectangles", 0.8, 0)
    for example in (0, 3):
        rows = analysis.chosen_rows(100, drawing(5, split.unseen, rng(example), split.shown), analysis.matched_at(example))
        factors = analysis.factor_of(rows)
        assert len(rows.answers) == 100 and (factors[:, example] > 1).all()
        assert not factors[:, [place for place in range(4) if place != example]].any()
        assert split.shown[rows.inputs @ torch.tensor([7, 1])].all()


def test_unmatched_rows_are_answered_by_regression_alone():
    drawn = draw_rows(3000, 4, 7, all_pairs(7), EVERY, rng(0))
    ratio, solved = (solver(drawn)[:, -1].amax(1) for solver in (ratio_matching, regression))
    assert torch.equal(analysis.unmatched(drawn), (ratio < 0.5) & (solved > 0.5))
    rows = analysis.chosen_rows(50, drawing(4, all_pairs(7), rng(1)), analysis.unmatched)
    assert len(rows.answers) == 50 and analysis.unmatched(rows).all()


@pytest.mark.parametrize("lines", [2, 4])
def test_lines_of_examples_are_counted_without_the_origin(lines):
    drawn = draw_rows(2000, 6, 7, all_pairs(7), EVERY, rng(2))
    kept, alone = analysis.unmatched_on(lines)(drawn).tolist(), analysis.unmatched(drawn).tolist()
    for row, inputs in enumerate(drawn.inputs.tolist()):
        slopes = {"steep" if x == 0 else y * pow(x, -1, 7) % 7 for x, y in inputs[:-1] if (x, y) != (0, 0)}
        assert kept[row] == (alone[row] and len(slopes) == lines)
    assert sum(kept) > 20


def test_scores_order_right_before_wrong():
    scores = torch.randint(4, (60,), generator=torch.Generator().manual_seed(1))
    right = torch.arange(60) % 3 == 0
    pairs = [(one > other) + 0.5 * (one == other) for one in scores[right].tolist() for other in scores[~right].tolist()]
    assert analysis.ordered(scores, right) == pytest.approx(sum(pairs) / len(pairs))


def test_lines_of_examples_are_counted_without_the_origin_and_the_question():
    inputs = torch.tensor([[(1, 2), (2, 4), (0, 0), (0, 3), (1, 1)], [(0, 0), (0, 0), (0, 0), (0, 0), (1, 1)]])
    assert analysis.lines_known(Rows(7, inputs, torch.zeros(2, 5, dtype=torch.long))).tolist() == [2, 0]
