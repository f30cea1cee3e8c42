"""Learners and their configs: what can be trained, and what is said of what cannot."""

import json
from dataclasses import replace

import pytest
from small import CONFIG

from assign_add_lib import TrainConfig


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"seed": 1.0}, "seed must be a whole number"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"d_model": -3}, "d_model must be at least 1"),
        ({"train_fraction": 0.0}, "train_fraction must be above 0 and at most 1"),
        ({"r": -0.1}, "r must be from 0"),
        ({"lr": 0.0}, "lr must be above 0"),
        ({"lr": float("nan")}, "lr must be a finite number"),
        ({"beta2": 1.0}, "beta2 must be from 0 to below 1"),
        ({"weight_decay": float("inf")}, "weight_decay must be a finite number"),
        ({"checkpoint_every": 150}, r"checkpoint_every \(150\) must be a multiple of log_every \(100\)"),
    ],
)
def test_a_config_that_cannot_be_trained_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        replace(TrainConfig(), **changed)


def test_a_config_comes_back_from_plain_values():
    config = replace(CONFIG, lr=1 / 3, r=0.05)
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_equal_configs_are_equal_text():
    """As the checksum of what decides a run is taken of the text."""
    assert str(TrainConfig(lr=1, r=2).to_dict()) == str(TrainConfig(lr=1.0, r=2.0).to_dict())


@pytest.mark.parametrize("entries, said", [({"speed": 3}, "speed"), ({"lr": None}, "lr")])
def test_a_config_with_wrong_entries_is_refused(entries, said):
    with pytest.raises(ValueError, match=said):
        TrainConfig.from_dict(CONFIG.to_dict() | entries)
    with pytest.raises(ValueError, match="seed"):
        TrainConfig.from_dict({name: value for name, value in CONFIG.to_dict().items() if name != "seed"})
