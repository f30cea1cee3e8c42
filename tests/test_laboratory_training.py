"""Training in a world: the study's losses where it is the study's world, and runs that survive."""

from dataclasses import replace

import pytest
import torch
from small import contents
from worlds import SIZES, WORLDS, rng

from assign_add_lib import Task, TrainConfig, last_logits, load_run
from assign_add_lib.laboratory import SYSTEM, World, WorldLearner, WorldRun
from assign_add_lib.laboratory.analysis import ranked_first, right
from assign_add_lib.laboratory.data import draw_split, evaluation_sets
from assign_add_lib.laboratory.training import StudyRun, Untrained, accuracy, answers
from assign_add_lib.training import StudyLearner

WORLD = World(name="small", **SIZES, links=True, layers=3, seed=2, steps=40, batch_size=32, log_every=10, checkpoint_every=20)


def test_the_study_takes_the_same_steps():
    shared = {"seed": 3, "r": 0.5, "d_model": 16, "d_mlp": 24, "batch_size": 32, "weight_decay": 0.1}
    ours = WorldLearner(World(**shared, n_numbers=11, n_variables=5, length=12))
    theirs = StudyLearner(TrainConfig(**shared, task=Task(11, 5, 12)))
    for _ in range(20):
        assert ours.advance() == pytest.approx(theirs.advance(), rel=1e-5)


@pytest.mark.parametrize("name", ["three", "links", "times"])
def test_a_network_learns_problems_by_heart(name):
    learner = WorldLearner(replace(WORLDS[name], layers=2, heads=2, d_model=32, lr=0.01, weight_decay=0.0))
    batch = learner.population.sample(16, rng())
    learner.population = type("Same", (), {"sample": lambda *_: batch})
    losses = [learner.advance() for _ in range(150)]
    assert losses[0] > 1.5 and losses[-1] < 0.1 and accuracy(learner.network, batch) == 1


def test_the_loss_is_that_of_the_answers():
    learner = WorldLearner(WORLD)
    batch = learner.population.sample(20, rng(1))
    chance = learner.network.plain(batch.tokens).logits[:, -1].softmax(1)
    right = torch.stack([row[answer] for row, answer in zip(chance, batch.answers)])
    torch.testing.assert_close(learner.loss_on(batch), -right.log().mean())
    assert torch.equal(answers(learner.network, batch.tokens, chunk=7), chance.argmax(1))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    return SYSTEM.train(WORLD, tmp_path_factory.mktemp("whole") / "run", "cpu", progress=False)


def test_a_run_measures_its_sets(whole):
    run = WorldRun.open(whole)
    assert run.world == WORLD and run.finished and list(run.metrics.index) == [0, 10, 20, 30, 40]
    sets = evaluation_sets(WORLD, draw_split(WORLD))
    assert list(run.metrics) == ["loss", *sets] and len(sets) == 16
    for name, batch in sets.items():
        assert run.metrics.loc[40, name] == pytest.approx(accuracy(run.network(), batch), abs=1e-6)


def test_a_stopped_run_goes_on_to_the_same_bits(whole, tmp_path):
    for stop in (15, None):
        SYSTEM.train(WORLD, tmp_path / "run", "cpu", progress=False, stop=stop)
    assert contents(tmp_path / "run") == contents(whole)


def test_a_shipped_run_of_the_study_stands_in_for_a_run():
    run, shipped = StudyRun("seed-7"), load_run("seed-7")
    tokens, truth = evaluation_sets(run.world, run.split, 200)["2-var add-restricted"]
    torch.testing.assert_close(run.network()(tokens), last_logits(shipped.weights(), tokens), atol=1e-4, rtol=1e-4)
    assert torch.equal(run.split, draw_split(run.world)) and run.metrics.equals(shipped.metrics)
    assert right(run, "2-var train") > 0.98 and ranked_first(run, "2-var train") > 0.98


def test_the_untrained_network_stands_in_for_a_run(whole):
    run, untrained = WorldRun.open(whole), Untrained(WORLD)
    assert list(untrained.metrics) == list(run.metrics)[1:] and torch.equal(untrained.split, run.split)
    start = WorldLearner(WORLD).network.state_dict()
    assert all(torch.equal(each, start[name]) for name, each in untrained.network().state_dict().items())
