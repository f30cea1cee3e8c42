"""Ensembles: runs trained together are those trained one by one, to rounding, and one that fails takes none with it."""

from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch
from small import CONFIG

from assign_add_lib import TrainConfig, load_run, train
from assign_add_lib.engine.learner import Diverged
from assign_add_lib.engine.log import Log
from assign_add_lib.engine.loop import begin, follow_together
from assign_add_lib.ensemble import Ensemble
from assign_add_lib.training import StudyLearner

CONFIGS = [CONFIG, replace(CONFIG, seed=4, r=0.1), replace(CONFIG, seed=5, train_fraction=0.3)]


def weights_of(learner):
    return torch.cat([tensor.detach().flatten() for tensor in learner.weights.tensors().values()])


@pytest.mark.parametrize(
    "configs",
    [CONFIGS, [replace(TrainConfig(), seed=seed, batch_size=64, r=r) for seed, r in ((1, 0.5), (2, 1.0))]],
    ids=["small", "study"],
)
def test_together_as_one_by_one(double, configs):
    alone, learners = [StudyLearner(config) for config in configs], [StudyLearner(config) for config in configs]
    ensemble = Ensemble(learners)
    for _ in range(30):
        together = ensemble.advance()
        assert together.tolist() == pytest.approx([learner.advance() for learner in alone], abs=1e-9)
    assert ensemble.step == learners[0].step == 30 and len(set(together.tolist())) == len(configs)
    for one, other in zip(alone, learners):
        assert torch.equal(one.generator.get_state(), other.generator.get_state())
        assert other.split.train_pairs.float().mean() == pytest.approx(other.config.train_fraction, abs=0.01)
    assert not any(torch.equal(learners[0].split.train_pairs, learner.split.train_pairs) for learner in learners[1:])
    for one, other in zip(alone, learners):
        torch.testing.assert_close(weights_of(other), weights_of(one), rtol=0, atol=1e-8)


def test_in_single_precision_the_losses_stay_together():
    alone, ensemble = [StudyLearner(config) for config in CONFIGS], Ensemble([StudyLearner(config) for config in CONFIGS])
    for _ in range(10):
        assert ensemble.advance().tolist() == pytest.approx([learner.advance() for learner in alone], abs=1e-3)


def test_a_state_saved_together_goes_on_alone_and_back(double, tmp_path):
    """Weights, moments, step and generator: three more steps alone are those of the ensemble."""
    ensemble = Ensemble([StudyLearner(config) for config in CONFIGS])
    for _ in range(5):
        ensemble.advance()
    for place, learner in enumerate(ensemble.learners):
        learner.save(tmp_path / f"{place}.safetensors")
    alone = [StudyLearner(config) for config in CONFIGS]
    for place, learner in enumerate(alone):
        learner.load(tmp_path / f"{place}.safetensors")
    again = Ensemble([StudyLearner(config) for config in CONFIGS[:1]])
    again.learners[0].load(tmp_path / "0.safetensors")
    again = Ensemble(again.learners)
    for _ in range(3):
        losses = ensemble.advance().tolist()
        assert losses == pytest.approx([learner.advance() for learner in alone], abs=1e-9)
        assert again.advance().tolist() == pytest.approx(losses[:1], abs=1e-9)


def test_folders_are_those_of_train(tmp_path):
    with ExitStack() as opened:
        logs = [Log.open(StudyLearner(config), tmp_path / str(place)) for place, config in enumerate(CONFIGS)]
        for log in logs:
            begin(opened.enter_context(log))
        follow_together(logs, Ensemble([log.learner for log in logs]))
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
        Ensemble([StudyLearner(CONFIG), StudyLearner(others)])


def test_runs_at_other_steps_are_refused():
    ahead = StudyLearner(CONFIG)
    ahead.advance()
    with pytest.raises(ValueError, match="their step"):
        Ensemble([StudyLearner(CONFIG), ahead])


def test_a_loss_that_is_not_finite_names_its_run_and_moves_none():
    learners = [StudyLearner(config) for config in CONFIGS]
    with torch.no_grad():
        learners[1].weights.W_in[0, 0] = torch.nan
    ensemble = Ensemble(learners)
    before = weights_of(learners[0])
    with pytest.raises(Diverged, match="the loss is nan at step 0") as error:
        ensemble.advance()
    assert error.value.learner is learners[1]
    assert torch.equal(before, weights_of(learners[0]))
