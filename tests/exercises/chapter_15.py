"""Answers to the exercises of chapter 15: mistakes, with words of what their check must say, and other right ones."""

from itertools import combinations

import torch

from assign_add_lib.companions.hypernetwork.analysis import fitted_codes
from assign_add_lib.companions.hypernetwork.training import r_squared


def share_by(which="others", of=lambda gain, loss: gain / loss):
    """An answer to exercise 15.1 that fits the code to some examples, and says something of gain and loss."""

    def encoder_share(network, tasks, others):
        x, y = {"others": others, "context": tasks.context, "questions": tasks.queries}[which]
        code = network.code(tasks.context).detach().requires_grad_()
        asked, true = tasks.queries
        written = r_squared(network.executor(code, asked), true).mean().item()
        optimizer = torch.optim.Adam([code], 0.1)
        for _ in range(200):
            optimizer.zero_grad()
            (network.executor(code, x) - y).square().mean((1, 2)).sum().backward()
            optimizer.step()
        best = r_squared(network.executor(code, asked), true).mean().item()
        return of(best - written, 1 - written)

    return encoder_share


def by(turn):
    """An answer to exercise 15.3 that turns the modules by a function of R."""
    return lambda modules, R: torch.einsum("mk,kui->mui", turn(R), modules)


def solved(modules, R):
    return torch.linalg.solve(R, modules.flatten(1)).view_as(modules)


def products(x, y):
    return (y.mT @ x).flatten(1) / 16


def slopes(x, y):
    x, y = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    return torch.linalg.solve(x.mT @ x + torch.eye(8), x.mT @ y).flatten(1)


def slopes_of_products(x, y):
    row, column = torch.tril_indices(8, 8)
    seen = torch.cat([x, 0.4 * x[..., row] * x[..., column], torch.ones_like(x[..., :1])], 2)
    inner = seen.mT @ seen + 0.3 * torch.eye(seen.shape[2])
    return torch.linalg.solve(inner, seen.mT @ y).flatten(1)


def descended(executor, x, y, start=0.3):
    """An answer to exercise 15.4 that lets all eight strengths move."""
    code = torch.full((8,), start).requires_grad_()
    optimizer = torch.optim.Adam([code], 0.05)
    for _ in range(200):
        optimizer.zero_grad()
        (executor(code[None], x[None])[0] - y).square().mean().backward()
        optimizer.step()
    return code.detach()


def on_a_grid(pairs):
    """An answer to exercise 15.4 that tries strengths of some pairs on a grid, without any gradient."""

    def few_examples(executor, x, y):
        levels = torch.linspace(0, 1, 41)
        strengths = torch.cartesian_prod(levels, levels)
        codes = torch.zeros(len(pairs), len(strengths), 8)
        for row, pair in zip(codes, pairs):
            row[:, list(pair)] = strengths
        codes = codes.flatten(0, 1)
        errors = (executor(codes, x.expand(len(codes), -1, -1)) - y).square().mean((1, 2))
        return codes[errors.argmin()]

    return few_examples


def one_strength(executor, x, y):
    """An answer to exercise 15.4 that tries every pair, with the same strength for both modules."""
    levels = torch.linspace(0, 1, 41)
    codes = torch.stack([level * torch.eye(8)[list(pair)].sum(0) for pair in EVERY_PAIR for level in levels])
    errors = (executor(codes, x.expand(len(codes), -1, -1)) - y).square().mean((1, 2))
    return codes[errors.argmin()]


def gap_by(factor=0.5, root=2):
    """An answer to exercise 15.5, with its factor and the root to divide by."""

    def gap(modules, readout, z, x):
        units = torch.einsum("mui,ni->mnu", modules, x) / root**0.5
        apart, mixed = ((z[:, None, None] * each).sum(0) for each in (units.abs(), units))
        return factor * (mixed.abs() - apart) @ readout.T

    return gap


def both_answered(relu):
    """An answer to exercise 15.5 that subtracts whole answers, with some way to cut them at 0."""

    def gap(modules, readout, z, x):
        def answered(code):
            return relu(torch.einsum("m,mui->ui", code, modules) @ x.T / 2**0.5).T @ readout.T

        return answered(z) - sum(z[m] * answered(torch.eye(8)[m]) for m in range(8))

    return gap


def one_by_one(modules, readout, z, x):
    """An answer to exercise 15.5 that goes through the modules in turn."""
    units = [strength * (x @ module.T) / 2**0.5 for strength, module in zip(z, modules)]
    return 0.5 * (abs(sum(units)) - sum(abs(each) for each in units)) @ readout.T


NAMES = {"search_code": fitted_codes}  # the chapter's own has the same arguments

EVERY_PAIR = list(combinations(range(8), 2))

MISTAKES = [
    ("encoder_share", share_by(of=lambda gain, loss: gain), "the gain in R²"),
    ("encoder_share", share_by(of=lambda gain, loss: 1 - gain / loss), "what is left"),
    ("encoder_share", share_by("context"), "what the sixteen examples give"),
    ("encoder_share", share_by("questions"), "what the questions themselves give"),
    ("features", lambda x, y: y.mean(1), "no more than the products"),
    ("features", products, "no more than the products"),
    ("features", slopes, "add what slopes cannot hold"),
    ("features", lambda x, y: torch.cat([x, y], 2).flatten(1), "the examples are a set"),
    ("features", lambda x, y: slopes(x, y).repeat(1, 40), "at most 512"),
    ("features", lambda x, y: slopes(x, y)[:100], "should be a tensor"),
    ("other_modules", by(lambda R: R), "its inverse is needed"),
    ("other_modules", by(lambda R: torch.linalg.inv(R).T), "the transpose's inverse"),
    ("other_modules", by(lambda R: R.T), "R's transpose"),
    ("other_modules", lambda modules, R: modules, "write the mixture of z R as a sum"),
    ("few_examples", descended, "use that a task has one or two"),
    ("few_examples", on_a_grid(EVERY_PAIR[:4]), "is every pair tried"),
    ("few_examples", one_strength, "two strengths of its own"),
    ("few_examples", lambda executor, x, y: torch.zeros(4), "the code has shape (4,)"),
    ("gap", gap_by(-0.5), "the sign is turned"),
    ("gap", gap_by(1), "the half is missing"),
    ("gap", gap_by(root=1), "divided by the root of 2"),
    ("gap", both_answered(torch.relu), "leave out the half"),
    ("gap", both_answered(torch.nn.functional.relu), "leave out the half"),
    ("gap", both_answered(lambda each: each.clamp(min=0)), "leave out the half"),
    ("gap", lambda modules, readout, z, x: torch.zeros(len(x), 2), "differs from the true one"),
]

RIGHT = [
    ("encoder_share", share_by()),
    ("other_modules", solved),
    ("features", slopes_of_products),
    ("few_examples", on_a_grid(EVERY_PAIR)),
    ("gap", one_by_one),
]
