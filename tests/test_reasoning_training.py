"""Reasoning in a loop: the losses of the arms, what they answer, and runs that survive."""

from dataclasses import replace
from functools import partial
from itertools import islice

import pytest
import torch
from loops import rng, some_graphs
from small import contents
from torch.nn.functional import cross_entropy

from assign_add_lib.companions.reasoning import training
from assign_add_lib.companions.reasoning.data import chain_of, write
from assign_add_lib.companions.reasoning.model import RIGHT_STARTS, iterate
from assign_add_lib.companions.reasoning.training import STEPS, ArmConfig, ArmLearner, answers, corrupt, load_arm
from assign_add_lib.systems import SYSTEMS

CONFIG = ArmConfig(
    seed=3, modulus=5, names=12, nodes=5, steps=40, batch_size=8, warm_up=5, skewed=10, d_model=16, d_mlp=24, heads=2, stacked=2,
    log_every=20, checkpoint_every=20,
)  # fmt: skip
train = SYSTEMS["reasoning"].train
graphs = partial(some_graphs, 20, 5, 1, deepest=4)
HEART = {"feed-forward": 100, "chain": 200, "recurrent": 100, "continuous": 150, "discrete": 500}  # steps


@pytest.mark.parametrize("arm, steps", HEART.items())
def test_an_arm_learns_one_batch_by_heart(arm, steps):
    """The same three graphs at every step: an arm that can learn has no reason to miss them, and then answers them."""
    learner = ArmLearner(replace(CONFIG, arm=arm, steps=500, d_model=32, d_mlp=64, stacked=1, lr=0.01))
    batch = some_graphs(3, 5, 1, deepest=4)
    learner.sample = lambda: batch
    losses = [learner.advance() for _ in range(steps)]
    assert losses[0] > 1 and max(losses[-20:]) < 0.01  # a single wrong token of 80 would cost more
    assert torch.equal(answers(learner.network, arm, batch), batch.solution)


def loss_by_hand(learner, batch):
    """The loss of the four arms without chance, graph by graph."""
    network, arm, losses = learner.network, learner.config.arm, []
    for row in range(len(batch.names)):
        one = batch.rows(slice(row, row + 1))
        tokens, solution = write(one, trimmed=arm != "chain"), one.solution
        if arm == "chain":
            chain = chain_of(one, solution)
            logits = network.read(network(network.embed(torch.cat([tokens.factors, chain], 1))))
            for place in range(10):
                losses.append(sum(cross_entropy(of[0, 40 + place], chain[0, place + 1, i]) for i, of in enumerate(logits)))
        else:
            times = 1 if arm == "feed-forward" else int(one.depth)
            ended = list(islice(iterate(network, network.embed(tokens.factors), False), times))[-1]
            logits = network.value(ended)[0]
            losses += [cross_entropy(logits[place], solution[0, i]) for i, place in enumerate(tokens.definitions[0])]
    return torch.stack(losses).mean()


@pytest.mark.parametrize("arm", ["feed-forward", "chain", "recurrent"])
def test_the_losses_of_whole_answers_are_those_by_hand(arm):
    """A graph at a time; a chain begins where the prompt of the most tokens that five nodes can have would end."""
    learner, batch = ArmLearner(replace(CONFIG, arm=arm)), graphs()
    torch.testing.assert_close(learner.loss_on(batch, rng(0)), loss_by_hand(learner, batch), atol=1e-5, rtol=0)


def test_the_continuous_arm_is_told_all_factors_after_every_iteration():
    learner, batch = ArmLearner(replace(CONFIG, arm="continuous")), graphs()
    tokens, states, resid, losses = write(batch), batch.states(), None, []
    for before, after in zip(states, states[1:]):
        resid = learner.network(learner.network.embed(tokens.factors) if resid is None else resid)
        target, each = tokens.holding(after, before), []
        for factor, logits in enumerate(learner.network.read(resid)):
            pairs = zip(logits[tokens.real], target[..., factor][tokens.real])
            each.append(torch.stack([cross_entropy(*pair) for pair in pairs]).mean())
        losses.append(sum(each))
    torch.testing.assert_close(learner.loss_on(batch, rng(0)), torch.stack(losses).mean(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("arm, wrong", [("discrete", 0.0), ("corrected", 0.0), ("corrected", 0.999)])
def test_a_discrete_iteration_is_taught_from_a_true_or_a_corrupted_state_to_what_follows_from_it(arm, wrong, monkeypatch):
    """Seen through the tokens that go in and the targets: states of all iterations, the next one from what is held."""
    learner, batch = ArmLearner(replace(CONFIG, arm=arm, corrupted=wrong)), some_graphs(400, 5, 1, deepest=4)
    seen = {}
    monkeypatch.setattr(learner.network, "embed", lambda factors: seen.setdefault("in", factors) * 0.0 + torch.zeros(1))
    monkeypatch.setattr(type(learner.network), "__call__", lambda self, resid: resid)
    monkeypatch.setattr(learner.network, "read", lambda resid: resid)
    monkeypatch.setattr(training, "factors_loss", lambda logits, target, kept: seen.update(out=target, kept=kept))
    learner.loss_on(batch, rng(2))
    tokens, states = write(batch), batch.states()
    held = torch.stack([row[places, 3] for row, places in zip(seen["in"], tokens.definitions)])
    true = (held[None] == states).all(2)
    assert torch.equal(seen["kept"], tokens.real) and torch.equal(seen["out"], tokens.holding(batch.step(held), held))
    if wrong:
        assert not true.any(0).all() and (held[~true.any(0)] != 5).any()
    else:
        assert true.any(0).all() and true.sum(1).min() > 40  # every iteration is drawn
        before = states[(true.int().argmax(0) - 1).clamp(min=0), torch.arange(400)]
        operands = tokens.node.ge(0) & ~tokens.defines
        assert torch.equal(seen["in"][..., 3][operands], tokens.holding(held, before)[..., 3][operands])


@pytest.mark.parametrize("arm, rounds", RIGHT_STARTS.items())
def test_right_starts_are_true_states_from_which_iterations_pass_vectors_on(arm, rounds, monkeypatch):
    learner, batch = ArmLearner(replace(CONFIG, arm=arm)), some_graphs(400, 5, 1, deepest=4)
    tokens, states, seen, embed = write(batch), batch.states(), {}, learner.network.embed
    monkeypatch.setattr(learner.network, "embed", lambda factors: embed(seen.setdefault("in", factors)))
    loss = learner.loss_on(batch, rng(2))
    held = torch.stack([each[places, 3] for each, places in zip(seen["in"], tokens.definitions)])
    true = (held[None] == states).all(2)
    assert true.any(0).all() and true.sum(1).min() > 40  # every iteration is drawn
    resid, losses = embed(seen["in"]), []
    for _ in range(rounds):
        resid, before, held = learner.network(resid), held, batch.step(held)
        losses.append(training.factors_loss(learner.network.read(resid), tokens.holding(held, before), tokens.real))
    torch.testing.assert_close(loss, torch.stack(losses).mean())


def test_corruption_hits_a_share_and_always_changes_the_number():
    held = torch.randint(8, (4000, 10), generator=rng(3))
    wrong = corrupt(held, 0.3, 7, rng(4))
    changed = wrong != held
    assert not changed[held == 7].any() and wrong.max() == 7 and wrong[held < 7].max() < 7
    assert changed[held < 7].double().mean() == pytest.approx(0.3, abs=0.01)
    shares = torch.tensor([0.0, 1.0]).repeat(2000)[:, None]
    mixed = corrupt(held, shares, 7, rng(5)) != held
    assert not mixed[::2].any() and torch.equal(mixed[1::2], held[1::2] < 7)


def test_a_chain_counts_by_the_name_that_stands_before_the_value(monkeypatch):
    """Wherever it stands, the first time it is named; what is never named is left empty."""
    batch = some_graphs(2, 5, 1, deepest=4)
    right = chain_of(batch, batch.solution)[:, 1:].unflatten(1, (5, 2))
    turned = right[:, [3, 0, 4, 1, 2]]
    missing = turned.clone()
    missing[:, 0] = turned[:, 1]
    missing[:, 1, 1, 3] = (missing[:, 1, 1, 3] + 1) % 5  # a second mention, with another value
    unnamed = batch.solution.index_fill(1, torch.tensor(3), 5)
    for written, expected in ((right, batch.solution), (turned, batch.solution), (missing, unnamed)):
        monkeypatch.setattr(training, "continue_chain", lambda *_, written=written: written.flatten(1, 2))
        network = ArmLearner(replace(CONFIG, arm="chain")).network
        assert torch.equal(answers(network, "chain", batch), expected)


def test_batches_hold_as_many_nodes_whatever_their_size():
    learner = ArmLearner(replace(CONFIG, nodes=12, batch_size=10))
    seen = [learner.sample().names.shape for _ in range(200)]
    assert {nodes for _, nodes in seen} == set(range(3, 13))
    assert all(n == 120 // nodes for n, nodes in seen)
    for step, share in ((0, 0.7 + 0.3 / 5), (10, 1 / 5)):
        learner.step = step
        zeros = torch.cat([learner.sample().numbers[:, 0] for _ in range(100)]).eq(0).double().mean()
        assert zeros == pytest.approx(share, abs=0.03)


def test_a_stopped_run_goes_on_to_the_same_bits_and_measures_nodes_and_graphs(tmp_path):
    whole = train(CONFIG, tmp_path / "whole", "cpu", progress=False)
    for stop in (27, None):
        train(CONFIG, tmp_path / "run", progress=False, stop=stop)
    assert contents(tmp_path / "run") == contents(whole)
    run, learner = load_arm(whole), ArmLearner(CONFIG)
    assert run.config == CONFIG and list(run.metrics.index) == [0, 20, 40]
    assert list(run.metrics.columns) == ["loss", "nodes", "graphs", "nodes twice", "graphs twice"]
    learner.network = run.network()
    assert learner.evaluate() == pytest.approx(run.metrics.iloc[-1].to_dict(), rel=1e-4)


BAD = [
    ({"arm": "tentacle"}, f"arm must be one of {', '.join(STEPS)}, not 'tentacle'"),
    ({"nodes": 13}, "nodes must be at most 12, not 13"),
    ({"fan_in": 4}, "fan_in must be at most 3, not 4"),
    ({"corrupted": 1.5}, "corrupted must be from 0 to below 1, not 1.5"),
    ({"heads": 3}, "d_model (16) must be a multiple of heads (3)"),
    ({"lr": 0}, "lr and clip must be above 0, not 0.0 and 1.0"),
]


@pytest.mark.parametrize("wrong, said", BAD, ids=[str(wrong) for wrong, _ in BAD])
def test_a_config_that_cannot_be_is_refused_in_one_line(wrong, said):
    with pytest.raises(ValueError) as error:
        replace(CONFIG, **wrong)
    assert str(error.value) == said
