"""Ensembles: runs trained together are those trained one by one, to rounding, and one that fails takes none with it."""

from dataclasses import replace

import pytest
import torch
from small import CONFIG

from assign_add_lib import TrainConfig, load_run, train
from assign_add_lib.ensemble import Ensemble, train_together
from assign_add_lib.log import Diverged, Log
from assign_add_lib.training import Trainer

CONFIGS = [CONFIG, replace(CONFIG, seed=4, r=0.1), replace(CONFIG, seed=5, train_fraction=0.3)]


@pytest.fixture
def double():
    """In single precision AdamW turns gradients that are nothing but rounding into steps of full size."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def weights_of(trainer):
    return torch.cat([tensor.detach().flatten() for tensor in trainer.weights.tensors().values()])


@pytest.mark.parametrize(
    "configs",
    [CONFIGS, [replace(TrainConfig(), seed=seed, batch_size=64, r=r) for seed, r in ((1, 0.5), (2, 1.0))]],
    ids=["small", "study"],
)
def test_together_as_one_by_one(double, configs):
    alone, trainers = [Trainer(config) for config in configs], [Trainer(config) for config in configs]
    ensemble = Ensemble(trainers)
    for _ in range(30):
        together = ensemble.advance()
        assert together.tolist() == pytest.approx([trainer.advance() for trainer in alone], abs=1e-9)
    assert ensemble.step == trainers[0].step == 30 and len(set(together.tolist())) == len(configs)
    for one, other in zip(alone, trainers):
        assert torch.equal(one.generator.get_state(), other.generator.get_state())
    first = [trainer.split.train_pairs.float().mean() for trainer in trainers]
    assert first[0] != first[-1] or configs[0].train_fraction == configs[-1].train_fraction


def test_in_single_precision_the_losses_stay_together():
    alone, ensemble = [Trainer(config) for config in CONFIGS], Ensemble([Trainer(config) for config in CONFIGS])
    for _ in range(10):
        assert ensemble.advance().tolist() == pytest.approx([trainer.advance() for trainer in alone], abs=1e-3)


def test_a_state_saved_together_goes_on_alone_and_back(double, tmp_path):
    """Weights, moments, step and generator: three more steps alone are those of the ensemble."""
    ensemble = Ensemble([Trainer(config) for config in CONFIGS])
    for _ in range(5):
        ensemble.advance()
    for place, trainer in enumerate(ensemble.trainers):
        trainer.save(tmp_path / f"{place}.safetensors")
    alone = [Trainer(config) for config in CONFIGS]
    for place, trainer in enumerate(alone):
        trainer.load(tmp_path / f"{place}.safetensors")
    again = Ensemble([Trainer(config) for config in CONFIGS[:1]])
    again.trainers[0].load(tmp_path / "0.safetensors")
    again = Ensemble(again.trainers)
    for _ in range(3):
        losses = ensemble.advance().tolist()
        assert losses == pytest.approx([trainer.advance() for trainer in alone], abs=1e-9)
        assert again.advance().tolist() == pytest.approx(losses[:1], abs=1e-9)


def test_folders_are_those_of_train(tmp_path):
    logs = [Log(Trainer(config), tmp_path / str(place)) for place, config in enumerate(CONFIGS)]
    train_together(logs)
    for place, config in enumerate(CONFIGS):
        run, alone = load_run(tmp_path / str(place)), load_run(train(config, tmp_path / f"alone-{place}", "cpu", False))
        assert run.config == config and run.steps == alone.steps == [0, 40, 80]
        assert list(run.metrics.index) == list(alone.metrics.index)
        assert run.metrics["loss"].to_numpy() == pytest.approx(alone.metrics["loss"].to_numpy(), abs=0.02)
        assert run.split.train_pairs.equal(alone.split.train_pairs)


@pytest.mark.parametrize(
    "others", [replace(CONFIG, lr=1e-2), replace(CONFIG, d_mlp=32), replace(CONFIG, steps=100)], ids=["lr", "d_mlp", "steps"]
)
def test_runs_that_share_no_settings_are_refused(others):
    with pytest.raises(ValueError, match="must share all settings but seed, train_fraction and r"):
        Ensemble([Trainer(CONFIG), Trainer(others)])


def test_runs_at_other_steps_are_refused():
    ahead = Trainer(CONFIG)
    ahead.advance()
    with pytest.raises(ValueError, match="their step"):
        Ensemble([Trainer(CONFIG), ahead])


def test_a_loss_that_is_not_finite_names_its_run_and_moves_none():
    trainers = [Trainer(config) for config in CONFIGS]
    with torch.no_grad():
        trainers[1].weights.W_in[0, 0] = torch.nan
    ensemble = Ensemble(trainers)
    before = weights_of(trainers[0])
    with pytest.raises(Diverged, match="the loss is nan at step 0") as error:
        ensemble.advance()
    assert error.value.trainer is trainers[1]
    assert torch.equal(before, weights_of(trainers[0]))
