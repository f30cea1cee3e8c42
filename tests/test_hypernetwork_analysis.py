"""Composing in context: analysis against slow truths."""

from itertools import product

import numpy as np
import pytest
import torch
from arms import EVERY, holding, rng
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from assign_add_lib.companions.hypernetwork import analysis
from assign_add_lib.companions.hypernetwork.data import HELD_OUT, SUPPORTS, Tasks, Teacher
from assign_add_lib.companions.hypernetwork.model import build


@pytest.fixture(scope="module")
def teacher():
    return Teacher.draw(5)


@pytest.fixture(scope="module")
def knowing(teacher):
    """An untrained encoder before an executor that is the teacher."""
    network = build("hypernetwork", 1, 16, 1, 2).requires_grad_(False)
    network.executor = holding(teacher)
    return network


def asked_otherwise(tasks):
    """The same examples, with other questions."""
    return Tasks(tasks.z, *(torch.cat([each[:, :16], -each[:, 16:]], 1) for each in tasks[1:]))


def test_refined_codes_fit_every_context_better_and_never_use_the_questions(teacher, knowing):
    tasks = teacher.sample(HELD_OUT, 30, rng(11))
    before = {name: each.clone() for name, each in knowing.state_dict().items()}
    off = analysis.misfit(knowing.executor, *tasks.context)
    refined = analysis.refine(knowing, tasks)
    slow = [((knowing.executor(refined, tasks.x[:, :16]) - tasks.y[:, :16])[task] ** 2).mean() for task in range(30)]
    torch.testing.assert_close(off(refined), torch.stack(slow))
    assert (off(refined) < off(knowing.code(tasks.context))).all()
    assert ((refined - tasks.z).abs().amax(1) < 0.01).float().mean() > 0.8  # nearly all find the true code
    assert torch.equal(analysis.refine(knowing, asked_otherwise(tasks), 20), analysis.refine(knowing, tasks, 20))
    assert all(torch.equal(each, before[name]) for name, each in knowing.state_dict().items())


def test_a_descent_may_keep_the_best_code_of_each_task_and_leaves_its_start_alone():
    """On a loss that its steps of 0.05 overshoot: the last code is worse than one on the way; tasks go each their own way."""
    start, ends = torch.tensor([[0.02], [0.3], [0.0]]), torch.tensor([[0.0], [0.1], [0.0]])
    loss = lambda code: (code - ends).abs().sum(1)  # noqa: E731
    last, kept = (analysis.descend(loss, start, 9, best) for best in (False, True))
    assert (loss(kept) <= loss(last)).all() and (loss(kept) < loss(last)).any() and kept[2] == 0
    assert torch.equal(start, torch.tensor([[0.02], [0.3], [0.0]])) and not kept.requires_grad and not last.requires_grad
    alone = analysis.descend(lambda code: (code - ends[1:2]).abs().sum(1), start[1:2], 9, True)
    torch.testing.assert_close(alone, kept[1:2])


@pytest.mark.parametrize("strength", [0.1, 20.0])
def test_ridge_answers_are_those_of_scikit_learn(teacher, strength):
    tasks = teacher.sample(EVERY, 25, rng(13))
    found = analysis.ridge_answers(tasks, strength)
    for (x, y), asked, answered, slopes in zip(
        zip(*tasks.context), tasks.queries[0], found, analysis.ridge_slopes(tasks, strength)
    ):
        slow = Ridge(strength).fit(x.double().numpy(), y.double().numpy())
        np.testing.assert_allclose(answered.numpy(), slow.predict(asked.double().numpy()), atol=1e-4)
        np.testing.assert_allclose(slopes.numpy(), slow.coef_.T, atol=1e-4)


def test_the_relu_kernel_is_the_mean_product_of_random_relu_units(teacher):
    x, other = teacher.sample(EVERY, 1, rng(13)).context[0][0], teacher.sample(EVERY, 1, rng(20)).context[0][0, :5]
    w = torch.randn(8, 400_000, generator=rng(21))
    slow = (x @ w).relu() @ (other @ w).relu().T / w.shape[1]
    torch.testing.assert_close(analysis.relu_kernel(x[None], other[None])[0], slow, atol=0.02, rtol=0)
    twice = analysis.relu_kernel(x[None], x[None])[0].diagonal()
    torch.testing.assert_close(twice, x.square().sum(1) / 2, atol=1e-3, rtol=0)  # half of a Gaussian's square is above 0


@pytest.mark.parametrize("strength", [0.01, 0.3])
def test_kernel_answers_are_those_of_scikit_learn(teacher, strength):
    tasks = teacher.sample(EVERY, 25, rng(13))
    (x, y), asked = tasks.context, tasks.queries[0]
    for found, *each in zip(
        analysis.kernel_answers(tasks, strength), analysis.relu_kernel(x, x), y, analysis.relu_kernel(asked, x)
    ):
        inner, known, between = (part.numpy() for part in each)
        slow = KernelRidge(alpha=strength, kernel="precomputed").fit(inner, known).predict(between)
        np.testing.assert_allclose(found.numpy(), slow, atol=2e-3)


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_blended_answers_are_ridge_regression_on_the_answers_of_the_bank(teacher, strength):
    tasks, support = teacher.sample(HELD_OUT, 5, rng(19)), SUPPORTS["connected"]
    known, (_, found) = analysis.bank(support, 5), analysis.blends(teacher, support, tasks, (7.0, strength), chunk=2)
    for task in range(5):
        tried = teacher.solve(known, tasks.x[task].expand(len(known), -1, -1)).y.double().flatten(1).T / len(known) ** 0.5
        slow = Ridge(strength, fit_intercept=False).fit(tried[:32].numpy(), tasks.y[task, :16].double().flatten().numpy())
        np.testing.assert_allclose(found[task].flatten().numpy(), slow.predict(tried[32:].numpy()), atol=2e-3)


@pytest.mark.parametrize("support", SUPPORTS)
def test_the_bank_covers_a_support(support):
    pairs = len(SUPPORTS[support]) - 8
    codes = analysis.bank(SUPPORTS[support])
    assert codes.shape == (8 * 9 + pairs * 81, 8) and len(codes.unique(dim=0)) == len(codes)
    levels = product((0.0, 0.5, 0.75, 1.0), repeat=8)
    expected = {code for code in levels if tuple(m for m in range(8) if code[m]) in SUPPORTS[support]}
    assert set(map(tuple, analysis.bank(SUPPORTS[support], 3).tolist())) == expected


def test_the_nearest_code_is_that_of_the_best_fit_to_the_context(teacher):
    """Against a search through the bank, one known task after another."""
    tasks, support = teacher.sample(HELD_OUT, 5, rng(15)), SUPPORTS["disconnected"]
    found = analysis.nearest_codes(teacher, support, tasks, chunk=2)
    known = analysis.bank(support)
    for task in range(5):
        tried = teacher.solve(known, tasks.x[task].expand(len(known), -1, -1))
        errors = [(each - tasks.y[task, :16]).square().sum().item() for each in tried.context[1]]
        assert torch.equal(found[task], known[int(np.argmin(errors))])


def test_what_of_a_code_is_beyond_a_support_against_a_loop(teacher):
    codes = torch.randn(40, 8, generator=rng(22))
    for support in SUPPORTS.values():
        slow = [min(sum(code[m] ** 2 for m in range(8) if m not in modules) for modules in support) for code in codes]
        torch.testing.assert_close(analysis.beyond(codes, support), torch.stack(slow))
    assert analysis.beyond(teacher.sample(SUPPORTS["connected"], 30, rng(23)).z, SUPPORTS["connected"]).max() == 0


def test_bent_codes_lie_between_the_true_code_and_the_support(teacher):
    """Without a pull they are the true codes, nearly all; with a large one, tasks of the support; questions are not used."""
    tasks, support = teacher.sample(HELD_OUT, 40, rng(24)), SUPPORTS["connected"]
    start = analysis.nearest_codes(teacher, support, tasks)
    before = start.clone()
    free, some, tight = (analysis.bent_codes(teacher, support, tasks, start, pull) for pull in (0.0, 40.0, 1e5))
    assert torch.equal(start, before)
    assert ((free - tasks.z).abs().amax(1) < 0.05).float().mean() > 0.8
    far = [analysis.beyond(each, support).mean() for each in (free, some, tight)]
    assert far[0] > 2 * far[1] > 10 * far[2] and far[2] < 0.01
    assert torch.equal(analysis.bent_codes(teacher, support, asked_otherwise(tasks), start, 40.0), some)


def test_a_probe_is_ridge_regression_on_standardised_activations():
    """Against the normal equations; the other sets are held out, and have another mean and spread."""
    generator, sets = rng(16), []
    mix = torch.randn(8, 12, generator=generator)
    for n, shift in ((2000, 0.0), (800, 0.0), (90, 0.7)):
        codes = torch.rand(n, 8, generator=generator)
        sets.append(((1 + shift) * codes @ mix + 0.3 * torch.randn(n, 12, generator=generator) + shift, codes))
    (seen, codes), *others = [tuple(each.double().numpy() for each in pair) for pair in sets]
    mean, scale = seen.mean(0), seen.std(0)
    design = (seen - mean) / scale
    slope = np.linalg.solve(design.T @ design + 2.0 * np.eye(12), design.T @ (codes - codes.mean(0)))
    slow = []
    for activations, true in others:
        errors = (activations - mean) / scale @ slope + codes.mean(0) - true
        slow.append(np.mean(1 - (errors**2).mean(0) / true.var(0)))
    assert analysis.probe(*sets[0], *sets[1:], strength=2.0) == pytest.approx(slow, abs=1e-4)
    assert slow[0] > 0.8
    shuffled = [(each, other[torch.randperm(len(other), generator=generator)]) for each, other in sets[:2]]
    assert abs(analysis.probe(*shuffled[0], shuffled[1])[0]) < 0.02


def test_to_latent_is_a_linear_fit(teacher):
    codes, generator = teacher.sample(EVERY, 200, rng(17), queries=0).z, rng(18)
    written = codes @ torch.randn(8, 8, generator=generator) + 0.1 * torch.randn(200, 8, generator=generator)
    slow = np.linalg.pinv(codes.double().numpy()) @ written.double().numpy()
    np.testing.assert_allclose(analysis.to_latent(codes, written).numpy(), slow, atol=1e-4)
