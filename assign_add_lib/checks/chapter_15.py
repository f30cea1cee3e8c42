"""The checks of chapter 15, Composing in context."""

import random
from collections.abc import Callable

import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..companions.hypernetwork.data import CONTEXT, INPUTS, MODULES, PAIRS, SINGLES, mix
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
def may_look(answer: Callable) -> None:
    """Exercise 15.2: `answer(context, questions)` (tokens, tokens) says which token may attend to which."""
    for context, questions in ((3, 2), (1, 5), (random.randint(2, 20), random.randint(1, 20))):
        tokens = context + questions
        given = as_tensor(answer(context, questions), (tokens, tokens), "the mask").bool()
        for row, column in ((i, j) for i in range(tokens) for j in range(tokens)):
            who, whom = ("example" if token < context else "question" for token in (row, column))
            allowed = whom == "example"
            words = f"token {row} ({who}) {'may' if allowed else 'may not'} look at token {column} ({whom})"
            expect(bool(given[row, column]) == allowed, f"with {context} examples and {questions} questions {words}")


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
def refined(answer: Callable) -> None:
    """Exercise 15.4: `answer(executor, x, y, start)` is a code (8,) that answers new questions of the task."""
    for _ in range(3):
        executor = Hypernetwork().requires_grad_(False)
        code = torch.zeros(MODULES)
        code[list(random.choice(SINGLES + PAIRS))] = 0.5 + random.random() / 2
        x = 2 * torch.rand(CONTEXT + 200, INPUTS) - 1
        y = executor(code[None], x[None])[0]
        start = code + 0.15 * torch.randn(MODULES)
        given = as_tensor(answer(executor, x[:CONTEXT], y[:CONTEXT], start.clone()), (MODULES,), "the code").detach()

        def error(guess):
            return (executor(guess[None], x[None])[0] - y)[CONTEXT:].square().mean().item()  # noqa: B023 - called at once

        left = error(given) / error(start)
        hint = "; it is no better than the first guess" if left > 0.9 else "; take more steps, or smaller ones in the end"
        expect(left < 0.02, f"on new questions {left:.1%} of the first guess's error is left; under 2% can be reached{hint}")
