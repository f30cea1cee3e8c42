"""Problems taken apart, against the slow reader; the shortcut, against all its choices."""

import random
from functools import reduce

import pytest
from worlds import RECKON, WORLDS, read, rng

from assign_add_lib.laboratory.data import draw_split, evaluation_populations, training_population
from assign_add_lib.laboratory.parsing import Parsed, informed, shortcut


@pytest.mark.parametrize("name", WORLDS)
def test_everything_is_where_the_slow_reader_finds_it(name):
    world = WORLDS[name]
    batch = training_population(world, draw_split(world)).sample(200, rng(1))
    parsed = Parsed(world, batch.tokens)
    for b, ids in enumerate(batch.tokens.tolist()):
        problem = read(ids, world)
        assert parsed.places[b].tolist() == problem.at and parsed.linked[b].tolist() == problem.linked
        assert parsed.asked[b].tolist() == [v is not None for v in problem.asked]
        assert parsed.value[b].nonzero().flatten().tolist() == sorted(problem.places)
        named = [value for _, value in problem.assignments]
        for (v, value), place in zip(problem.assignments, problem.places):
            assert parsed.number[b, place] == isinstance(value, int)
            assert parsed.named[b, place] == named.count(f"v{v}")


def guess(ids, world, rng):
    """What the solver of the shortcut may say: other assigned numbers, named ones if the question asks for a link."""
    problem = read(ids, world)
    named = {value for _, value in problem.assignments if isinstance(value, str)}
    numbers = [(f"v{v}" in named, value) for v, value in problem.assignments if isinstance(value, int)]
    rng.shuffle(numbers)
    if any(problem.linked):
        numbers.sort(key=lambda each: not each[0])
    values = iter(value for _, value in numbers)
    chosen = [ids[world.task.room + 1 + i] if v is None else next(values) for i, v in enumerate(problem.asked)]
    return reduce(RECKON[world.operation], chosen) % world.n_numbers


@pytest.mark.parametrize("name", ["plain", "minus", "three", "links"])
def test_the_shortcut_is_as_often_right_as_a_slow_solver(name):
    world, dice = WORLDS[name], random.Random(0)
    laws = evaluation_populations(world, draw_split(world))
    for words in [each for each in laws if each.endswith("train")]:
        batch = laws[words].sample(500, rng(3))
        pairs = 40 * list(zip(batch.tokens.tolist(), batch.answers.tolist()))
        right = sum(guess(ids, world, dice) == answer for ids, answer in pairs)
        assert shortcut(world, batch) == pytest.approx(right / len(pairs), abs=0.015), words


@pytest.mark.parametrize("name", ["plain", "minus", "links"])
def test_the_informed_shortcut_leaves_out_what_training_never_shows(name):
    world = WORLDS[name]
    trained = draw_split(world)
    batch = evaluation_populations(world, trained)["1-var train"].sample(300, rng(3))
    right = 0
    for ids, answer in zip(batch.tokens.tolist(), batch.answers.tolist()):
        problem = read(ids, world)
        numbers = [value for _, value in problem.assignments if isinstance(value, int)]
        pairs = [[n if v is not None else each for v, each in zip(problem.asked, problem.numbers)] for n in numbers]
        kept = [pair for pair in pairs if trained[tuple(pair)]]
        right += sum(reduce(RECKON[world.operation], pair) % world.n_numbers == answer for pair in kept) / len(kept)
    assert informed(world, batch, trained) == pytest.approx(right / 300, abs=0.02)
