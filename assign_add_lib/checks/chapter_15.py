"""The checks of chapter 15, Composing in context."""

import math
import random
from collections.abc import Callable

import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..companions.hypernetwork.analysis import probe
from ..companions.hypernetwork.data import CONTEXT, HELD_OUT, INPUTS, MODULES, PAIRS, SINGLES, SUPPORTS, Teacher, execute, mix
from ..companions.hypernetwork.model import Hypernetwork
from .common import as_tensor, exercise, expect


def _one_piece(pairs: list[tuple[int, int]]) -> bool:
    rows, columns = zip(*pairs)
    graph = coo_matrix(([1] * len(pairs), (rows, columns)), shape=(MODULES, MODULES))
    return connected_components(graph, directed=False)[0] == 1


@exercise
def connected(answer: Callable) -> None:
    """Exercise 15.1: `answer(pairs)` says whether the pairs link all eight modules into one."""
    order = random.sample(range(MODULES), MODULES)
    chain = list(zip(order, order[1:]))  # the hardest order for one sweep over the pairs is backwards
    ring = list(zip(order, order[1:] + order[:1]))
    islands = [tuple(order[:2]), *zip(order[2:], order[3:] + order[2:3])]
    cases = [chain, chain[::-1], ring[:6], islands, *(random.sample(PAIRS, random.randint(5, 14)) for _ in range(40))]
    for pairs in cases:
        given, truth = answer(list(pairs)), _one_piece(pairs)
        expect(given is not None, "your function returns nothing yet")
        named = {module for pair in pairs for module in pair}
        hint = "" if truth else "; there are islands" if len(named) == MODULES else "; some modules are in no pair"
        expect(bool(given) == truth, f"for {pairs} it says {bool(given)}; the answer is {truth}{hint}")


@exercise
def features(answer: Callable) -> None:
    """Exercise 15.2: `answer(x, y)` are features (task, at most 512) from which a linear map reads the code of a task."""
    teacher, rng = Teacher.draw(0), torch.Generator().manual_seed(random.randrange(10**6))
    fitted, new = teacher.sample(SUPPORTS["connected"], 2000, rng), teacher.sample(HELD_OUT, 500, rng)
    given = []
    for tasks in (fitted, new):
        x, y = tasks.context
        found = answer(x.clone(), y.clone())
        expect(found is not None, "your function returns nothing yet")
        expect(torch.is_tensor(found) and found.shape[0] == len(x), "the features should be a tensor (task, features)")
        found = found.detach().float().flatten(1)
        expect(found.shape[1] <= 512, f"{found.shape[1]} features; at most 512 are allowed")
        expect(bool(found.isfinite().all()), "some features are not finite numbers")
        given.append((found, tasks.z))
    x, y = fitted.context
    order = torch.randperm(CONTEXT)
    alike = torch.allclose(answer(x[:50, order], y[:50, order]), answer(x[:50], y[:50]), atol=1e-3, rtol=1e-3)
    expect(alike, "the features change when the examples change places or other tasks are left out; the examples are a set")
    inside, outside = probe(*given[0], given[0], given[1])
    hint = "; that is no more than the products of x and y give" if outside < 0.55 else "; a regression's slopes give 0.7"
    expect(outside > 0.65, f"from your features R² is {inside:.2f} where it was fitted and {outside:.2f} on held-out pairs{hint}")


@exercise
def other_modules(answer: Callable) -> None:
    """Exercise 15.3: `answer(modules, R)` does with the code z R what the modules do with the code z."""
    for _ in range(3):
        modules, z = torch.randn(MODULES, 5, INPUTS), torch.randn(20, MODULES)
        R = torch.linalg.qr(torch.randn(MODULES, MODULES))[0] @ torch.diag(1 + torch.rand(MODULES))
        given = as_tensor(answer(modules.clone(), R.clone()), modules.shape, "the answer")
        off = (mix(z @ R, given) - mix(z, modules)).abs().max().item()
        turned = {
            "; that is R applied, where its inverse is needed": R,
            "; that is the transpose's inverse": torch.linalg.inv(R).T,
        }
        hints = [
            words for words, by in turned.items() if torch.allclose(given, torch.einsum("mk,kui->mui", by, modules), atol=1e-4)
        ]
        expect(off < 1e-3, f"the two mixtures differ by up to {off:.3g}{''.join(hints[:1])}")


@exercise
def few_examples(answer: Callable) -> None:
    """Exercise 15.4: `answer(executor, x, y)` is the code (8,) of a task of at most two modules, from four examples."""
    left, active = [], []
    for _ in range(9):
        executor = Hypernetwork().requires_grad_(False)
        code = torch.zeros(MODULES)
        code[list(random.choice(SINGLES + PAIRS))] = 0.5 + random.random() / 2
        x = 2 * torch.rand(4 + 200, INPUTS) - 1
        y = executor(code[None], x[None])[0]
        given = as_tensor(answer(executor, x[:4].clone(), y[:4].clone()), (MODULES,), "the code").detach()
        error = (executor(given[None], x[None])[0] - y)[4:].square().mean()
        left.append((error / y[4:].var(0).mean()).item())
        active.append(int((given.abs() > 0.02).sum()))
    most, middle = max(active), sorted(left)[4]
    hint = f"; a code has up to {most} active modules; use that a task has one or two" if most > 2 else "; is every pair tried?"
    expect(middle < 0.02, f"on new questions the median error is {middle:.1%} of the variance; under 2% can be reached{hint}")


@exercise
def gap(answer: Callable) -> None:
    """Exercise 15.5: `answer(modules, readout, z, x)` (n, 2) is a mixture's answer less the sum of its modules' answers."""
    for _ in range(4):
        teacher, z, x = Teacher.draw(random.randrange(99)), torch.zeros(MODULES), 2 * torch.rand(20, INPUTS) - 1
        z[list(random.choice(PAIRS))] = 0.5 + torch.rand(2) / 2
        whole = execute(mix(z[None], teacher.modules), teacher.readout, x[None])[0]
        alone = torch.stack([execute(mix(one[None], teacher.modules), teacher.readout, x[None])[0] for one in torch.eye(MODULES)])
        truth = whole - torch.einsum("m,mno->no", z, alone)
        given = as_tensor(answer(teacher.modules.clone(), teacher.readout.clone(), z, x), truth.shape, "the gap")
        wrong = {-1: "; the sign is turned", 2: "; the half is missing", math.sqrt(2): "; a mixture is divided by the root of 2"}
        hints = [words for by, words in wrong.items() if torch.allclose(given, by * truth, atol=1e-4)]
        off = (given - truth).abs().max().item()
        expect(off < 1e-3, f"the gap differs from the true one by up to {off:.3g}{''.join(hints[:1])}")
