"""What the tests of the laboratory share: small worlds, and a slow reader of their problems."""

from functools import reduce
from typing import NamedTuple

import torch

from assign_add_lib.laboratory import World
from assign_add_lib.laboratory.data import draw_split

SIZES = {"n_numbers": 7, "n_variables": 6, "length": 14, "d_model": 12, "d_mlp": 16}
WORLDS = {
    "plain": World(**SIZES),
    "minus": World(**SIZES, operation="-"),
    "times": World(**SIZES, operation="*"),
    "three": World(**SIZES | {"length": 15}, operands=3),
    "three minus": World(**SIZES | {"length": 15, "n_variables": 7}, operands=3, operation="-"),
    "links": World(**SIZES, links=True),
    "three links": World(**SIZES | {"length": 17}, operands=3, links=True),
    "strangers": World(**SIZES | {"n_variables": 9}, unasked=2, unseen=1),
}
RECKON = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


class Read(NamedTuple):
    """A problem, as the slow reader finds it; variables are numbered from 0."""

    assignments: list[tuple[int, int | str]]  # (variable, number), or (variable, "another one's name") for a link
    places: list[int]  # where the value of each assignment stands
    asked: list[int | None]  # for each operand its variable
    numbers: list[int]  # to reckon with
    at: list[int]  # where these stand
    linked: list[bool]  # for each operand, whether its variable is a link
    answer: int


def read(ids: list[int], world: World) -> Read:
    """Every rule of the layout, token by token; AssertionError where one is broken."""
    N, V, K = world.n_numbers, world.n_variables, world.operands
    room = world.length - K - 2
    assert len(ids) == world.length and ids[room] == N and ids[-1] == N + 1
    place, values, order = 0, {}, []
    while place < room:
        if ids[place] == N + 2:
            place += 1
            continue
        name, value = ids[place] - N - 3, ids[place + 1]
        assert 0 <= name < V and place + 1 < room and name not in values, "a variable, then its value, and once"
        assert 0 <= value < N or N + 3 <= value < N + 3 + V
        values[name] = (value, place + 1)
        order.append(name)
        place += 2
    asked, numbers, at, linked = [], [], [], []
    for side, token in enumerate(ids[room + 1 : -1]):
        value, where, hops = token, room + 1 + side, 0
        while value >= N:
            value, where = values[value - N - 3]
            hops += 1
        assert hops <= 2, "a link leads to a number"
        asked.append(token - N - 3 if token >= N else None)
        numbers.append(value)
        at.append(where)
        linked.append(hops == 2)
    told = [(name, values[name][0] if values[name][0] < N else f"v{values[name][0] - N - 3}") for name in order]
    answer = reduce(RECKON[world.operation], numbers) % N
    return Read(told, [values[name][1] for name in order], asked, numbers, at, linked, answer)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Run:
    """What measures ask of a run."""

    def __init__(self, world: World, weights, metrics=None):
        self.world, self.split, self.metrics, self.weights = world, draw_split(world), metrics, lambda: weights
