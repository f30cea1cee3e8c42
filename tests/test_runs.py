"""Runs: what is exported is what is loaded, damage is refused, and the shipped run is as good as its metrics say."""

import shutil

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from small import CONFIG

from assign_add_lib import Split, TrainConfig, Weights, load_run
from assign_add_lib.engine import runs
from assign_add_lib.engine.files import load_tensors, save_tensors, write_json
from assign_add_lib.engine.manifest import data_folder
from assign_add_lib.engine.runs import checkpoint_path
from assign_add_lib.engine.system import System
from assign_add_lib.laboratory.training import WorldRun
from assign_add_lib.measures import accuracies
from assign_add_lib.proof.harden import HardenConfig, Hardened
from assign_add_lib.sampling import EVALUATION_SETS, evaluation_sets
from assign_add_lib.systems import SYSTEMS
from assign_add_lib.training import METRICS, Run


def test_an_exported_run_is_the_local_one_in_half_precision(finished, data):
    run, mine = load_run("small"), load_run(finished)
    assert (run.name, mine.name) == ("small", "small")
    assert run.steps == mine.steps == [0, 40, 80]
    assert run.config == mine.config == CONFIG and run.task == CONFIG.task
    assert run.record["seconds"] >= 0 and run.record["torch"] == torch.__version__
    assert torch.equal(run.split.train_pairs, Split.draw(CONFIG.task, CONFIG.seed).train_pairs)
    for step in (0, 40, 80):
        kept = load_file(checkpoint_path(finished, step))
        stored = load_file(checkpoint_path(data / "runs" / "small", step))
        for name, tensor in run.weights(step).tensors().items():
            assert tensor.dtype == torch.float32 and stored[name].dtype == torch.float16
            assert torch.equal(tensor, kept[name].half().float()), name
    assert torch.equal(run.weights().W_E, run.weights(80).W_E)


def test_metrics_are_those_of_the_file(finished, data):
    metrics = load_run("small").metrics
    pd.testing.assert_frame_equal(metrics, load_run(finished).metrics)
    assert tuple(metrics.columns) == METRICS[1:] and list(metrics.index) == [0, 20, 40, 60, 80]
    pd.testing.assert_frame_equal(metrics, pd.read_csv(finished / "metrics.csv", index_col="step"))


def test_an_unknown_run_names_the_runs_there_are(finished, data):
    runs.export(finished, "other", Run)
    for name in ("large", "", "..", "../runs/small/x", "small/checkpoints"):
        with pytest.raises(FileNotFoundError, match="shipped runs: other, small; or give a run's folder"):
            load_run(name)


@pytest.mark.parametrize("kind, name", [(Run, "laboratory/one-layer-0"), (WorldRun, "runs/seed-42")])
def test_a_run_of_another_system_is_told_as_such(kind, name):
    with pytest.raises(ValueError, match="is of a run of another system or version, .*heads, layers"):
        kind.open(data_folder() / name)


HARDENED = System("hardened", HardenConfig, None, Hardened)


@pytest.mark.parametrize("system", [*SYSTEMS.values(), HARDENED], ids=lambda each: each.name)
def test_a_run_of_another_system_is_told_with_the_class_that_opens_it(system, tmp_path):
    write_json(tmp_path / "config.json", {"config": system.config().to_dict()})
    told = f"; {system.run.__module__}.{system.run.__name__}.open opens it"
    with pytest.raises(ValueError, match="does not hold the split" if system.run is Run else f"TrainConfig: [^;]*{told}$"):
        load_run(tmp_path)


def test_export_never_overwrites(finished, data):
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with pytest.raises(FileExistsError, match="small exists; no exported run is overwritten"):
        runs.export(finished, "small", Run, [0])
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["", "..", ".hidden", "../up", "a b", "é", "a\n"])
def test_export_takes_plain_names(finished, data, name):
    with pytest.raises(ValueError, match="a run needs a plain name"):
        runs.export(finished, name, Run)


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda folder: None, "no checkpoint at step 41"),
        (lambda folder: checkpoint_path(folder, 40).write_bytes(b"x"), "step-000040.safetensors is damaged"),
        (lambda folder: (folder / "metrics.csv").unlink(), "metrics.csv"),
    ],
)
def test_a_failed_export_leaves_nothing(finished, data, tmp_path, spoil, said):
    folder = shutil.copytree(finished, tmp_path / "spoilt")
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    spoil(folder)
    with pytest.raises((ValueError, OSError), match=said):
        runs.export(folder, "new", Run, [0, 40, 41] if "41" in said else None)
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before
    assert [path.name for path in (data / "runs").iterdir()] == ["small"]


SPOILT = {
    "other task": lambda tensors: Weights.init(d_model=16).tensors(),
    "missing tensor": lambda tensors: {name: tensor for name, tensor in tensors.items() if name != "W_U"},
    "unknown tensor": lambda tensors: tensors | {"b_U": torch.zeros(3)},
    "flat": lambda tensors: tensors | {"W_E": torch.tensor(1.0)},
    "fewer neurons": lambda tensors: tensors | Weights.init(CONFIG.task, 0, 16, 20).tensors(),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_weights_of_another_network_are_refused(finished, tmp_path, spoil):
    folder = shutil.copytree(finished, tmp_path / "mine")
    path = checkpoint_path(folder, 40)
    save_tensors(path, SPOILT[spoil](load_tensors(path)[0]))
    with pytest.raises(ValueError, match="does not hold the weights of a network for this run's config"):
        load_run(folder).weights(40)


@pytest.fixture(scope="module")
def shipped():
    """The run that the book reads; a checkout without it fails."""
    return load_run("seed-42")


def test_the_shipped_run_is_the_study(shipped):
    assert shipped.config == TrainConfig()
    drawn = Split.draw(shipped.task, 42)
    assert torch.equal(shipped.split.train_pairs, drawn.train_pairs)
    assert (shipped.split.never_right, shipped.split.never_left) == ((0, 1), (10, 11))
    assert list(shipped.metrics.index) == list(range(0, 30_001, 100))
    assert not shipped.metrics.isna().any().any()
    assert {0, 30_000} < set(shipped.steps) and len(shipped.steps) >= 30
    assert shipped.record["command"].startswith("python -m assign_add_lib train")
    assert shipped.record["seconds"] > 60 and shipped.record["machine"]
    assert len(repr(shipped)) + len(repr(shipped.weights())) < 400  # as a notebook shows them, without their numbers


def test_shipped_checkpoints_answer_as_the_metrics_say(shipped):
    """The nine accuracies of every sixth checkpoint and the last, within 0.01 of the full-precision ones of the training run."""
    sets = evaluation_sets(shipped.split)
    steps = [*shipped.steps[::6], 30_000]
    found = pd.DataFrame([accuracies(shipped.weights(step), sets) for step in steps], steps)
    assert tuple(found) == EVALUATION_SETS
    assert (found - shipped.metrics.loc[steps, list(found)]).abs().max(axis=None) < 0.01
