"""Composing in context: training the arms, their runs, and the command line."""

import math
import shutil
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
from assign_add_lib.companions.hypernetwork.model import ARMS, Bottleneck, Hypernetwork, build
from assign_add_lib.companions.hypernetwork.training import ArmConfig, ArmLearner, ArmRun, load_arm, r_squared
from assign_add_lib.engine import runs
from assign_add_lib.engine.files import save_tensors
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


def test_steps_are_those_of_adam_on_the_loss_written_out():
    """In double precision: clipped gradients, the learning rate of each step, and weights that decay by it."""
    config = replace(GIVEN, steps=30, warm_up=10, lr=0.01, clip=0.5, weight_decay=0.3)
    learner, teacher, norms = ArmLearner(config), Teacher.draw(3), []
    weights = {name: each.detach().double().requires_grad_() for name, each in learner.tensors.items()}
    optimizer, batches = torch.optim.Adam(weights.values(), betas=(0.9, 0.98)), torch.Generator()
    batches.set_state(learner.generator.get_state())
    for step in range(25):
        tasks = teacher.sample(SUPPORTS["connected"], 8, batches)
        W = torch.tensordot(tasks.z.double(), weights["modules_"], 1) / 2**0.5
        answered = (tasks.x[:, 16:].double() @ W.mT).clamp(min=0) @ weights["readout"].T
        loss = ((answered - tasks.y[:, 16:].double()) ** 2).mean()
        gradients = torch.autograd.grad(loss, list(weights.values()))
        norms.append(sum((g**2).sum() for g in gradients).sqrt().item())
        for w, gradient in zip(weights.values(), gradients):
            w.grad = gradient * min(1, 0.5 / norms[-1])
        lr = 0.01 * ((step + 1) / 10 if step < 10 else 0.51 + 0.49 * math.cos(math.pi * (step - 10) / 20))
        optimizer.param_groups[0]["lr"] = lr
        with torch.no_grad():
            for w in weights.values():
                w *= 1 - 0.3 * lr
        optimizer.step()
        assert learner.advance() == pytest.approx(loss.item(), abs=1e-4)
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
    return train(CONFIG, tmp_path_factory.mktemp("whole") / "run", progress=False)


@pytest.mark.parametrize("config", [CONFIG, GIVEN, replace(GIVEN, arm="mlp")], ids=["whole", "given", "given mlp"])
def test_a_stopped_run_goes_on_to_the_same_bits(config, tmp_path, whole):
    one = whole if config == CONFIG else train(config, tmp_path / "one", progress=False)
    for stop in (25, 27, None):
        train(config, tmp_path / "two", progress=False, stop=stop)
    assert contents(tmp_path / "two") == contents(one)
    kind = {"hypernetwork": Hypernetwork, "mlp": type(build("mlp", 0).executor)}[config.arm]
    assert type(load_arm(one).network()) is (kind if config.given_code else Bottleneck)
    other = contents(train(replace(config, seed=4), tmp_path / "other", progress=False))
    assert not any(each == other[name] for name, each in contents(one).items())


def test_weights_of_another_arm_are_refused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    save_tensors(checkpoint_path(folder, 40), build("vanilla", 0, 16, 1, 2).state_dict(), step=40)
    with pytest.raises(ValueError, match="does not hold the weights of a network for this run's config"):
        load_arm(folder).network()


def test_an_exported_run_is_the_local_one_in_half_precision(whole, own_data):
    runs.export(whole, "mine", ArmRun, [40])
    assert ArmRun.shipped() == ["mine"]
    run = load_arm("mine")
    assert run.config == CONFIG and run.steps == [40] and run.record["torch"] == torch.__version__
    assert list(run.metrics.index) == [0, 10, 20, 30, 40] and list(run.metrics.columns) == ["loss", ID, OOD]
    pd.testing.assert_frame_equal(run.metrics, load_arm(whole).metrics)
    path = checkpoint_path(own_data / "companions/hypernetwork/mine", 40)
    kept, stored, network = load_file(checkpoint_path(whole, 40)), load_file(path), run.network()
    assert not any(each.requires_grad for each in network.parameters())
    for name, tensor in network.state_dict().items():
        assert tensor.dtype == torch.float32 and stored[name].dtype == torch.float16
        assert torch.equal(tensor, kept[name].half().float()), name
    drawn = Teacher.draw(3)
    assert torch.equal(run.teacher.modules, drawn.modules) and torch.equal(run.teacher.readout, drawn.readout)


TOLD = "only a hypernetwork or mlp can be given the code, and only of a structured teacher"
BAD = [
    (TOLD, {"arm": "vanilla", "given_code": True}),
    (TOLD, {"structured": False, "given_code": True}),
    ("arm must be one of vanilla, hypernetwork, mlp, not 'tentacle'", {"arm": "tentacle"}),
    ("support must be one of connected, disconnected, connected-12, not 'sparse'", {"support": "sparse"}),
    ("support must be text, not []", {"support": []}),
    ("lr and clip must be above 0, not 0.002 and -1.0", {"clip": -1}),
    ("d_model (16) must be a multiple of heads (3)", {"heads": 3}),
    ("layers must be at least 1, not 0", {"layers": 0}),
]


@pytest.mark.parametrize("said, wrong", BAD)
def test_a_config_that_cannot_be_is_refused_in_one_line(said, wrong):
    with pytest.raises(ValueError) as error:
        replace(CONFIG, **wrong)
    assert str(error.value) == said


def test_train_and_export_from_the_command_line(tmp_path, own_data, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in GIVEN.to_dict().items() if not isinstance(value, bool)]
    assert main(["train", "hypernetwork", GIVEN.name, "--quiet", "--given-code", *options]) == 0
    assert load_arm(tmp_path / GIVEN.name).config == GIVEN and GIVEN.name == "hypernetwork-connected-given-code-3"
    assert main(["export", "hypernetwork", GIVEN.name]) == 0
    assert ArmRun.shipped() == [GIVEN.name] and load_arm(GIVEN.name).steps == [40]
