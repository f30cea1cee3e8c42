"""Small networks and runs that several tests share."""

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from assign_add_lib import Split, Task, TrainConfig, Weights
from assign_add_lib.model import weight_shapes
from assign_add_lib.sampling import training_population

# signals, limits and files that can be moved while they are open
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has none of it")

TASK = Task(n_numbers=11, n_variables=4, length=10)
CONFIG = TrainConfig(
    seed=3, steps=80, batch_size=32, d_model=16, d_mlp=24, log_every=20, checkpoint_every=40, task=TASK
)  # a run of about a second

# task, d_model, d_head, d_mlp
SIZES = [
    (Task(), 128, 128, 512),
    (Task(7, 3, 9), 12, 5, 20),
    (Task(5, 30, 21), 8, 16, 4),
    (Task(3, 2, 8), 6, 6, 6),
]


def random_weights(task: Task, d_model: int, d_head: int, d_mlp: int, seed: int = 0, scale: float = 0.4) -> Weights:
    """Normal weights in double precision, large enough that attention is far from even."""
    generator = torch.Generator().manual_seed(seed)
    shapes = weight_shapes(task.d_vocab, task.length, task.n_numbers, d_model, d_head, d_mlp)
    return Weights(
        **{name: scale * torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    )


def problems(task: Task, size: int, seed: int = 0):
    """Training problems: token ids and answers."""
    return training_population(Split.draw(task, seed)).sample(size, torch.Generator().manual_seed(seed))


class Read(NamedTuple):
    """One sequence, as the slow parser reads it; variables are numbered from 0."""

    slots: tuple[tuple[int, int], ...]  # (variable, number) in order
    gaps: tuple[int, ...]  # PADs before each assignment and after the last
    u: int | None  # left variable
    w: int | None  # right variable
    x: int
    y: int

    @property
    def kind(self):
        return ("0-var", "1-var left", "1-var right", "2-var")[(self.u is not None) + 2 * (self.w is not None)]


def read(ids: list[int], N: int, V: int, T: int) -> Read:
    """The slow parser: every rule of the layout, token by token."""
    assert len(ids) == T and ids[T - 4] == N and ids[T - 1] == N + 1
    slots, gaps, pads, place = [], [], 0, 0
    while place < T - 4:
        if ids[place] == N + 2:
            pads, place = pads + 1, place + 1
            continue
        variable, number = ids[place] - (N + 3), ids[place + 1]
        assert 0 <= variable < V and 0 <= number < N and place + 1 < T - 4
        slots.append((variable, number))
        gaps.append(pads)
        pads, place = 0, place + 2
    gaps.append(pads)
    numbers = dict(slots)
    assert len(numbers) == len(slots), "a variable is assigned twice"
    sides = []
    for token in ids[T - 3 : T - 1]:
        if token < N:
            sides.append((None, token))
        else:
            assert N + 3 <= token < N + 3 + V
            sides.append((token - (N + 3), numbers[token - (N + 3)]))
    (u, x), (w, y) = sides
    return Read(tuple(slots), tuple(gaps), u, w, x, y)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, but for config.json's record of time and command."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if "config.json" in files:
        files["config.json"] = json.dumps({**json.loads(files["config.json"]), "record": None}).encode()
    return files


def assert_the_same(values, shipped, claims, **tolerance):
    """Equal within a tolerance, and every claim holds for the same subjects."""
    of = {claim.name: claim for claim in claims}
    shipped = shipped.loc[values.index, values.columns]
    np.testing.assert_allclose(values.to_numpy(float), shipped.to_numpy(float), **tolerance)
    for name, row in values.iterrows():
        assert list(row.map(of[name].holds)) == list(shipped.loc[name].map(of[name].holds)), name


def around(config, **varied: list) -> dict[str, list]:
    """What a sweep takes: lists of values for some settings, and for the rest the values of a config."""
    return varied | {name: [value] for name, value in config.flat().items() if name not in varied}


def line(step):
    """A small figure that depends on the step."""
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([0, step, 1])
    return figure


def held(output):
    """The data inside a static output."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', output, re.S)[1])
