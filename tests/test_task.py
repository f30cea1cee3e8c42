"""The task: what reads as a problem, how it is written as tokens, and what training may see."""

import json
import random
from pathlib import Path

import pytest
import torch
from small import TASK, problems

from assign_add_lib import Problem, Split, Task
from assign_add_lib.sampling import evaluation_sets, training_population
from assign_add_lib.task import KINDS

SIZES = [Task(), Task(3, 2, 8), Task(5, 3, 9), Task(7, 30, 21), Task(113, 26, 12)]
# What a person writes, how the book writes it, and the answer; or the line that refuses it.  The page's scripts read them too.
CASES = json.loads((Path(__file__).parent / "problems.json").read_text("utf-8"))
LONG = ["a" * 10_000, "1" * 10_000 + "+2", "a=1, " * 2000 + "a+1"]


@pytest.mark.parametrize("written, shown, answer", CASES["accepted"])
def test_parse_reads_what_people_write(written, shown, answer):
    problem = Problem.parse(written)
    assert str(problem) == shown
    assert problem.answer == answer


@pytest.mark.parametrize(
    "written, said", [*CASES["refused"], *((written, None) for written in LONG)], ids=lambda text: ascii(text or "")[:30]
)
def test_parse_refuses_in_one_short_line(written, said):
    with pytest.raises(ValueError) as refusal:
        Problem.parse(written)
    message = str(refusal.value)
    assert "\n" not in message and message.isascii() and len(message) < 200
    assert said in (message, None)


@pytest.mark.parametrize(
    "assignments, left, right, said",
    [
        ((("z", 1),), 1, 2, "'z' is not a variable"),
        ((("a", 59),), 1, 2, "a=59: numbers go from 0 to 58"),
        ((("a", -1),), 1, 2, "a=-1: numbers go from 0 to 58"),
        ((), 1, 59, "the right operand 59 is out of range"),
        ((), -1, 2, "the left operand -1 is out of range"),
        ((("a", 1),), "b", 2, "the left operand b is never assigned"),
    ],
)
def test_a_problem_made_from_parts_is_checked_too(assignments, left, right, said):
    with pytest.raises(ValueError, match=said):
        Problem(assignments, left, right)


def test_kind_and_values_follow_the_operands():
    cases = {
        "3+4": ("0-var", (3, 4)),
        "b=5, b+4": ("1-var left", (5, 4)),
        "b=5, 3+b": ("1-var right", (3, 5)),
        "b=5, c=6, c+b": ("2-var", (6, 5)),
    }
    assert {text: (Problem.parse(text).kind, Problem.parse(text).values) for text in cases} == cases


def test_token_ids_of_the_study():
    names = [*(str(number) for number in range(59)), "+", "=", "PAD", *"abcdefghijkl"]
    task = Task()
    assert task.token_names == tuple(names) and task.d_vocab == 74
    ids = (task.plus, task.equal, task.pad, task.token("a"), task.token("l"), task.token(7))
    assert [names[token] for token in ids] == ["+", "=", "PAD", "a", "l", "7"]
    assert (task.room, task.left, task.right, task.last, task.slots) == (12, 13, 14, 15, 6)


def test_the_worked_example_as_tokens():
    tokens = Problem.parse("c=1, b=17, a=42, b+19=?").tokens()
    assert tokens.tolist() == [64, 1, 63, 17, 62, 42, *[61] * 6, 59, 63, 19, 60]
    assert Task().names(tokens) == ["c", "1", "b", "17", "a", "42", *["PAD"] * 6, "+", "b", "19", "="]


def test_variables_past_z_are_named_like_the_columns_of_a_sheet():
    names = Task(3, 705, 8).variable_names
    assert [names[v] for v in (0, 25, 26, 27, 51, 52, 701, 702, 704)] == ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa", "aac"]
    assert len(set(names)) == 705


def random_problem(task: Task, rng: random.Random) -> Problem:
    n = rng.randint(0, task.slots)
    assignments = tuple((name, rng.randrange(task.n_numbers)) for name in rng.sample(task.variable_names, n))
    operands = [name for name, _ in assignments] + [rng.randrange(task.n_numbers) for _ in range(3)]
    return Problem(assignments, rng.choice(operands), rng.choice(operands), task)


@pytest.mark.parametrize("task", SIZES, ids=str)
def test_text_to_tokens_to_text_comes_back(task):
    rng = random.Random(0)
    for seed in [None, *range(300)]:
        problem = random_problem(task, rng)
        assert Problem.parse(str(problem), task) == problem
        x, y = (dict(problem.assignments).get(operand, operand) for operand in (problem.left, problem.right))
        assert problem.answer == (x + y) % task.n_numbers
        tokens = problem.tokens(seed)
        assert tokens.shape == (task.length,) and tokens.dtype == torch.long
        assert Problem.from_tokens(tokens, task) == problem
        names = task.names(tokens)
        assert names.count("PAD") == task.room - 2 * len(problem.assignments)
        assert names[task.room :] == ["+", str(problem.left), str(problem.right), "="]
        if seed is None:
            assert "PAD" not in names[: 2 * len(problem.assignments)]


def test_a_seed_spreads_the_pads_over_every_gap():
    problem = Problem.parse("a=1, b=2, c=3, d=4, e=5, a+b=?")
    spread = {tuple(problem.tokens(seed).tolist()) for seed in range(1000)}
    assert len(spread) == 21  # the ways to put 2 PADs into 6 gaps
    assert torch.equal(problem.tokens(5), problem.tokens(5))


@pytest.mark.parametrize(
    "tokens, said",
    [
        ([61] * 15, "a sequence has 16 tokens, not 15"),
        ([61] * 12 + [59, 1, 2, 61], "position 12 must hold \\+ and position 15 must hold ="),
        ([61] * 12 + [60, 1, 2, 59], "position 12 must hold \\+"),
        ([74] + [61] * 11 + [59, 1, 2, 60], "token ids go from 0 to 73"),
        ([-1] + [61] * 11 + [59, 1, 2, 60], "token ids go from 0 to 73"),
        ([5] + [61] * 11 + [59, 1, 2, 60], "position 0 holds 5"),
        ([62, 61] + [61] * 10 + [59, 1, 2, 60], "position 0 holds a"),
        ([61] * 11 + [62] + [59, 1, 2, 60], "position 11 holds a"),
        ([62, 1, 62, 2] + [61] * 8 + [59, 1, 2, 60], "the variable a is assigned twice"),
        ([61] * 12 + [59, 62, 2, 60], "the left operand a is never assigned"),
        ([61] * 12 + [59, 2, 61, 60], "the right operand PAD is never assigned"),
    ],
)
def test_tokens_that_spell_no_problem_are_refused(tokens, said):
    with pytest.raises(ValueError, match=said):
        Problem.from_tokens(torch.tensor(tokens))


@pytest.mark.parametrize(
    "sizes, said",
    [
        ((2, 12, 16), "n_numbers must be a whole number of at least 3, not 2"),
        ((59, 1, 16), "n_variables must be a whole number of at least 2, not 1"),
        ((59, 12, 7), "length must be a whole number of at least 8, not 7"),
        ((59.0, 12, 16), "n_numbers must be a whole number"),
        ((59, True, 16), "n_variables must be a whole number"),
        ((59, 12, "16"), "length must be a whole number"),
    ],
)
def test_sizes_without_room_for_a_problem_are_refused(sizes, said):
    with pytest.raises(ValueError, match=said):
        Task(*sizes)


def test_the_split_of_the_study():
    split = Split.draw(seed=42)
    assert split.train_pairs.shape == (59, 59) and torch.equal(split.held_out_pairs, ~split.train_pairs)
    names = Task().variable_names
    assert [[names[v] for v in side] for side in (split.never_left, split.never_right)] == [["k", "l"], ["a", "b"]]
    assert [names[v] for v in split.variables("left")] == list("abcdefghij")
    assert [names[v] for v in split.variables("right")] == list("cdefghijkl")


def test_the_split_holds_out_ordered_pairs_at_random():
    held_out = Split.draw(seed=42).held_out_pairs
    one_way = (held_out & ~held_out.T).sum().item()
    assert 0.85 < one_way / (0.3 * 0.7 * 59**2) < 1.15  # (x, y) says nothing about (y, x)
    assert not torch.equal(held_out, Split.draw(seed=43).held_out_pairs)
    assert torch.equal(held_out, Split.draw(seed=42).held_out_pairs)


@pytest.mark.parametrize("n, fraction, n_train", [(59, 0.7, 2436), (10, 0.7, 70), (10, 0.29, 29), (3, 1.0, 9), (7, 0.5, 24)])
def test_the_training_pairs_are_the_floor_of_the_fraction(n, fraction, n_train):
    assert int(Split.draw(Task(n, 4, 10), 0, fraction).train_pairs.sum()) == n_train


@pytest.mark.parametrize("fraction, said", [(0, "above 0"), (-0.1, "above 0"), (1.01, "at most 1"), (1e-9, "leaves none")])
def test_a_fraction_that_leaves_nothing_or_too_much_is_refused(fraction, said):
    with pytest.raises(ValueError, match=said):
        Split.draw(train_fraction=fraction)


@pytest.mark.parametrize("task", SIZES, ids=str)
@pytest.mark.parametrize("fraction", [0.2, 0.7, 1.0])
def test_a_split_comes_back_from_plain_values(task, fraction):
    split = Split.draw(task, 5, fraction)
    back = Split.from_dict(task, split.to_dict())
    assert torch.equal(back.train_pairs, split.train_pairs)
    assert (back.never_right, back.never_left) == (split.never_right, split.never_left)


def test_a_split_of_another_size_is_refused():
    with pytest.raises(ValueError, match="the split holds 3481 pairs of numbers, not 9"):
        Split.from_dict(Task(3, 2, 8), Split.draw(train_fraction=1.0).to_dict())


def test_kinds_are_those_of_the_problems():
    tokens, _ = problems(TASK, 80)
    kinds = [Problem.from_tokens(each, TASK).kind for each in tokens]
    assert [KINDS[index] for index in TASK.kind_of(tokens)] == kinds
    assert set(kinds) == set(KINDS)


@pytest.mark.parametrize("task", SIZES, ids=str)
def test_value_positions_point_at_the_numbers_to_add(task):
    """Against the slow parser: the place of the number behind each operand."""
    batch = training_population(Split.draw(task, 1)).sample(500, torch.Generator().manual_seed(3))
    for ids, places in zip(batch.tokens.tolist(), task.value_positions(batch.tokens).tolist()):
        for operand, place in zip((task.length - 3, task.length - 2), places):
            constant = ids[operand] < task.n_numbers
            assert place == (operand if constant else ids.index(ids[operand]) + 1)


@pytest.mark.parametrize("task", SIZES, ids=str)
def test_right_answers_and_assigned_numbers(task):
    for batch in evaluation_sets(Split.draw(task, 1), size=40).values():
        assert torch.equal(task.right_answers(batch.tokens), batch.answers)
        for row, marked in zip(batch.tokens.tolist(), task.assigned_numbers(batch.tokens).tolist()):
            assert marked == [place < task.length - 4 and token < task.n_numbers for place, token in enumerate(row)]
