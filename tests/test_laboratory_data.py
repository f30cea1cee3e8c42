"""Problems of worlds: in the study's world its own, token for token; elsewhere against a slow reader."""

from collections import Counter

import pytest
import torch
from scipy.stats import chisquare
from worlds import SIZES, WORLDS, read, rng

from assign_add_lib import Split, Task
from assign_add_lib import sampling as study
from assign_add_lib.laboratory import World
from assign_add_lib.laboratory.data import constants, draw_split, evaluation_populations, evaluation_sets, training_population


@pytest.mark.parametrize("world", [World(seed=3), World(seed=1, n_numbers=7, n_variables=5, length=12, r=0.3)])
def test_the_study_draws_the_same_problems(world):
    split = Split.draw(Task(world.n_numbers, world.n_variables, world.length), world.seed)
    ours, theirs = training_population(world, draw_split(world)), study.training_population(split, world.r)
    assert torch.equal(draw_split(world), split.train_pairs) and torch.equal(ours.forms, theirs.forms)
    ours, theirs = evaluation_sets(world, draw_split(world), 300), study.evaluation_sets(split, size=300)
    assert list(ours) == list(theirs)
    assert all(torch.equal(one, other) for name in ours for one, other in zip(ours[name], theirs[name]))


@pytest.mark.parametrize("name", WORLDS)
def test_every_set_holds_what_its_name_says(name):
    world = WORLDS[name]
    split, known = draw_split(world), world.n_variables - world.unseen
    laws = evaluation_populations(world, split) | {"training": training_population(world, split)}
    for words, law in laws.items():
        for ids, answer in zip(*(each.tolist() for each in law.sample(150, rng(2)))):
            problem = read(ids, world)
            assert problem.answer == answer
            asked = [v for v in problem.asked if v is not None]
            out = sum(v in never for v, never in zip(problem.asked, world.never))
            assert len(set(asked)) == len(asked)
            assert split[tuple(problem.numbers)] != ("add-restricted" in words)
            if words != "training":
                assert len(asked) == int(words[0]) and out == ("var-res" in words) * int(words[-2] if words[-1] == ")" else 1)
                assert all(problem.linked[i] == ("chain" in words) for i, v in enumerate(problem.asked) if v is not None)
            strange = {v for v, _ in problem.assignments if v >= known}
            assert strange == ({v for v in asked if v >= known} if "unseen" in words else set())
            if words in ("1-var unasked", "1-var unseen"):
                assert all((world.asked <= v < known) if "asked" in words else v >= known for v in asked)
            else:
                assert all(v < world.asked for v in asked) and (out == 0 or "var-res" in words)


def test_sets_are_there_for_every_kind_and_not_for_others():
    plain, three, links, strangers = (
        set(evaluation_populations(WORLDS[name], draw_split(WORLDS[name]))) for name in ("plain", "three", "links", "strangers")
    )
    assert len(plain) == 9 and {"3-var train", "3-var var-restricted (2)"} <= three
    assert "3-var var-restricted (3)" not in three  # training bars no variable from the middle
    assert links == plain | {name.replace("-var", "-var chain", 1) for name in plain if name[0] != "0"}
    assert {"1-var unasked", "1-var unseen"} <= strangers


@pytest.mark.parametrize("name", ["three", "strangers"])
def test_the_mixture_is_that_of_the_study(name):
    world = WORLDS[name]
    problems = training_population(world, draw_split(world)).sample(30_000, rng(3)).tokens.tolist()
    counts = Counter(tuple(v is not None for v in read(ids, world).asked) for ids in problems)
    first = world.asked - len(world.never[0])
    expected = {pattern: world.asked if not any(pattern) else first for pattern in counts}
    for place, never in enumerate(world.never):  # one variable: as many as may stand there
        expected[tuple(i == place for i in range(world.operands))] = world.asked - len(never)
    assert len(counts) == 2**world.operands
    total = sum(expected.values())
    assert chisquare(list(counts.values()), [30_000 * expected[p] / total for p in counts]).pvalue > 1e-3


@pytest.mark.parametrize("name", ["links", "three links"])
def test_half_of_the_assignments_are_links_and_none_stands_out(name):
    world = WORLDS[name]
    law, order, ranks, chained = training_population(world, draw_split(world)), Counter(), Counter(), Counter()
    for ids in law.sample(8000, rng(4)).tokens.tolist():
        problem = read(ids, world)
        links = {v: int(value[1:]) for v, value in problem.assignments if isinstance(value, str)}
        holders = [v for v, value in problem.assignments if not isinstance(value, str)]
        assert len(links) == len(problem.assignments) // 2
        assert len(set(links.values())) == len(links) and set(links.values()) <= set(holders)
        names = [v for v, _ in problem.assignments]
        order.update(names.index(v) < names.index(to) for v, to in links.items())
        if sum(v is not None for v in problem.asked) == 1:
            (place,) = (i for i, v in enumerate(problem.asked) if v is not None)
            chained[problem.linked[place]] += 1
            if len(names) == world.task.slots:
                ranks[sorted(problem.places).index(problem.at[place])] += 1
    assert min(chisquare(list(each.values())).pvalue for each in (order, ranks, chained)) > 1e-3
    assert len(ranks) == world.task.slots


def test_a_share_of_the_tuples_trains():
    assert int(draw_split(WORLDS["three"]).sum()) == int(0.7 * 7**3) and draw_split(WORLDS["three"]).shape == (7, 7, 7)
    with pytest.raises(ValueError, match="train_fraction 1e-05 leaves none of the 49 pairs"):
        draw_split(World(**SIZES, train_fraction=1e-5))


def test_constants_are_all_tuples_once():
    world = WORLDS["minus"]
    numbers, tokens = constants(world)
    assert sorted(map(tuple, numbers.tolist())) == [(x, y) for x in range(7) for y in range(7)]
    assert [read(ids, world).numbers for ids in tokens.tolist()] == numbers.tolist()
    assert len(constants(WORLDS["three"], most=100)[0]) == 100
