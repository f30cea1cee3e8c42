"""Training in a world: problems learned by heart, what a run measures, and what stands in for a run."""

from dataclasses import replace

import pytest
import torch
from worlds import SIZES, WORLDS, rng

from assign_add_lib import load_run
from assign_add_lib.laboratory import SYSTEM, World, WorldLearner, WorldRun
from assign_add_lib.laboratory.analysis import ranked_first, right
from assign_add_lib.laboratory.data import draw_split, evaluation_sets
from assign_add_lib.laboratory.training import StudyRun, Untrained, answers
from assign_add_lib.model import run as forward

WORLD = World(name="small", **SIZES, links=True, layers=3, seed=2, steps=40, batch_size=32, log_every=10, checkpoint_every=20)


def test_a_network_learns_problems_by_heart():
    learner = WorldLearner(replace(WORLDS["three links"], layers=2, heads=2, d_model=32, lr=0.01, weight_decay=0.0))
    batch = learner.population.sample(16, rng())
    learner.population = type("Same", (), {"sample": lambda *_: batch})
    losses = [learner.advance() for _ in range(150)]
    assert losses[0] > 1.5 and losses[-1] < 0.1 and torch.equal(answers(learner.weights, batch.tokens), batch.answers)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    return SYSTEM.train(WORLD, tmp_path_factory.mktemp("whole") / "run", "cpu", progress=False)


def test_a_run_measures_its_sets(whole):
    """Loss and accuracy, by the plain forward."""
    run, sets, learner = WorldRun.open(whole), evaluation_sets(WORLD, draw_split(WORLD)), WorldLearner(WORLD)
    assert run.world == WORLD and run.finished and list(run.metrics.index) == [0, 10, 20, 30, 40]
    assert list(run.metrics) == ["loss", *sets] and len(sets) == 16
    for name, batch in sets.items():
        right = forward(run.weights(), batch.tokens).answers == batch.answers
        assert run.metrics.loc[40, name] == pytest.approx(right.double().mean().item(), abs=1e-6)
    unseen = learner.population.sample(1000, rng(4))
    chance = forward(run.weights(), unseen.tokens).logits.softmax(1).gather(1, unseen.answers[:, None])
    assert run.metrics.loc[40, "loss"] == pytest.approx(-chance.log().mean().item(), rel=1e-5)


def test_a_shipped_run_of_the_study_stands_in_for_a_run():
    run, shipped = StudyRun("seed-7"), load_run("seed-7")
    assert torch.equal(run.split, draw_split(run.world)) and run.metrics.equals(shipped.metrics)
    assert right(run, "2-var train") > 0.98 and ranked_first(run, "2-var train") > 0.98
    early = StudyRun("seed-42", 1900).weights()
    assert torch.equal(early.W_E, load_run("seed-42").weights(1900).W_E)


def test_the_untrained_network_stands_in_for_a_run(whole):
    run, untrained, start = WorldRun.open(whole), Untrained(WORLD), WorldLearner(WORLD).weights.tensors()
    assert list(untrained.metrics) == list(run.metrics)[1:] and torch.equal(untrained.split, run.split)
    assert all(torch.equal(each, start[name]) for name, each in untrained.weights().tensors().items())
