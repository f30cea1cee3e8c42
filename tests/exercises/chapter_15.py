"""Answers to the exercises of chapter 15: mistakes, with words of what their check must say, and other right ones."""

import torch


def one_sweep(pairs):
    reached = {0}
    for a, b in pairs:
        if a in reached or b in reached:
            reached |= {a, b}
    return len(reached) == 8


def all_named(pairs):
    return {module for pair in pairs for module in pair} == set(range(8))


def enough_pairs(pairs):
    return len(pairs) >= 7


def merged(pairs):
    pieces = [{module} for module in range(8)]
    for a, b in pairs:
        joined = [piece for piece in pieces if a in piece or b in piece]
        pieces = [piece for piece in pieces if piece not in joined] + [set().union(*joined)]
    return len(pieces) == 1


def masked(oneself=False, causal=False, turned=False):
    """An answer to exercise 15.2 with mistakes."""

    def may_look(context, questions):
        tokens = context + questions
        mask = (torch.arange(tokens) < context).expand(tokens, tokens).clone()
        if oneself:
            mask |= torch.eye(tokens, dtype=torch.bool)
        if causal:
            mask &= torch.ones_like(mask).tril()
        return mask.T if turned else mask

    return may_look


def by(turn):
    """An answer to exercise 15.3 that turns the modules by a function of R."""
    return lambda modules, R: torch.einsum("mk,kui->mui", turn(R), modules)


def solved(modules, R):
    return torch.linalg.solve(R, modules.flatten(1)).view_as(modules)


def descended(steps, lr, blind=False):
    """An answer to exercise 15.4 by plain gradient descent."""

    def refined(executor, x, y, start):
        code = (torch.zeros(8) if blind else start.clone()).requires_grad_()
        for _ in range(steps):
            error = (executor(code[None], x[None])[0] - y).square().mean()
            (slope,) = torch.autograd.grad(error, code)
            code = (code - lr * slope).detach().requires_grad_()
        return code.detach()

    return refined


def newton(executor, x, y, start):
    code = start.clone()
    for _ in range(30):
        answered = lambda code: executor(code[None], x[None])[0].flatten()  # noqa: E731
        slope = torch.autograd.functional.jacobian(answered, code)
        off = y.flatten() - answered(code)
        code = code + 0.7 * torch.linalg.solve(slope.T @ slope + 1e-5 * torch.eye(8), slope.T @ off)
    return code


MISTAKES = [
    ("connected", one_sweep, "the answer is True"),
    ("connected", all_named, "there are islands"),
    ("connected", enough_pairs, "the answer is False"),
    ("may_look", masked(oneself=True), "(question) may not look at"),
    ("may_look", masked(causal=True), "(example) may look at"),
    ("may_look", masked(turned=True), "look at token"),
    ("other_modules", by(lambda R: R), "its inverse is needed"),
    ("other_modules", by(lambda R: torch.linalg.inv(R).T), "the transpose's inverse"),
    ("other_modules", lambda modules, R: modules, "the two mixtures differ"),
    ("refined", lambda executor, x, y, start: start, "no better than the first guess"),
    ("refined", descended(3, 0.01), "under 2% can be reached"),
    ("refined", lambda executor, x, y, start: start[:4], "the code has shape (4,)"),
]

RIGHT = [
    ("connected", merged),
    ("other_modules", solved),
    ("refined", newton),
]
