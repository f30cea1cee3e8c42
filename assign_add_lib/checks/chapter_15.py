"""The checks of chapter 15, Composing in context."""

import math
import random
from functools import cache

import torch

from ..companions.hypernetwork import data
from ..companions.hypernetwork.analysis import probe, ridge_slopes
from ..companions.hypernetwork.data import INPUTS, MODULES, Tasks, Teacher, execute, mix
from ..companions.hypernetwork.model import Hypernetwork
from .common import as_tensor, close, expect, expect_close, foretold, hint


@foretold("the loss of R² of the fairest blend", 0.23)
def gap(answer) -> None:
    """Exercise 15.1: `answer(modules, readout, z, x)` (n, 2) is a mixture's answer less the sum of its modules' answers."""
    for _ in range(4):
        teacher, z, x = Teacher.draw(random.randrange(99)), torch.zeros(MODULES), 2 * torch.rand(20, INPUTS) - 1
        z[list(random.choice(data.PAIRS))] = 0.5 + torch.rand(2) / 2
        codes = torch.cat([z[None], torch.eye(MODULES)])
        whole, *alone = execute(mix(codes, teacher.modules), teacher.readout, x.expand(len(codes), -1, -1))
        truth = whole - torch.einsum("m,mno->no", z, torch.stack(alone))
        given, turned = (answer(teacher.modules, teacher.readout, z, each) for each in (x, -x))
        given, root = as_tensor(given, truth, "the gap"), "a mixture is divided by the root of 2"
        wrong = {"the sign is turned": -truth, "the half is missing": 2 * truth, root: math.sqrt(2) * truth}
        off = f"the gap differs from the true one by up to {(given - truth).abs().max():.3g}{hint(given, wrong, 1e-4, 1e-5)}"
        expect_close(given, truth, off, 1e-3)
        # what does not add up is even in x, to the last bit; in whole answers the half that adds up is rounded another way
        words = "right in value, but it subtracts whole answers: leave out the half of each that adds up, and the ReLU"
        expect(torch.equal(given, as_tensor(turned, truth)), words)


@foretold("how many numbers are free", 64)
def other_modules(answer) -> None:
    """Exercise 15.2: `answer(modules, R)` does with the code z R what the modules do with the code z."""
    for _ in range(3):
        modules, z = torch.randn(MODULES, 5, INPUTS), torch.randn(20, MODULES)
        R = torch.linalg.qr(torch.randn(MODULES, MODULES))[0] @ torch.diag(1 + torch.rand(MODULES))
        given = as_tensor(answer(modules, R), modules, "the answer")
        turned = {"R applied": R, "R's transpose": R.T, "the transpose's inverse": torch.linalg.inv(R).T}
        needed = "where its inverse is needed"
        wrong = {f"that is {it}, {needed}": torch.einsum("mk,kui->mui", by, modules) for it, by in turned.items()}
        wrong["neither R nor its inverse, turned or not, does this: write the mixture of z R as a sum"] = True
        mixed, truth = mix(z @ R, given), mix(z, modules)
        off = f"the two mixtures differ by up to {(mixed - truth).abs().max():.3g}"
        expect_close(mixed, truth, off + hint(given, wrong, 1e-4, 1e-5), 1e-3)


@foretold("the examples that a search over eight numbers needs", 4)
def few_examples(answer) -> None:
    """Exercise 15.3: `answer(executor, x, y)` is the code (8,) of a task of at most two modules, from three examples.

    The executors and tasks are always the same, since how near a search comes to the code depends on them.
    """
    left, active, draws, rng = [], [], random.Random(15), torch.Generator().manual_seed(15)
    for seed in range(5):
        with torch.random.fork_rng(devices=[]):  # an executor begins with what PyTorch's own generator draws
            torch.manual_seed(seed)
            executor = Hypernetwork().requires_grad_(False)
        code = torch.zeros(MODULES)
        modules = list(draws.choice(data.SUPPORTS["connected"] if seed % 2 else data.HELD_OUT))  # the median is of a new pair
        code[modules] = 0.5 + torch.rand(len(modules), generator=rng) / 2
        x = 2 * torch.rand(3 + 200, INPUTS, generator=rng) - 1
        y = executor(code[None], x[None])[0]
        given = as_tensor(answer(executor, x[:3], y[:3]), code, "the code")
        error = (executor(given[None], x[None])[0] - y)[3:].square().mean()
        left.append((error / y[3:].var(0).mean()).item())
        active.append(int((given.abs() > 0.02).sum()))
    most, middle = max(active), sorted(left)[2]
    many = f"a code has up to {most} active modules; use that a task has one or two"
    unmixed = "are pairs tried that training never mixed?"
    every = "is every pair tried, each with two strengths of its own?"
    why = hint(given, {many: most > 2, unmixed: max(left[1::2]) < 0.003, every: True})
    expect(middle < 0.003, f"on new questions the median error is {middle:.2%} of the variance; under 0.3% can be reached{why}")


@cache
def _of_a_new_teacher() -> tuple[Tasks, Tasks, float]:
    """Tasks to fit a probe to, held-out ones, and how well a probe reads the code of these from a regression's slopes."""
    teacher, rng = Teacher.draw(17), torch.Generator().manual_seed(15)
    fitted, new = teacher.sample(data.SUPPORTS["connected"], 2000, rng), teacher.sample(data.HELD_OUT, 500, rng)
    return fitted, new, *probe(ridge_slopes(fitted).flatten(1), fitted.z, (ridge_slopes(new).flatten(1), new.z))


@foretold("what the mean products give", 0.44)
def features(answer) -> str:
    """Exercise 15.4: `answer(x, y)` are features (task, at most 512) from which a linear map reads the code of a task.

    The tasks are always the same, so that equal features get equal scores; it returns the score in words.  They are of a
    teacher of their own, so that the code of a network that was trained on another is no way to it.
    """
    fitted, new, slopes = _of_a_new_teacher()
    given = []
    for x, y in (fitted.context, new.context):
        found = as_tensor(answer(x, y), None, "the features")
        expect(found.ndim > 1 and len(found) == len(x), "the features should be a tensor (task, features)")
        given.append(found.float().flatten(1))
        expect(given[-1].shape[1] <= 512, f"{given[-1].shape[1]} features; at most 512 are allowed")
        expect(given[-1].isfinite().all(), "some features are not finite numbers")
    x, y = (each[:50] for each in fitted.context)
    order = torch.randperm(data.CONTEXT, generator=torch.Generator().manual_seed(15))
    alike = close(*(as_tensor(answer(*each), None) for each in ((x[:, order], y[:, order]), (x, y))), 1e-3, 1e-3)
    expect(alike, "the features change when the examples change places or other tasks are left out; the examples are a set")
    inside, outside = probe(given[0], fitted.z, (given[0], fitted.z), (given[1], new.z))
    few = "that is no more than the products of x and y give"
    why = hint(given, {few: outside < 0.55, "add what slopes cannot hold, as products of two inputs": True})
    words = f"from your features R² is {inside:.3f} where it was fitted and {outside:.3f} on held-out pairs; from a regression's"
    expect(outside > slopes + 0.02, f"{words} slopes it is {slopes:.3f} there, and 0.02 more is asked for{why}")
    return f"from your features R² is {outside:.3f} on held-out pairs, from a regression's slopes {slopes:.3f}"
