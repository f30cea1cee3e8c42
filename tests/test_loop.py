"""The loop: runs of one seed are equal, also after a stop and after weights that went bad."""

from dataclasses import replace

import pytest
from small import CONFIG, contents
from tiny import TinyLearner, tiny

from assign_add_lib import train


@pytest.fixture(scope="module")
def whole(finished):
    """The files of a run that nothing disturbed."""
    return contents(finished)


def test_two_runs_of_one_seed_are_equal_and_of_two_seeds_are_not(whole, tmp_path, capsys):
    assert contents(train(CONFIG, tmp_path / "again")) == whole
    shown = capsys.readouterr().err  # and progress tells the loss and three accuracies
    assert all(each in shown for each in ("80/80", "loss=", "0-var train=", "1-var train=", "2-var train="))
    other = contents(train(replace(CONFIG, seed=4), tmp_path / "other", progress=False))
    assert set(other) == set(whole) and not any(other[name] == whole[name] for name in whole)


def test_a_stopped_run_goes_on_to_the_same_bits(whole, stopped):
    steps = [f"checkpoints/step-{step:06d}.safetensors" for step in (0, 40, 80)]
    assert set(contents(stopped)) < set(whole) == {"config.json", "metrics.csv", "state.safetensors", *steps}
    for stop in (47, 60, None):
        train(CONFIG, stopped, progress=False, stop=stop)
    assert contents(stopped) == whole


@pytest.mark.parametrize("poisoned", [3, 4])
def test_weights_that_go_bad_never_reach_a_file(tiny_runs, tmp_path, monkeypatch, poisoned):
    """After the step between two rows of metrics, and after the one just before a row."""
    advance = TinyLearner.advance

    def poison(learner):
        value = advance(learner)
        if learner.step == poisoned:
            learner.tensors["guess"].data[0] = float("nan")
        return value

    with monkeypatch.context() as patch:
        patch.setattr(TinyLearner, "advance", poison)
        with pytest.raises(ValueError, match=f"the loss is nan at step {poisoned}"):
            tiny(tmp_path / "run")
    assert contents(tiny(tmp_path / "run")) == contents(tiny_runs["whole"])
