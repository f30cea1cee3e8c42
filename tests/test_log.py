"""Logs: a folder goes on with the run that it holds, and with no other."""

import pytest
from small import CONFIG, contents
from tiny import tiny

from assign_add_lib import Task, TrainConfig, train


def test_a_run_under_another_config_is_refused(tiny_half, stopped):
    before = contents(tiny_half)
    with pytest.raises(ValueError, match=r"another config \(seed 1 -> 4, steps 8 -> 100\)"):
        tiny(tiny_half, seed=4, steps=100)
    assert contents(tiny_half) == before
    with pytest.raises(ValueError, match="another config \\(task "):
        train(TrainConfig(**CONFIG.to_dict() | {"task": Task(11, 4, 12)}), stopped, progress=False)
