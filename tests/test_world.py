"""Worlds: settings that make sense, what they come to, and one line for those that do not."""

from functools import reduce

import pytest
import torch
from worlds import RECKON, WORLDS

from assign_add_lib.laboratory import World
from assign_add_lib.task import STUDY
from assign_add_lib.training import TrainConfig


def test_the_default_is_the_study_but_for_the_steps():
    ours, theirs = World().flat(), TrainConfig(seed=0).flat()
    shared = ours.keys() & theirs.keys() - {"steps", "checkpoint_every"}
    assert len(shared) >= 12 and {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
    assert World().task == STUDY and World().never == ((10, 11), (0, 1))


@pytest.mark.parametrize("name", WORLDS)
def test_answers_are_those_of_whole_numbers(name):
    world = WORLDS[name]
    numbers = torch.randint(world.n_numbers, (50, world.operands), generator=torch.Generator().manual_seed(1))
    totals = [reduce(RECKON[world.operation], row) % world.n_numbers for row in numbers.tolist()]
    assert world.apply(numbers).tolist() == totals


@pytest.mark.parametrize("name", WORLDS)
def test_every_place_bars_variables_that_another_allows(name):
    world = WORLDS[name]
    assert len(world.never) == world.operands and world.task.room == world.length - world.operands - 2
    assert all(v < world.asked for side in world.never for v in side)
    for v in range(world.asked):
        assert any(v not in side for side in world.never)
    assert world.never[0] and world.never[-1] and not any(world.never[1:-1])


def test_a_problem_is_written_as_people_write_it():
    world = World(operation="*", links=True)
    words = ["c", "1", "PAD", "b", "c", *["PAD"] * 7, "+", "b", "19", "="]
    assert world.text(torch.tensor([world.task.token_names.index(word) for word in words])) == "c=1, b=c, b*19=?"


def test_runs_are_named_by_their_world_or_by_what_differs_from_the_study():
    assert World(name="narrow", d_model=64, seed=3).label(("d_model", "seed")) == "narrow-3"
    assert World(seed=1).label(("layers", "seed")) == "study-1"
    assert World(layers=3).label(("layers", "heads", "seed")) == "study-0_layers-3"


BAD = [
    ({"name": "../up"}, "a world needs a plain name of letters, digits, . _ and -, not '../up'"),
    ({"operation": "/"}, "operation must be one of + - *, not '/'"),
    ({"operands": 1}, "a question has 2 or 3 operands, not 1"),
    ({"operands": 4}, "a question has 2 or 3 operands, not 4"),
    ({"operands": 3, "length": 8}, "length must be at least 9 for 3 operands, not 8"),
    ({"n_numbers": 2}, "n_numbers must be a whole number of at least 3, not 2"),
    ({"links": 0.5}, "links must be true or false, not 0.5"),
    ({"links": True, "length": 10}, "a question may need 4 assignments, and only 3 fit"),
    ({"unasked": 11}, "training must ask for at least 2 variables, not 1"),
    ({"unasked": -1}, "unasked must be at least 0, not -1"),
    ({"unseen": 7}, "unseen leaves 5 variables for up to 6 assignments"),
    ({"operands": 3, "n_numbers": 101}, "101 numbers or variables are too many for 3 operands"),
    ({"layers": 0}, "layers must be at least 1, not 0"),
    ({"layers": 5}, "layers must be at most 4, not 5"),
    ({"heads": 3}, "d_model (128) must be a multiple of heads (3)"),
    ({"r": -1}, "r must be from 0 to below inf, not -1.0"),
]


@pytest.mark.parametrize("wrong, line", BAD, ids=[" ".join(wrong) for wrong, _ in BAD])
def test_a_wrong_setting_is_one_line(wrong, line):
    with pytest.raises(ValueError) as error:
        World(**wrong)
    assert str(error.value) == line
