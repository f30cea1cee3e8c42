"""Composing in context: analysis against slow truths, the claims, and what is shipped against what was expected."""

import math
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge
from test_hypernetwork import EVERY, holding, rng

from assign_add_lib.companions.hypernetwork import claims
from assign_add_lib.companions.hypernetwork.analysis import (
    bank,
    context_loss,
    nearest_answers,
    probe,
    refine,
    ridge_answers,
    to_latent,
)
from assign_add_lib.companions.hypernetwork.arms import Bottleneck, Vanilla, build
from assign_add_lib.companions.hypernetwork.claims import CLAIMS, SEEDS, SOURCE, ArmSeed, seeds
from assign_add_lib.companions.hypernetwork.teacher import HELD_OUT, SUPPORTS, Tasks, Teacher
from assign_add_lib.companions.hypernetwork.training import STUDY, ArmConfig, ArmRun, ArmTrainer, load_arm, r_squared

ID, OOD = "in distribution", "out of distribution"


@pytest.fixture(scope="module")
def teacher():
    return Teacher.draw(5)


@pytest.fixture(scope="module")
def knowing(teacher):
    """An untrained encoder before an executor that is the teacher."""
    network = build("hypernetwork", 1, 16, 1, 2).requires_grad_(False)
    network.executor = holding(teacher)
    return network


def test_refined_codes_fit_every_context_better_and_never_use_the_questions(teacher, knowing):
    tasks = teacher.sample(HELD_OUT, 30, rng(11))
    before = {name: each.clone() for name, each in knowing.state_dict().items()}
    refined = refine(knowing, tasks)
    slow = [((knowing.executor(refined, tasks.x[:, :16]) - tasks.y[:, :16])[task] ** 2).mean() for task in range(30)]
    torch.testing.assert_close(context_loss(knowing, tasks, refined), torch.stack(slow))
    assert (context_loss(knowing, tasks, refined) < context_loss(knowing, tasks, knowing.code(tasks.context))).all()
    assert ((refined - tasks.z).abs().amax(1) < 0.01).float().mean() > 0.8  # nearly all find the true code
    other = Tasks(tasks.z, *(torch.cat([each[:, :16], -each[:, 16:]], 1) for each in tasks[1:]))
    assert torch.equal(refine(knowing, other, 20), refine(knowing, tasks, 20))
    assert all(torch.equal(each, before[name]) for name, each in knowing.state_dict().items())


@pytest.mark.parametrize("lr", [0.03, 100.0])
def test_refining_keeps_the_best_code_of_each_task(teacher, knowing, lr):
    """However large the steps; and tasks do not influence one another."""
    tasks = teacher.sample(HELD_OUT, 30, rng(12))
    refined, amortised = refine(knowing, tasks, 10, lr), knowing.code(tasks.context)
    assert (context_loss(knowing, tasks, refined) <= context_loss(knowing, tasks, amortised)).all()
    some = Tasks(*(each[:4] for each in tasks))
    torch.testing.assert_close(refine(knowing, some, 10, lr), refined[:4], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("strength", [0.1, 1.0, 20.0])
def test_ridge_answers_are_those_of_scikit_learn(teacher, strength):
    tasks = teacher.sample(EVERY, 25, rng(13))
    found = ridge_answers(tasks, strength)
    for (x, y), asked, answered in zip(zip(*tasks.context), tasks.queries[0], found):
        slow = Ridge(strength).fit(x.double().numpy(), y.double().numpy()).predict(asked.double().numpy())
        np.testing.assert_allclose(answered.numpy(), slow, atol=1e-4)


@pytest.mark.parametrize("support", SUPPORTS)
def test_the_bank_covers_a_support(support):
    pairs = len(SUPPORTS[support]) - 8
    codes = bank(SUPPORTS[support])
    assert codes.shape == (8 * 9 + pairs * 81, 8) and len(codes.unique(dim=0)) == len(codes)
    expected = set()
    for modules in SUPPORTS[support]:
        for levels in product((0.5, 0.75, 1.0), repeat=len(modules)):
            expected.add(tuple(dict(zip(modules, levels)).get(m, 0.0) for m in range(8)))
    assert set(map(tuple, bank(SUPPORTS[support], 3).tolist())) == expected


def test_the_nearest_answers_to_a_task_of_the_bank_are_its_own(teacher):
    codes = bank(SUPPORTS["connected"])[::17]
    tasks = teacher.solve(codes, 2 * torch.rand(len(codes), 20, 8, generator=rng(14)) - 1)
    torch.testing.assert_close(nearest_answers(teacher, SUPPORTS["connected"], tasks), tasks.queries[1], atol=1e-5, rtol=0)


def test_the_nearest_answers_are_those_of_the_best_fit_to_the_context(teacher):
    """Against a search through the bank, one known task after another."""
    tasks, support = teacher.sample(HELD_OUT, 5, rng(15)), SUPPORTS["disconnected"]
    found = nearest_answers(teacher, support, tasks, chunk=2)
    known = bank(support)
    for task in range(5):
        tried = teacher.solve(known, tasks.x[task].expand(len(known), -1, -1))
        errors = [(each - tasks.y[task, :16]).square().sum().item() for each in tried.context[1]]
        torch.testing.assert_close(found[task], tried.queries[1][int(np.argmin(errors))], atol=1e-5, rtol=0)


def test_a_probe_is_ridge_regression_on_standardised_activations():
    """Against the normal equations; the other sets are held out, and have another mean and spread."""
    generator = rng(16)
    mix = torch.randn(8, 12, generator=generator)
    sets = []
    for n, shift in ((2000, 0.0), (800, 0.0), (90, 0.7)):
        codes = torch.rand(n, 8, generator=generator)
        sets.append(((1 + shift) * codes @ mix + 0.3 * torch.randn(n, 12, generator=generator) + shift, codes))
    (seen, codes), *others = [tuple(each.double().numpy() for each in pair) for pair in sets]
    mean, scale = seen.mean(0), seen.std(0)
    design = (seen - mean) / scale
    slope = np.linalg.solve(design.T @ design + 2.0 * np.eye(12), design.T @ (codes - codes.mean(0)))
    slow = []
    for activations, true in others:
        errors = ((activations - mean) / scale @ slope + codes.mean(0) - true) ** 2
        slow.append(np.mean(1 - errors.sum(0) / ((true - true.mean(0)) ** 2).sum(0)))
    assert probe(*sets[0], *sets[1:], strength=2.0) == pytest.approx(slow, abs=1e-4)
    assert slow[0] > 0.8
    shuffled = [(each, other[torch.randperm(len(other), generator=generator)]) for each, other in sets[:2]]
    assert abs(probe(*shuffled[0], shuffled[1])[0]) < 0.02


def test_to_latent_finds_a_linear_map_again(teacher):
    codes, generator = teacher.sample(EVERY, 200, rng(17), queries=0).z, rng(18)
    mix = torch.randn(8, 8, generator=generator)
    torch.testing.assert_close(to_latent(codes, codes @ mix), mix, atol=1e-4, rtol=0)
    noise = 0.1 * torch.randn(200, 8, generator=generator)
    slow = np.linalg.pinv(codes.double().numpy()) @ (codes @ mix + noise).double().numpy()
    np.testing.assert_allclose(to_latent(codes, codes @ mix + noise).numpy(), slow, atol=1e-4)


NAMES = {seed: [ArmConfig(**each, seed=seed).name for each in STUDY] for seed in SEEDS}


class FakeSeed(ArmSeed):
    """A seed of untrained runs with made-up metrics, on few tasks."""

    def tasks(self, support, n=0, stream=0):
        return super().tasks(support, 60, stream)


@cache
def fake_load(name):
    """An untrained run of the study; StopIteration for a name that the study does not train."""
    config = next(ArmConfig(**each, d_model=16, layers=1) for each in STUDY if ArmConfig(**each).name == name)
    number = NAMES[0].index(name)
    metrics = pd.DataFrame({ID: [0.1, 0.3 + 0.01 * number, 0.9], OOD: [0.1, 0.2, 0.5 + 0.02 * number**2]}, index=[0, 4000, 8000])
    return SimpleNamespace(metrics=metrics, teacher=config.teacher(), network=lambda: config.network().requires_grad_(False))


def test_every_claim_can_be_measured_and_reads_the_runs_that_it_names():
    seed = FakeSeed(0, load=fake_load)
    values = {claim.name: claim.measure(seed) for claim in CLAIMS}
    assert len(values) == len(CLAIMS) and all(math.isfinite(value) for value in values.values())
    assert {claim.of for claim in CLAIMS} == {SOURCE} and len({claim.group for claim in CLAIMS}) == 1
    last = {name: fake_load(name).metrics[OOD][8000] for name in NAMES[0]}
    half = {name: fake_load(name).metrics[ID][4000] for name in NAMES[0]}
    hyper, vanilla = last["hypernetwork-connected-0"], last["vanilla-connected-0"]
    slow = {
        "hypernetwork fits": 0.9,
        "vanilla fits": 0.9,
        "hypernetwork composes": hyper,
        "hypernetwork above vanilla": hyper - vanilla,
        "vanilla above the floors": vanilla - max(seed.floors.values()),
        "connection helps": hyper - last["hypernetwork-disconnected-0"],
        "connection alone helps": last["hypernetwork-connected-12-0"] - last["hypernetwork-disconnected-0"],
        "the bottleneck alone does not": hyper - last["mlp-connected-0"],
        "structure serves the hypernetwork": half["hypernetwork-connected-0"] - half["hypernetwork-connected-unstructured-0"],
        "vanilla needs no structure": half["vanilla-connected-0"] - half["vanilla-connected-unstructured-0"],
        "given the code": last["hypernetwork-connected-given-code-0"],
        "given the code, an MLP": last["mlp-connected-given-code-0"],
    }
    assert {name: values[name] for name in slow} == pytest.approx(slow)
    assert set(values) - set(slow) == {"refined codes compose", "code legible, hypernetwork", "code as legible, vanilla"}


def test_legible_is_what_a_probe_fitted_in_distribution_reads_in_and_out_of_it(monkeypatch):
    """Here a stream that holds the code of every pair in the support, and of held-out pairs the first four modules alone."""
    half = torch.arange(8) < 4

    def held(network, tasks):
        known = torch.tensor([tuple(code.nonzero().flatten().tolist()) in SUPPORTS["connected"] for code in tasks.z])
        return {"reading token": [torch.zeros(len(known), 8), torch.where(known[:, None] | half, tasks.z, 0.0)]}

    monkeypatch.setattr(claims, "streams", held)
    inside, outside = ArmSeed(0, load=fake_load).legible("vanilla")
    assert inside > 0.999 and 0.2 < outside < 0.5


def test_floors_are_below_what_knows_the_modules():
    seed = FakeSeed(0, load=fake_load)
    assert set(seed.floors) == {"ridge regression", "nearest seen task"}
    assert all(0 < value < 0.7 for value in seed.floors.values())
    assert not torch.equal(seed.tasks(None).x, seed.tasks(None, stream=1).x)
    assert {tuple(code.nonzero().flatten().tolist()) for code in seed.tasks(None).z} == set(HELD_OUT)


@pytest.fixture(scope="module")
def shipped():
    """The seeds that the book reads; a checkout without them fails."""
    return list(seeds().values())


def final(of, arm, support="connected", special=None, step=8000):
    """What metrics.csv says of a run at a step, by seed."""
    return lambda seed: load_arm("-".join(filter(None, [arm, support, special, str(seed.seed)]))).metrics.loc[step, of]


def less(one, other):
    return lambda seed: one(seed) - other(seed)


def drop(arm):
    return less(final(ID, arm, step=4000), final(ID, arm, special="unstructured", step=4000))


def refined(seed):
    """Mean R^2 on 250 held-out tasks, with codes refined on their examples."""
    tasks, network = seed.tasks(None, 250), seed.run("hypernetwork").network()
    x, y = tasks.queries
    return r_squared(network.executor(refine(network, tasks), x), y).mean().item()


HYPER, VANILLA = final(OOD, "hypernetwork"), final(OOD, "vanilla")
THRESHOLDS = {  # of the mean over the seeds
    "hypernetwork in distribution": (final(ID, "hypernetwork"), 0.99, math.inf),
    "hypernetwork": (HYPER, 0.85, math.inf),
    "hypernetwork, refined codes": (refined, 0.99, math.inf),
    "connected less disconnected": (less(HYPER, final(OOD, "hypernetwork", "disconnected")), 0.12, math.inf),
    "hypernetwork less mlp": (less(HYPER, final(OOD, "mlp")), 0.15, math.inf),
    "probe of the hypernetwork": (lambda seed: seed.legible("hypernetwork")[1], 0.70, math.inf),
    "hypernetwork without structure": (drop("hypernetwork"), 0.15, math.inf),
    "vanilla without structure": (drop("vanilla"), -math.inf, 0.05),
}


@pytest.mark.parametrize("measure, least, most", THRESHOLDS.values(), ids=THRESHOLDS)
def test_shipped_runs_reach_what_the_pilots_promised(shipped, measure, least, most):
    values = [measure(seed) for seed in shipped]
    assert len(values) == 3 and least <= np.mean(values) <= most, values


@pytest.mark.parametrize("seed", SEEDS)
def test_in_each_shipped_seed_the_hypernetwork_is_above_vanilla(seed):
    subject = seeds()[f"seed-{seed}"]
    assert HYPER(subject) - VANILLA(subject) >= 0.08


def test_the_shipped_runs_are_the_study():
    assert SEEDS == (0, 1, 2) and len(set(sum(NAMES.values(), []))) == 3 * len(STUDY)
    assert ArmRun.shipped() == sorted(sum(NAMES.values(), []))
    kinds = {"vanilla": Vanilla, "hypernetwork": Bottleneck, "mlp": Bottleneck}
    for seed in SEEDS:
        for each in STUDY:
            config = ArmConfig(**each, seed=seed)
            run = load_arm(config.name)
            assert run.config == config and run.steps == [8000]
            assert list(run.metrics.index) == list(range(0, 8001, 200)) and not run.metrics.isna().any().any()
            assert run.record["command"].startswith("python -m assign_add_lib.companions.hypernetwork")
            assert sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file()) < 2**19
            assert config.given_code or isinstance(run.network(), kinds[config.arm])


@pytest.mark.parametrize("seed", SEEDS)
def test_shipped_networks_answer_as_their_metrics_say(seed):
    """Both scores of every run, within 0.01 of the full-precision ones of the training run."""
    off = {}
    for name in NAMES[seed]:
        run = load_arm(name)
        trainer = ArmTrainer(run.config)
        trainer.network.load_state_dict(run.network().state_dict())
        with torch.no_grad():
            measured = trainer.measure()
        off[name] = max(abs(measured[of] - run.metrics.loc[8000, of]) for of in (ID, OOD))
    assert max(off.values()) < 0.01, off
