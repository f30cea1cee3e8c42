"""Training: the optimiser's arithmetic, and runs that survive kills, full disks and damage, or say why they do not."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small import CONFIG
from torch.nn.functional import cross_entropy

from assign_add_lib import Split, Task, TrainConfig, forward, train
from assign_add_lib.files import load_tensors, save_tensors
from assign_add_lib.log import checkpoint_path
from assign_add_lib.sampling import training_population
from assign_add_lib.training import METRICS, Trainer


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Equal bits need equal sums, and so equal numbers of threads here and in child processes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def double():
    """Everything that torch makes is in double precision."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def plain(weights, tokens):
    return forward(weights, tokens)[:, -1]


@pytest.mark.parametrize(
    "config, learned",
    [(replace(TrainConfig(), batch_size=16), None), (replace(CONFIG, d_model=32, d_mlp=64, batch_size=256), 0.3)],
    ids=["study", "small"],
)
def test_200_steps_of_the_factored_forward_are_those_of_the_plain_one(double, config, learned):
    """In double precision: in single, a neuron at its kink may round to either side, and the runs part from there."""
    factored, slow = Trainer(config), Trainer(config)
    slow.logits = plain
    losses = [(factored.advance(), slow.advance()) for _ in range(200)]
    assert max(abs(one - other) for one, other in losses) < 1e-4
    assert learned is None or losses[-1][0] < losses[0][0] - learned


def test_steps_are_those_of_adamw_written_out():
    """Decoupled weight decay and bias-corrected moments, on the plain forward, in double precision."""
    config = replace(CONFIG, lr=3e-3, weight_decay=0.1, beta1=0.8, beta2=0.95)
    trainer = Trainer(config)
    weights = trainer.weights.to(torch.float64).trainable().tensors()
    first = {name: torch.zeros_like(w) for name, w in weights.items()}
    second = {name: torch.zeros_like(w) for name, w in weights.items()}
    population = training_population(Split.draw(config.task, config.seed))
    generator = torch.Generator()
    generator.set_state(trainer.generator.get_state())
    for step in range(1, 26):
        batch = population.sample(config.batch_size, generator)
        loss = cross_entropy(plain(type(trainer.weights)(**weights), batch.tokens), batch.answers)
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
        assert trainer.advance() == pytest.approx(loss.item(), abs=1e-4)
        for name, g in gradients.items():
            first[name] = 0.8 * first[name] + 0.2 * g
            second[name] = 0.95 * second[name] + 0.05 * g**2
            change = (first[name] / (1 - 0.8**step)) / ((second[name] / (1 - 0.95**step)).sqrt() + 1e-8)
            weights[name] = ((1 - 3e-3 * 0.1) * weights[name] - 3e-3 * change).detach().requires_grad_()
    for name, w in weights.items():
        torch.testing.assert_close(trainer.weights.tensors()[name].detach().double(), w.detach(), rtol=0, atol=1e-4)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, but for config.json's record of time and command."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if "config.json" in files:
        files["config.json"] = json.dumps({**json.loads(files["config.json"]), "record": None}).encode()
    return files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of a run that nothing disturbed."""
    return contents(train(CONFIG, tmp_path_factory.mktemp("whole") / "run", progress=False))


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    return train(CONFIG, tmp_path_factory.mktemp("half") / "run", progress=False, stop=45)


@pytest.fixture
def stopped(half, tmp_path):
    """The folder of a run that was stopped half-way, to be damaged or taken up."""
    return shutil.copytree(half, tmp_path / "run")


def test_a_run_leaves_these_files(whole):
    steps = [f"checkpoints/step-{step:06d}.safetensors" for step in (0, 40, 80)]
    assert set(whole) == {"config.json", "metrics.csv", "state.safetensors", *steps}
    header, *rows = whole["metrics.csv"].decode().splitlines()
    assert header.split(",") == list(METRICS) and len(METRICS) == 2 + 9 + 7
    assert [int(row.split(",")[0]) for row in rows] == [0, 20, 40, 60, 80]
    kept = json.loads(whole["config.json"])
    assert TrainConfig.from_dict(kept["config"]) == CONFIG
    assert kept["split"] == json.loads(json.dumps(Split.draw(CONFIG.task, CONFIG.seed).to_dict()))


def test_two_runs_of_one_seed_are_equal_and_of_two_seeds_are_not(whole, tmp_path):
    assert contents(train(CONFIG, tmp_path / "again", progress=False)) == whole
    other = contents(train(replace(CONFIG, seed=4), tmp_path / "other", progress=False))
    assert set(other) == set(whole) and not any(other[name] == whole[name] for name in whole)


def test_a_stopped_run_goes_on_to_the_same_bits(whole, stopped):
    assert set(contents(stopped)) < set(whole)
    for stop in (47, 60, None):
        train(CONFIG, stopped, progress=False, stop=stop)
    assert contents(stopped) == whole


KILLED = """
import os, signal, sys
from small import CONFIG
from assign_add_lib import train, training

folder, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
replace, advance = os.replace, training.Trainer.advance

def die():
    global times
    times -= 1
    if times == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def dying_replace(source, target):
    if os.path.basename(target) == name:
        die()
    replace(source, target)

def dying_advance(trainer):
    if name == "step":
        die()
    return advance(trainer)

os.replace, training.Trainer.advance = dying_replace, dying_advance
train(CONFIG, folder, progress=False)
"""


@pytest.mark.parametrize(
    "name, times, reached",
    [
        ("state.safetensors", 3, 20),
        ("step-000040.safetensors", 1, 20),
        ("step", 71, 60),
    ],
)
def test_a_killed_run_goes_on_to_the_same_bits(root, whole, tmp_path, name, times, reached):
    """kill -9 as a file is about to be renamed for the n-th time, or before the n-th step."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
    arguments = [sys.executable, "-c", KILLED, tmp_path / "run", name, str(times)]
    assert subprocess.run(arguments, env=environment).returncode == -signal.SIGKILL
    state = tmp_path / "run" / "state.safetensors"
    assert load_tensors(state)[1]["step"] == str(reached)
    train(CONFIG, tmp_path / "run", progress=False)
    after = contents(tmp_path / "run")
    assert {path: content for path, content in after.items() if not Path(path).name.startswith(".")} == whole


@pytest.mark.parametrize("write", [1, 2, 4, 6, 7, 10, 11])
def test_a_full_disk_is_one_clear_error_and_the_run_goes_on_later(whole, tmp_path, monkeypatch, write):
    """The disk is full from the n-th file on: 4 files at step 0, 3 at step 20, 4 at step 40."""
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) >= write:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="cannot write .*: No space left on device") as refusal:
            train(CONFIG, tmp_path / "run", progress=False)
    assert "\n" not in str(refusal.value) and len(calls) == write
    for path in (tmp_path / "run").rglob("*"):
        assert not path.name.startswith(".")
        if path.suffix == ".safetensors":
            load_tensors(path)
    train(CONFIG, tmp_path / "run", progress=False)
    assert contents(tmp_path / "run") == whole


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
    Trainer(replace(CONFIG, d_mlp=8)).save(folder / "state.safetensors")


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


@pytest.mark.parametrize("lr", [1e20, 1e38])
def test_a_loss_that_is_not_finite_is_one_error_and_keeps_the_start(tmp_path, lr):
    config = replace(CONFIG, lr=lr)
    with pytest.raises(ValueError, match="the loss is (nan|inf) at step [1-9].*; training stops here"):
        train(config, tmp_path / "run", progress=False)
    assert load_tensors(tmp_path / "run" / "state.safetensors")[1]["step"] == "0"
    fresh = Trainer(config).weights.tensors()
    kept, _ = load_tensors(checkpoint_path(tmp_path / "run", 0))
    assert all(torch.equal(kept[name], tensor) for name, tensor in fresh.items())


@pytest.mark.parametrize("poisoned", [47, 60])
def test_weights_that_go_bad_never_reach_a_file(whole, tmp_path, monkeypatch, poisoned):
    """After the step between two rows of metrics, and after the one just before a row."""
    advance = Trainer.advance

    def poison(trainer):
        value = advance(trainer)
        if trainer.step == poisoned:
            trainer.weights.W_U.data[0, 0] = float("nan")
        return value

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "advance", poison)
        with pytest.raises(ValueError, match=f"the loss is nan at step {poisoned}"):
            train(CONFIG, tmp_path / "run", progress=False)
    train(CONFIG, tmp_path / "run", progress=False)
    assert contents(tmp_path / "run") == whole


def test_progress_shows_loss_and_three_accuracies(tmp_path, capsys):
    train(CONFIG, tmp_path / "run")
    shown = capsys.readouterr().err
    assert "80/80" in shown and "loss=" in shown
    for name in ("0-var train=", "1-var train=", "2-var train="):
        assert name in shown


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"seed": -1}, "seed must be from 0"),
        ({"seed": 1.0}, "seed must be a whole number"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"steps": True}, "steps must be a whole number"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"d_model": -3}, "d_model must be at least 1"),
        ({"train_fraction": 0.0}, "train_fraction must be above 0 and at most 1"),
        ({"train_fraction": 1.5}, "train_fraction must be above 0 and at most 1"),
        ({"r": -0.1}, "r must be from 0"),
        ({"lr": 0.0}, "lr must be above 0"),
        ({"lr": float("nan")}, "lr must be a finite number"),
        ({"lr": "fast"}, "lr must be a finite number"),
        ({"beta2": 1.0}, "beta2 must be from 0 to below 1"),
        ({"weight_decay": float("inf")}, "weight_decay must be a finite number"),
        ({"checkpoint_every": 150}, r"checkpoint_every \(150\) must be a multiple of log_every \(100\)"),
    ],
)
def test_a_config_that_cannot_be_trained_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        replace(TrainConfig(), **changed)


def test_the_default_config_is_the_study():
    config = TrainConfig()
    assert (config.steps, config.batch_size, config.lr, config.weight_decay) == (30_000, 512, 1e-3, 0.02)
    assert (config.beta1, config.beta2, config.d_model, config.d_mlp) == (0.9, 0.999, 128, 512)
    assert (config.train_fraction, config.r, config.task) == (0.7, 1.0, Task(59, 12, 16))


def test_a_config_comes_back_from_plain_values():
    config = replace(CONFIG, lr=1 / 3, r=0.05)
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize("entries, said", [({"speed": 3}, "speed"), ({"lr": None}, "lr")])
def test_a_config_with_wrong_entries_is_refused(entries, said):
    with pytest.raises(ValueError, match=said):
        TrainConfig.from_dict(CONFIG.to_dict() | entries)
    with pytest.raises(ValueError, match="seed"):
        TrainConfig.from_dict({name: value for name, value in CONFIG.to_dict().items() if name != "seed"})
