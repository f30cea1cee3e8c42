"""Training on rows of examples: stages, losses, measures, and runs that survive."""

from dataclasses import replace

import pytest
import torch
from small import contents
from torch.nn.functional import cross_entropy

from assign_add_lib.companions.rules.data import SETS, index_of, line_of
from assign_add_lib.companions.rules.training import PLANS, RuleConfig, RuleLearner, load_rules
from assign_add_lib.systems import SYSTEMS

CONFIG = RuleConfig(
    seed=3, p=5, tasks=16, depth=2, d_model=16, heads=2, steps=40, batch_size=96, warm_up=5, log_every=10, checkpoint_every=20
)
train = SYSTEMS["rules"].train


def test_a_network_learns_one_batch_by_heart():
    learner = RuleLearner(replace(CONFIG, steps=400, d_model=32, lr=0.003, weight_decay=0.0))
    rows = learner.sample(torch.Generator().manual_seed(0))
    rows = rows.at(slice(8))
    learner.sample = lambda generator: rows
    losses = [learner.advance() for _ in range(400)]
    alike = learner.network(rows.tokens).softmax(2).gather(2, rows.answers[..., None])
    assert losses[0] > 1.4 and losses[-1] < 0.5 * losses[0] and alike[:, 1:].mean() > 0.9  # the first shot tells nothing yet


def test_the_loss_is_the_mean_over_all_questions():
    learner = RuleLearner(CONFIG)
    rows = learner.sample(torch.Generator().manual_seed(0))
    logits = learner.network(rows.tokens)
    each = [cross_entropy(logits[row, shot], rows.answers[row, shot]) for row in range(len(logits)) for shot in range(3)]
    torch.testing.assert_close(learner.loss_on(rows), torch.stack(each).mean(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_ends_with_rows_as_the_paper_has_them(plan):
    config, stages = RuleConfig(plan=plan), PLANS[plan]
    assert sum(stage.share for stage in stages) == pytest.approx(1) and stages[-1][:2] == (0, 16)
    seen = [config.stage(step) for step in range(config.steps + 1)]
    assert list(dict.fromkeys(seen)) == list(stages) and seen[-1] == stages[-1]
    for stage in stages:
        assert seen[:-1].count(stage) == pytest.approx(stage.share * config.steps, abs=1)


def test_the_learning_rate_rises_while_the_run_warms_up():
    learner, rates = RuleLearner(CONFIG), []
    for _ in range(7):
        learner.advance()
        rates.append(learner.optimizer.param_groups[0]["lr"] / CONFIG.lr)
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1, 1])
    falling = RuleLearner(replace(CONFIG, plan="plain-cosine"))
    for step, share in {2: 0.6, 5: 1, 22: 0.532, 40: 0.02}.items():
        falling.step = step
        falling.advance()
        assert falling.optimizer.param_groups[0]["lr"] / CONFIG.lr == pytest.approx(share, abs=2e-4), step


def test_a_batch_is_of_its_stage():
    learner = RuleLearner(RuleConfig())
    for step, (lines, shots, rows) in {0: (1, 3, 600), 1000: (2, 6, 300), 9000: (None, 16, 112)}.items():
        learner.step = step
        batch = learner.sample(torch.Generator().manual_seed(step))
        assert batch.answers.shape == (rows, shots)
        found = {len(set(row)) for row in line_of(batch.inputs, 7).tolist()}
        assert max(found) == lines if lines else max(found) > 6
        assert learner.split.shown[index_of(batch.inputs, 7)].all()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    return train(CONFIG, tmp_path_factory.mktemp("whole") / "run", "cpu", progress=False)


def test_a_run_measures_the_four_sets(whole):
    run = load_rules(whole)
    assert run.config == CONFIG and list(run.metrics.index) == [0, 10, 20, 30, 40]
    assert list(run.metrics) == ["loss", *SETS] and run.metrics.drop(columns="loss").stack().between(0, 1).all()
    learner = RuleLearner(CONFIG)
    learner.network, learner.step = run.network(), 40
    assert learner.evaluate() == pytest.approx(run.metrics.iloc[-1].to_dict(), rel=1e-4)


def test_a_stopped_run_goes_on_to_the_same_bits(whole, tmp_path):
    for stop in (25, 27, 30, None):
        train(CONFIG, tmp_path / "run", progress=False, stop=stop)
    assert contents(tmp_path / "run") == contents(whole)


BAD = [
    ({"plan": "circles"}, "plan must be one of plain, lines, reversed, one-line, plain-cosine, not 'circles'"),
    ({"way": "squares"}, "way must be one of rectangles, random, not 'squares'"),
    ({"p": 9}, "p must be a prime from 5 to 97, not 9"),
    ({"p": 3}, "p must be a prime from 5 to 97, not 3"),
    ({"tasks": 18}, "tasks must be from 4 to 24, and of rectangles a multiple of 4, not 18"),
    ({"tasks": 25, "way": "random"}, "tasks must be from 4 to 24, and of rectangles a multiple of 4, not 25"),
    ({"alpha": 0.99}, "alpha must leave inputs to training and some to ask, as 0.99 of 25 does not"),
    ({"heads": 3}, "d_model (16) must be a multiple of twice the heads (3)"),
    ({"std": 0}, "lr, clip and std must be above 0, not 0.001, 1.0 and 0.0"),
    ({"weight_decay": -1}, "weight_decay must be at least 0, not -1.0"),
    ({"batch_size": 3}, "batch_size must be at least 16, not 3"),
]


@pytest.mark.parametrize("wrong, line", BAD, ids=[next(iter(wrong)) for wrong, _ in BAD])
def test_a_wrong_setting_is_one_line(wrong, line):
    with pytest.raises(ValueError) as error:
        replace(CONFIG, **wrong)
    assert str(error.value) == line


def test_runs_are_named_by_what_distinguishes_them():
    config = RuleConfig(tasks=24, way="random", seed=2)
    assert config.name == "lines-depth-4-p-7-tasks-24-random-2"
    assert config.label(("tasks", "seed")) == config.name
    assert config.label(("tasks", "lr")) == f"{config.name}_lr-0.001"
    assert replace(config, weight_decay=2.0).name == "lines-depth-4-p-7-tasks-24-random-decay-2-2"
