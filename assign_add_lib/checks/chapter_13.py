"""The checks of chapter 13, The gradient theorem."""

import math
import random
from collections.abc import Callable

import torch

from .. import theory
from ..task import STUDY, Task
from ..theory import Setting
from .common import as_tensor, exercise, expect


@exercise
def missing_number(answer: Callable) -> None:
    """Exercise 13.1: `answer(c, q)` is the derivative of the MLP's output F_q in the direction of every number."""
    for N in (5, 7, 11, 59):
        c, q = torch.rand(N, dtype=torch.float64), random.randrange(N)
        given = as_tensor(answer(c.clone(), q), (N,), "the derivative").to(torch.float64)
        with torch.enable_grad():
            content = c.clone().requires_grad_()
            output = sum(content[n] * content[(q - n) % N] for n in range(N))
            (truth,) = torch.autograd.grad(output, content)
        words = f"for N = {N} and q = {q} it differs from autograd by up to {(given - truth).abs().max():.3g}"
        if torch.allclose(2 * given, truth):
            words += "; each number occurs in two factors"
        elif torch.allclose(given, 2 * c[(torch.arange(N) - q) % N]) or torch.allclose(given, 2 * c[(torch.arange(N) + q) % N]):
            words += "; which number m solves n + m = q?"
        expect(torch.allclose(given, truth, rtol=0, atol=1e-9), words)


@exercise
def balanced_step(answer: Callable) -> None:
    """Exercise 13.2: `answer(lam, always_left)` is the multiple of the step that balances attention in 1-var problems."""
    generator = torch.Generator().manual_seed(random.randrange(2**31))
    for always_left in (True, False):
        lam = random.uniform(8, 30)
        setting = Setting(lam=lam, rho=1.0 if always_left else 0.5, assignments=3)
        tokens = theory.draw(setting, 1, 50, generator)
        tokens = tokens[tokens[:, STUDY.left] >= STUDY.first_variable][:1]
        asked = int((tokens[0, : STUDY.room] == tokens[0, STUDY.left]).nonzero()) + 1
        terms = theory.terms(setting)
        step = terms["operands"] + terms["signal"] + terms["spurious"]
        low, high = 0.0, 10.0
        for _ in range(60):
            h = (low + high) / 2
            a = theory.attention(STUDY, setting.initial() + h * step, tokens)[0]
            low, high = (h, high) if a[asked] < a[STUDY.right] else (low, h)
        given = float(as_tensor(answer(lam, always_left), (), "the multiple"))
        order = "always left" if always_left else "on either side"
        words = f"for lambda = {lam:.2f} and the variable {order} it gives {given:.4f}; attention is equal at h = {h:.4f}"
        if not always_left and abs(given - lam / (7 + 1 / 6)) < 1e-3:
            words += "; the number operand is sometimes where a variable could stand"
        expect(abs(given - h) < 1e-3, words)


@exercise
def zero_variable_answer(answer: Callable) -> None:
    """Exercise 13.3: `answer(left, right)` is what the network answers after a step in which the variable was always left."""
    setting = Setting(lam=8.0, gamma=1e-6, rho=1.0)
    W = setting.initial() + setting.step_size * theory.exact(setting)
    generator = torch.Generator().manual_seed(random.randrange(2**31))
    tokens = theory.draw(Setting(assignments=4), 0, 30, generator)
    for row, said in zip(tokens.tolist(), theory.logits(setting, W, tokens).argmax(1).tolist()):
        left, right = row[STUDY.left], row[STUDY.right]
        given = int(as_tensor(answer(left, right), (), "the answer"))
        words = f"for {left} + {right} you predict {given}; the network says {said}"
        if given == (left + right) % STUDY.n_numbers:
            words += ". That is the right answer; does the network still see both numbers?"
        elif given == 2 * left % STUDY.n_numbers:
            words += ". Which of the two positions was pushed down?"
        expect(given == said, words)


def _one_of_each(setting: Setting) -> torch.Tensor:
    """The theorem's step by autograd."""
    found = theory.gradient(setting, setting.initial(), *theory.representatives(setting))
    return -setting.step_size * theory.symmetrised(setting.task, found)


@exercise
def signal(answer: Callable) -> None:
    """Exercise 13.4: `answer(alpha, epsilon, gamma, N)` is the coefficient of the memory after the step, for any gamma."""
    for N, gamma in ((7, 1e-3), (7, 2.0), (59, 0.5), (59, 30.0), (31, 8.0)):
        setting = Setting(Task(N), random.uniform(1, 6), gamma, rho=1.0)
        moved = theory.coordinates(setting.task)["moved variable"]
        truth = _one_of_each(setting)[moved, moved][0, 0].item()
        given = float(as_tensor(answer(setting.alpha, setting.epsilon, gamma, N), (), "the coefficient"))
        words = f"for N = {N}, lambda = {setting.lam:.2f}, gamma = {gamma} it gives {given:.6f}; autograd gives {truth:.6f}"
        if abs(given - (1 - 4 * setting.epsilon)) < 1e-6:
            words += ". That is the limit for gamma = 0"
        expect(abs(given - truth) < 1e-6, words)


@exercise
def number_operand(answer: Callable) -> None:
    """Exercise 13.5: `answer(alpha, epsilon, p, N, V)` is the step at (p_14, q0) if x = y has probability p."""
    for N, V, T in ((7, 3, 8), (11, 4, 10)):
        setting = Setting(Task(N, V, T), random.uniform(1, 5), 1e-11, rho=1.0)
        task = setting.task
        tokens, _ = theory.every_sequence(setting)
        y = tokens[:, task.right]
        same = task.right_answers(tokens) == 2 * y % N
        for p in (1 / N, 0.0, random.random()):
            weight = torch.where(same, p / same.sum(), (1 - p) / (~same).sum()).double()
            step = -setting.step_size * theory.gradient(setting, setting.initial(), tokens, weight)
            truth = step[task.d_vocab + task.right, task.equal].item()
            given = float(as_tensor(answer(setting.alpha, setting.epsilon, p, N, V), (), "the entry"))
            sizes = f"for N = {N}, V = {V}, lambda = {setting.lam:.2f}, p = {p:.3f}"
            words = f"{sizes} it gives {given:.5g}; autograd gives {truth:.5g}"
            if p == 1 / N:
                words += ". This is the theorem's own case, where the loud vote is silent"
            expect(math.isclose(given, truth, rel_tol=1e-5, abs_tol=1e-5), words)
