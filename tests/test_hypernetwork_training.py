"""Composing in context: training the arms, runs that survive, and the command line."""

import json
import math
import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from arms import holding
from safetensors.torch import load_file
from sklearn.metrics import r2_score
from small import contents

from assign_add_lib.__main__ import main
from assign_add_lib.companions.hypernetwork.data import HELD_OUT, SUPPORTS, Teacher
from assign_add_lib.companions.hypernetwork.model import ARMS, Hypernetwork, build
from assign_add_lib.companions.hypernetwork.training import ArmConfig, ArmLearner, ArmRun, load_arm, r_squared
from assign_add_lib.engine import runs
from assign_add_lib.engine.files import load_tensors, save_tensors
from assign_add_lib.engine.runs import checkpoint_path
from assign_add_lib.systems import SYSTEMS

CONFIG = ArmConfig(
    seed=3, steps=40, batch_size=8, warm_up=5, d_model=16, layers=1, heads=2, log_every=10, checkpoint_every=20
)  # a run of a few seconds at most
GIVEN = replace(CONFIG, given_code=True)
ID, OOD = "in distribution", "out of distribution"

train = SYSTEMS["hypernetwork"].train


def test_r_squared_is_that_of_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    true = torch.randn(20, 9, 2, generator=generator) * torch.tensor([1.0, 3.0])
    answered = true + torch.rand(20, 1, 1, generator=generator) * torch.randn(20, 9, 2, generator=generator)
    slow = [r2_score(*each, multioutput="variance_weighted") for each in zip(true.numpy(), answered.numpy())]
    np.testing.assert_allclose(r_squared(answered, true).numpy(), slow, atol=1e-5)
    torch.testing.assert_close(r_squared(true.mean(1, keepdim=True).expand_as(true), true), torch.zeros(20), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "steps, warm_up, at", [(8000, 200, [0, 99, 199, 200, 2150, 4100, 7998, 7999]), (3, 200, [0, 2]), (3, 3, [2])]
)
def test_the_learning_rate_rises_in_a_line_and_falls_in_a_cosine(steps, warm_up, at):
    learner = ArmLearner(replace(GIVEN, steps=steps, warm_up=warm_up, lr=2e-3))
    for step in at:
        learner.step = step
        learner.advance()
        lr = learner.optimizer.param_groups[0]["lr"]
        if step < warm_up:
            assert lr == pytest.approx(2e-3 * (step + 1) / warm_up)
        else:
            fallen = math.sin(math.pi / 2 * (step - warm_up) / (steps - warm_up)) ** 2
            assert lr == pytest.approx(2e-3 - (2e-3 - 4e-5) * fallen)


@pytest.mark.parametrize("clip, clipped", [(1e-3, True), (1e3, False)])
def test_gradients_are_clipped_to_a_norm(clip, clipped):
    """What the optimiser has seen of the first gradient is a tenth of it."""
    learner, free = (ArmLearner(replace(CONFIG, clip=each)) for each in (clip, 1e9))
    assert learner.advance() == free.advance()
    seen, whole = (
        torch.cat([each.optimizer.state[w]["exp_avg"].flatten() for w in each.tensors.values()]) / 0.1 for each in (learner, free)
    )
    assert 0.01 < whole.norm() < 100
    torch.testing.assert_close(seen, whole * clip / whole.norm() if clipped else whole, atol=1e-6, rtol=1e-4)


def test_steps_are_those_of_adam_written_out():
    """Clipped gradients, bias-corrected moments, no decay, and the learning rate of each step."""
    config = replace(GIVEN, steps=30, warm_up=10, lr=0.01, clip=0.5)
    learner, teacher, norms = ArmLearner(config), Teacher.draw(3), []
    weights = {name: each.detach().double().requires_grad_() for name, each in learner.tensors.items()}
    first, second = ({name: torch.zeros_like(w) for name, w in weights.items()} for _ in range(2))
    batches = torch.Generator()
    batches.set_state(learner.generator.get_state())
    for step in range(25):
        tasks = teacher.sample(SUPPORTS["connected"], 8, batches)
        W = torch.tensordot(tasks.z.double(), weights["modules_"], 1) / 2**0.5
        answered = (tasks.x[:, 16:].double() @ W.mT).clamp(min=0) @ weights["readout"].T
        loss = ((answered - tasks.y[:, 16:].double()) ** 2).mean()
        gradients = torch.autograd.grad(loss, list(weights.values()))
        norms.append(sum((g**2).sum() for g in gradients).sqrt().item())
        assert learner.advance() == pytest.approx(loss.item(), abs=1e-4)
        lr = 0.01 * ((step + 1) / 10 if step < 10 else 0.51 + 0.49 * math.cos(math.pi * (step - 10) / 20))
        for name, g in zip(weights, gradients):
            g = g * min(1, 0.5 / norms[-1])
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.98 * second[name] + 0.02 * g**2
            change = (first[name] / (1 - 0.9 ** (step + 1))) / ((second[name] / (1 - 0.98 ** (step + 1))).sqrt() + 1e-8)
            weights[name] = (weights[name] - lr * change).detach().requires_grad_()
    assert max(norms) > 0.5
    for name, w in weights.items():
        torch.testing.assert_close(learner.tensors[name].detach().double(), w.detach(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_learns_one_task_by_heart(arm):
    """The same 16 questions at every step: no network that can learn has a reason to miss them."""
    learner = ArmLearner(replace(CONFIG, arm=arm, steps=400, lr=5e-3))
    tasks = learner.teacher.sample([(2,)], 1, torch.Generator().manual_seed(1))
    learner.teacher = SimpleNamespace(sample=lambda *_: tasks)
    losses = [learner.advance() for _ in range(400)]
    assert losses[0] > 0.1 and max(losses[-10:]) < 1e-3


def drawn(config):
    """Codes or contexts, and the inputs of the questions, that a run is measured on, in and out of distribution, and a batch."""
    learner, drawn = ArmLearner(config), []
    network = learner.network
    learner.network = lambda given, asked: drawn.append((given, asked)) or network(given, asked)
    measured = learner.evaluate()
    assert list(measured) == ["loss", ID, OOD] and learner.evaluate() == measured
    assert torch.equal(drawn[0][1], drawn[2][1]) and torch.equal(drawn[1][1], drawn[3][1])
    learner.loss()
    return drawn[0], drawn[1], drawn[4]


def test_all_arms_of_a_seed_are_measured_on_the_same_held_out_tasks():
    """And on tasks of their own support; no task is ever drawn for two of these, nor for two seeds."""
    own, held_out, batch = drawn(GIVEN)
    assert [len(asked) for _, asked in (own, held_out, batch)] == [512, 512, 8]
    active = [{tuple(code.nonzero().flatten().tolist()) for code in given} for given, _ in (own, held_out)]
    assert active == [set(SUPPORTS["connected"]), set(HELD_OUT)]
    for config in (replace(CONFIG, arm="vanilla", support="disconnected"), replace(GIVEN, arm="mlp", support="connected-12")):
        assert torch.equal(drawn(config)[1][1], held_out[1])
    questions = torch.cat([asked[:, :16] for seed in (3, 4) for _, asked in drawn(replace(GIVEN, seed=seed))])
    assert len(questions.flatten(1).unique(dim=0)) == len(questions) == 2 * (512 + 512 + 8)


def test_an_executor_that_is_the_teacher_measures_as_perfect():
    before = torch.get_rng_state()
    learner = ArmLearner(GIVEN)
    assert isinstance(learner.network, Hypernetwork) and learner.evaluate()[OOD] < 0.9
    assert torch.equal(torch.get_rng_state(), before)
    learner.network = holding(learner.teacher)
    assert learner.evaluate() == pytest.approx({"loss": 0, ID: 1, OOD: 1}, abs=1e-6)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    return train(CONFIG, tmp_path_factory.mktemp("whole") / "run", "cpu", progress=False)


@pytest.fixture
def stopped(tmp_path_factory, tmp_path):
    """The folder of a run that was stopped half-way."""
    return train(CONFIG, tmp_path / "run", progress=False, stop=25)


def test_a_run_leaves_these_files(whole):
    steps = [f"checkpoints/step-{step:06d}.safetensors" for step in (0, 20, 40)]
    assert set(contents(whole)) == {"config.json", "metrics.csv", "state.safetensors", *steps}
    run = load_arm(whole)
    assert run.config == CONFIG and list(run.metrics.index) == [0, 10, 20, 30, 40]
    assert list(run.metrics.columns) == ["loss", ID, OOD]


def test_equal_seeds_train_to_equal_bits_and_others_do_not(whole, tmp_path):
    assert contents(train(CONFIG, tmp_path / "again", progress=False)) == contents(whole)
    other = contents(train(replace(CONFIG, seed=4), tmp_path / "other", progress=False))
    assert not any(each == other[name] for name, each in contents(whole).items())


def test_a_stopped_run_goes_on_to_the_same_bits(whole, stopped):
    assert load_tensors(stopped / "state.safetensors")[1]["step"] == "20"
    for stop in (27, 30, None):
        train(CONFIG, stopped, progress=False, stop=stop)
    assert contents(stopped) == contents(whole)


def test_a_run_that_is_given_the_code_stops_and_goes_on_too(tmp_path):
    for arm, kind in (("hypernetwork", Hypernetwork), ("mlp", type(build("mlp", 0).executor))):
        config = replace(GIVEN, arm=arm)
        one = train(config, tmp_path / f"{arm} one", progress=False)
        two = train(config, tmp_path / f"{arm} two", progress=False, stop=12)
        assert contents(train(config, two, progress=False)) == contents(one)
        assert type(load_arm(one).network()) is kind
        loss = load_arm(one).metrics["loss"]
        assert loss[40] < loss[0]


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"lr": 0.5}, r"another config \(lr 0.002 -> 0.5\)"),
        ({"arm": "mlp", "seed": 4}, r"another config \(arm 'hypernetwork' -> 'mlp', seed 3 -> 4\)"),
        ({"structured": False}, r"another config \(structured True -> False\)"),
    ],
)
def test_a_run_under_another_config_is_refused(whole, changed, said):
    before = contents(whole)
    with pytest.raises(ValueError, match=said):
        train(replace(CONFIG, **changed), whole, progress=False)
    assert contents(whole) == before


def test_a_finished_run_is_refused(whole):
    before = contents(whole)
    with pytest.raises(ValueError, match="holds a finished run, which is never overwritten"):
        train(CONFIG, whole, progress=False)
    assert contents(whole) == before


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def other_network(path):
    save_tensors(path, build("vanilla", 0, 16, 1, 2).state_dict(), step=40)


def edit(**changed):
    """Change entries of the config that a config.json holds; None takes them out."""

    def damage(path):
        kept = json.loads(path.read_text())
        config = {name: value for name, value in (kept["config"] | changed).items() if value is not None}
        path.write_text(json.dumps(kept | {"config": config}))

    return damage


LAST = "checkpoints/step-000040.safetensors"
DAMAGES = {
    "weights bit": (LAST, flip, "step-000040.safetensors is damaged: its checksum"),
    "weights cut": (LAST, lambda path: path.write_bytes(path.read_bytes()[:-9]), "step-000040.safetensors is damaged"),
    "weights empty": (LAST, lambda path: path.write_bytes(b""), "step-000040.safetensors is damaged"),
    "weights of another arm": (LAST, other_network, "does not hold the weights of a network for this run's config"),
    "weights of another size": (
        "config.json",
        edit(d_model=32),
        "config.json is damaged: its checksum does not match its content",
    ),
    "no weights": (LAST, lambda path: shutil.rmtree(path.parent), "there are: none"),
    "config cut": ("config.json", lambda path: path.write_text(path.read_text()[:99]), "config.json is damaged: not JSON"),
    "config of no run": ("config.json", lambda path: path.write_text("{}"), "is damaged: it does not hold the config"),
    "config not a table": ("config.json", lambda path: path.write_text('{"config": 3}'), "it does not hold the config"),
    "config with a part missing": ("config.json", edit(heads=None), "wrong entries: heads"),
    "config with an unknown part": ("config.json", edit(speed=3), "wrong entries: speed"),
    "config with an unknown arm": ("config.json", edit(arm="tentacle"), "arm must be one of vanilla, hypernetwork, mlp"),
    "config with a list": ("config.json", edit(support=[]), "support must be text, not []"),
}


@pytest.mark.parametrize("file, damage, said", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_run_is_named_in_one_line(whole, tmp_path, file, damage, said):
    folder = shutil.copytree(whole, tmp_path / "run")
    damage(folder / file)
    with pytest.raises(ValueError) as refusal:
        load_arm(folder).network()
    assert said in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("file", ["config.json", "metrics.csv", "state.safetensors"])
def test_a_damaged_run_in_progress_is_refused_and_left_alone(stopped, file):
    (stopped / file).write_bytes((stopped / file).read_bytes()[:-30])
    before = contents(stopped) if file != "config.json" else None
    with pytest.raises(ValueError, match=f"{file} is damaged") as refusal:
        train(CONFIG, stopped, progress=False)
    assert "\n" not in str(refusal.value)
    assert before is None or contents(stopped) == before


def test_an_exported_run_is_the_local_one_in_half_precision(whole, own_data):
    runs.export(whole, "mine", ArmRun, [40])
    assert ArmRun.shipped() == ["mine"]
    run = load_arm("mine")
    assert run.config == CONFIG and run.steps == [40] and run.record["torch"] == torch.__version__
    pd.testing.assert_frame_equal(run.metrics, load_arm(whole).metrics)
    kept, stored = (
        load_file(checkpoint_path(whole, 40)),
        load_file(checkpoint_path(own_data / "companions/hypernetwork/mine", 40)),
    )
    network = run.network()
    assert not any(each.requires_grad for each in network.parameters())
    for name, tensor in network.state_dict().items():
        assert tensor.dtype == torch.float32 and stored[name].dtype == torch.float16
        assert torch.equal(tensor, kept[name].half().float()), name
    drawn = Teacher.draw(3)
    assert torch.equal(run.teacher.modules, drawn.modules) and torch.equal(run.teacher.readout, drawn.readout)
    flip(checkpoint_path(own_data / "companions/hypernetwork/mine", 40))
    with pytest.raises(ValueError, match="its checksum is not the one in MANIFEST.sha256"):
        load_arm("mine").network()


@pytest.fixture
def here(whole, tmp_path, own_data, monkeypatch):
    """A working directory with a finished run, one in progress, and one that is damaged."""
    place = tmp_path / "here"
    for name in ("whole", "half", "cut"):
        shutil.copytree(whole, place / name)
    checkpoint_path(place / "half", 40).unlink()
    (place / "cut" / "config.json").write_text("{")
    (place / "file").write_text("x")
    monkeypatch.chdir(place)
    return place


def call(monkeypatch, *arguments):
    """The exit code of a command."""
    arguments = list(map(str, arguments))
    monkeypatch.setattr(sys, "argv", ["assign_add_lib", *arguments])
    try:
        return main(arguments)
    except SystemExit as stop:
        return stop.code


TRAIN = ["train", "hypernetwork", "new", "--quiet", "--steps", "2"]
SWEEP = ["sweep", "hypernetwork", "new", "--quiet"]
BAD = [
    ([*TRAIN, "--arm", "tentacle"], "arm must be one of vanilla, hypernetwork, mlp, not 'tentacle'"),
    ([*TRAIN, "--support", "sparse"], "support must be one of connected, disconnected, connected-12, not 'sparse'"),
    ([*TRAIN, "--seed", "-1"], "seed must be from 0"),
    ([*TRAIN, "--seed", "one"], "invalid int value: 'one'"),
    ([*TRAIN, "--steps", "0"], "steps must be at least 1"),
    ([*TRAIN, "--batch-size", "0"], "batch_size must be at least 1"),
    ([*TRAIN, "--warm-up", "0"], "warm_up must be at least 1"),
    ([*TRAIN, "--lr", "0"], "lr and clip must be above 0, not 0.0 and 1.0"),
    ([*TRAIN, "--lr", "nan"], "lr must be a finite number"),
    ([*TRAIN, "--clip", "-1"], "lr and clip must be above 0"),
    ([*TRAIN, "--heads", "3"], "d_model (64) must be a multiple of heads (3)"),
    ([*TRAIN, "--heads", "0"], "heads must be at least 1"),
    ([*TRAIN, "--layers", "0"], "layers must be at least 1"),
    ([*TRAIN, "--arm", "vanilla", "--given-code"], "only a hypernetwork or mlp can be given the code"),
    ([*TRAIN, "--no-structured", "--given-code"], "only of a structured teacher"),
    ([*TRAIN, "--checkpoint-every", "300"], "checkpoint_every (300) must be a multiple of log_every (200)"),
    ([*TRAIN, "--threads", "0"], "threads must be at least 1"),
    ([*TRAIN, "--device", "abacus"], "abacus"),
    ([*TRAIN, "--momentum", "0.9"], "unrecognized arguments: --momentum 0.9"),
    (["train", "hypernetwork"], "required: FOLDER"),
    (["train", "hypernetwork", "whole"], "holds a run with another config (seed 3 -> 0,"),
    (["train", "hypernetwork", "cut"], "config.json is damaged: not JSON"),
    (["train", "hypernetwork", "file"], "Not a directory"),
    ([*SWEEP, "--book", "--jobs", "0"], "jobs must be at least 1, not 0"),
    ([*SWEEP, "--book", "--seed", "-1"], "'-1' is not a whole number or a range"),
    ([*SWEEP, "--book", "--arm", "mlp"], "with --book only --seed can be chosen"),
    ([*SWEEP, "--arm", "vanilla,tentacle"], "arm must be one of vanilla, hypernetwork, mlp, not 'tentacle'"),
    ([*SWEEP, "--given-code", "maybe"], "'maybe' is not true, false or true,false"),
    (["export", "hypernetwork"], "required: FOLDER"),
    (["export", "hypernetwork", "nowhere"], "there is no run nowhere; shipped runs: none; or give a run's folder"),
    (["export", "hypernetwork", "file"], "there is no run file"),
    (["export", "hypernetwork", "half"], "half is not finished: it stands at step 20"),
    (["export", "hypernetwork", "cut"], "config.json is damaged: not JSON"),
]


@pytest.mark.parametrize("arguments, said", BAD, ids=[" ".join(arguments)[:60] for arguments, _ in BAD])
def test_bad_input_gets_one_line_and_exit_code_2(here, own_data, monkeypatch, capsys, arguments, said):
    assert call(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and said in err
    assert err.count("\n") == 1 and err.endswith("\n") and "Traceback" not in err
    assert not (here / "new").exists() and not any(path.is_file() for path in own_data.rglob("*"))


def test_train_and_export_from_the_command_line(here, own_data, monkeypatch, capsys):
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in GIVEN.to_dict().items() if not isinstance(value, bool)]
    assert call(monkeypatch, "train", "hypernetwork", GIVEN.name, "--quiet", "--threads", 3, "--given-code", *options) == 0
    assert threads == [3]
    assert load_arm(here / GIVEN.name).config == GIVEN and GIVEN.name == "hypernetwork-connected-given-code-3"
    assert load_arm(here / GIVEN.name).record["command"].startswith("python -m assign_add_lib train hypernetwork ")
    assert call(monkeypatch, "export", "hypernetwork", GIVEN.name, "whole") == 0
    assert ArmRun.shipped() == sorted([GIVEN.name, "whole"])
    assert load_arm("whole").steps == [40]
    assert call(monkeypatch, "export", "hypernetwork", GIVEN.name) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"finished: {GIVEN.name}"
    assert err == f"error: {own_data}/companions/hypernetwork/{GIVEN.name} exists; a shipped run is never overwritten\n"


def test_a_sweep_trains_every_run_and_leaves_finished_ones_alone(here, monkeypatch, capsys):
    """It takes up a run that was stopped, and a damaged one stops no other; a seed that is given twice is trained once."""
    tiny = {"steps": 4, "log_every": 2, "checkpoint_every": 4, "batch_size": 4, "d_model": 8, "layers": 1, "heads": 1}
    parts = ({"arm": ["vanilla"]}, {"arm": ["mlp"], "given_code": [True]})
    base = {name: [value] for name, value in tiny.items()}
    system = replace(SYSTEMS["hypernetwork"], grid=[base | part for part in parts])
    monkeypatch.setitem(SYSTEMS, "hypernetwork", system)
    book = ["sweep", "hypernetwork", "all", "--book", "--seed", "0,1,0", "--jobs", "1", "--quiet"]
    names = [f"{name}-{seed}" for name in ("vanilla-connected", "mlp-connected-given-code") for seed in (0, 1)]
    config = ArmConfig(**tiny, arm="vanilla")
    train(config, here / "all" / names[0], "cpu", progress=False, stop=2)
    assert call(monkeypatch, *book) == 0
    assert capsys.readouterr() == (f"finished: {here / 'all' / 'table.csv'}\n", "")
    table = pd.read_csv(here / "all" / "table.csv")
    assert list(table.columns) == ["arm", "support", "seed", "given_code", "loss", ID, OOD]
    assert table["arm"].tolist() == ["vanilla"] * 2 + ["mlp"] * 2 and table["seed"].tolist() == [0, 1, 0, 1]
    before = {name: contents(here / "all" / name) for name in names}
    rows = {name: before[name].pop("row.csv") for name in names}
    assert contents(train(config, here / "alone", "cpu", progress=False)) == before[names[0]]
    assert [load_arm(here / "all" / name).metrics[OOD][4] for name in names] == pytest.approx(table[OOD].tolist(), rel=1e-5)
    assert call(monkeypatch, *book) == 0
    assert {name: contents(here / "all" / name) for name in names} == {n: before[n] | {"row.csv": rows[n]} for n in names}
    capsys.readouterr()
    shutil.rmtree(here / "all" / names[2])
    (here / "all" / names[1] / "row.csv").unlink()
    (here / "all" / names[1] / "metrics.csv").write_text("")
    assert call(monkeypatch, *book) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"error: 1 of 4 runs failed: {names[1]}: ") and "metrics.csv is damaged" in err
    assert (here / "all" / names[1] / "metrics.csv").read_text() == ""
    assert [contents(here / "all" / names[n]) for n in (0, 2, 3)] == [
        before[names[n]] | {"row.csv": rows[names[n]]} for n in (0, 2, 3)
    ]
