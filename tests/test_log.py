"""Logs: what a run leaves, and folders in which none can be begun or gone on with."""

import json
import shutil

import pytest
from small import CONFIG, contents
from tiny import tiny

from assign_add_lib import Split, Task, TrainConfig, train
from assign_add_lib.engine.runs import checkpoint_path
from assign_add_lib.training import METRICS


def test_a_run_leaves_these_files(finished):
    whole = contents(finished)
    steps = [f"checkpoints/step-{step:06d}.safetensors" for step in (0, 40, 80)]
    assert set(whole) == {"config.json", "metrics.csv", "state.safetensors", *steps}
    header, *rows = whole["metrics.csv"].decode().splitlines()
    assert header.split(",") == list(METRICS) and len(METRICS) == 2 + 9 + 7
    assert [int(row.split(",")[0]) for row in rows] == [0, 20, 40, 60, 80]
    kept = json.loads(whole["config.json"])
    assert TrainConfig.from_dict(kept["config"]) == CONFIG
    assert kept["split"] == json.loads(json.dumps(Split.draw(CONFIG.task, CONFIG.seed).to_dict()))


@pytest.mark.parametrize("place", ["file", "file/run", "/proc/run"])
def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path, place):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="cannot write|Not a directory") as refusal:
        tiny(tmp_path / place)
    assert "\n" not in str(refusal.value)
    assert contents(tmp_path) == {"file": b"x"}


@pytest.mark.parametrize("ahead", ["checkpoint", "metrics"])
def test_what_is_ahead_of_the_state_is_made_anew(tiny_runs, tiny_half, ahead):
    """As a kill may leave it: the state is written last."""
    if ahead == "checkpoint":
        shutil.copy(checkpoint_path(tiny_half, 4), checkpoint_path(tiny_half, 8))
    else:
        shutil.copy(tiny_runs["whole"] / "metrics.csv", tiny_half)
    assert contents(tiny(tiny_half)) == contents(tiny_runs["whole"])


def test_a_run_under_another_config_is_refused(tiny_half, stopped):
    before = contents(tiny_half)
    with pytest.raises(ValueError, match=r"another config \(seed 1 -> 4, steps 8 -> 100\)"):
        tiny(tiny_half, seed=4, steps=100)
    assert contents(tiny_half) == before
    with pytest.raises(ValueError, match="another config \\(task "):
        train(TrainConfig(**CONFIG.to_dict() | {"task": Task(11, 4, 12)}), stopped, progress=False)
