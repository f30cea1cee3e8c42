"""Logs: what a run leaves, and damage that is refused or mended."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from small import CONFIG, contents

from assign_add_lib import Split, Task, TrainConfig, train
from assign_add_lib.engine.files import load_tensors, save_tensors
from assign_add_lib.engine.runs import checkpoint_path
from assign_add_lib.training import METRICS, StudyLearner


@pytest.fixture(scope="module")
def whole(finished):
    """The files of a run that nothing disturbed."""
    return contents(finished)


def test_a_run_leaves_these_files(whole):
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
        train(CONFIG, tmp_path / place, progress=False)
    assert "\n" not in str(refusal.value)
    assert contents(tmp_path) == {"file": b"x"}


def flip(path: Path, place: int = -5) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def other_state(folder: Path) -> None:
    StudyLearner(replace(CONFIG, d_mlp=8)).save(folder / "state.safetensors")


def lost_tensor(folder: Path) -> None:
    tensors, notes = load_tensors(folder / "state.safetensors")
    save_tensors(folder / "state.safetensors", {name: tensors[name] for name in tensors if name != "weights.W_U"}, **notes)


def other_column(folder: Path) -> None:
    text = (folder / "metrics.csv").read_text()
    (folder / "metrics.csv").write_text(text.replace("loss", "gain", 1))


def described(**changes):
    """Damage that changes what config.json says."""

    def damage(folder: Path) -> None:
        kept = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(kept | changes))

    return damage


DAMAGES = {
    "state bit": (lambda f: flip(f / "state.safetensors"), "state.safetensors is damaged: its checksum"),
    "state header": (lambda f: flip(f / "state.safetensors", 3), "state.safetensors is damaged"),
    "state truncated": (lambda f: cut(f / "state.safetensors", 5000), "state.safetensors is damaged"),
    "state empty": (lambda f: cut(f / "state.safetensors", 0), "state.safetensors is damaged"),
    "state of another network": (other_state, "is not the state of a run with this config"),
    "state without a tensor": (lost_tensor, "is not the state of a run with this config"),
    "state missing": (lambda f: (f / "state.safetensors").unlink(), "holds a run without its state.safetensors"),
    "metrics missing": (lambda f: (f / "metrics.csv").unlink(), "metrics.csv is damaged: it lacks rows up to step 40"),
    "metrics empty": (lambda f: cut(f / "metrics.csv", 0), "metrics.csv is damaged"),
    "metrics cut by a row": (lambda f: cut(f / "metrics.csv", -150), "metrics.csv is damaged"),
    "metrics cut by a digit": (lambda f: cut(f / "metrics.csv", -2), "metrics.csv is damaged"),
    "metrics not text": (lambda f: flip(f / "metrics.csv", 0) or (f / "metrics.csv").write_bytes(b"\xff\0"), "is damaged"),
    "metrics with another column": (other_column, "metrics.csv is damaged"),
    "config empty": (lambda f: cut(f / "config.json", 0), "config.json is damaged: not JSON"),
    "config cut": (lambda f: cut(f / "config.json", 300), "config.json is damaged: not JSON"),
    "config of no run": (lambda f: (f / "config.json").write_text("[]"), "config.json is damaged: not a JSON object"),
    "config that is a number": (described(config=3), "config.json is damaged: it does not hold the config of a run"),
    "config with another entry": (described(config=CONFIG.to_dict() | {"depth": 2}), "depth 2 -> None"),
    "record that is a number": (described(record=3), "config.json is damaged: it does not hold the record of a run"),
    "record without seconds": (described(record={"seconds": None}), "it does not hold the record of a run"),
    "config missing": (lambda f: (f / "config.json").unlink(), "is not empty and holds no run"),
}


@pytest.mark.parametrize("damage, said", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_run_is_refused_and_left_alone(stopped, damage, said):
    damage(stopped)
    files = {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()}
    with pytest.raises(ValueError) as refusal:
        train(CONFIG, stopped, progress=False)
    assert said in str(refusal.value) and str(stopped) in str(refusal.value) and "\n" not in str(refusal.value)
    assert {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()} == files


def test_damage_to_files_that_resuming_does_not_read_is_repaired(whole, stopped):
    """A kept checkpoint ahead of the state, as a kill may leave it, is written anew."""
    shutil.copy(checkpoint_path(stopped, 40), checkpoint_path(stopped, 80))
    train(CONFIG, stopped, progress=False)
    assert contents(stopped) == whole


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"lr": 0.5}, r"another config \(lr 0.001 -> 0.5\)"),
        ({"seed": 4, "steps": 100}, r"another config \(seed 3 -> 4, steps 80 -> 100\)"),
        ({"task": Task(11, 4, 12)}, "another config \\(task "),
    ],
)
def test_a_run_under_another_config_is_refused(stopped, changed, said):
    before = contents(stopped)
    with pytest.raises(ValueError, match=said):
        train(replace(CONFIG, **changed), stopped, progress=False)
    assert contents(stopped) == before


def test_a_finished_run_is_refused(whole, stopped):
    train(CONFIG, stopped, progress=False)
    with pytest.raises(ValueError, match="holds a finished run, which is never overwritten"):
        train(CONFIG, stopped, progress=False)
    assert contents(stopped) == whole


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="is not empty and holds no run"):
        train(CONFIG, tmp_path, progress=False)
    assert contents(tmp_path) == {"thesis.tex": b"x"}
