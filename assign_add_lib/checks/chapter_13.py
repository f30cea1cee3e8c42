"""The checks of chapter 13, The gradient theorem."""

import math
import random

import torch

from .. import theory
from ..task import STUDY, Task
from ..theory import Setting
from .common import as_number, as_tensor, expect, expect_close, expect_number, foretold


@foretold("the share for N = 60", lambda answer: answer(60))
def sure_share(answer) -> None:
    """Exercise 13.1: `answer(N)` is the share of pairs for which the right sum alone has the largest logit, modulo N."""
    for N in (3, 4, 7, 10, 12, 59, 60):
        x, y = torch.cartesian_prod(torch.arange(N), torch.arange(N)).T
        c = (torch.eye(N)[x] + torch.eye(N)[y]).double()
        F = torch.stack([(c * c[:, (q - torch.arange(N)) % N]).sum(1) for q in range(N)], 1)
        right = F.gather(1, ((x + y) % N)[:, None])
        truth = ((F >= right).sum(1) == 1).double().mean()
        wrong = {
            "which two different numbers have the same double?": 1.0,
            "count ordered pairs, and look at odd and even N apart": 1 - (2 - N % 2) / N,
        }
        expect_number(answer(N), truth, f"{N = }", "counted over all pairs it is", wrong=wrong)


def enough_step(answer) -> None:
    """Exercise 13.3: `answer(K)` is the smallest h above which every two-variable problem with K assignments is right."""
    for K in (3, 4, 6):
        low, high = -1.0, 5.0
        for _ in range(40):
            h = (low + high) / 2
            c = (K - 2) * math.exp(-h) * torch.eye(59, dtype=torch.float64)  # a row for the number that all distractors hold
            c[:, :2] += 1
            F = theory.convolve(c)
            right, others = F[:, 1], F.index_fill(1, torch.tensor(1), -torch.inf)
            low, high = (low, h) if (right > others.amax(1) + 1e-12).all() else (h, high)
        given, safe = as_number(answer(K), "the step"), "that is safe, but not the smallest: it is a bound for any one answer"
        wrong = {
            f"{safe}. Try one number for all distractors": math.log((K - 2) / (math.sqrt(2) - 1)),
            "there is a context that it gets wrong: think of a number that makes a double together with x or y": given < high,
            "all contexts are right already at a smaller h": True,
        }
        expect_close(given, high, f"for {K} assignments it gives h = {given:.4f}", 1e-3, wrong)


@foretold("how far it moves for p = 2/N at lambda = 9", lambda answer: _moved(answer, 2 / 59))
def number_operand(answer) -> None:
    """Exercise 13.2: `answer(alpha, epsilon, p, N, V)` is the typed number's gain if x = y has probability p."""
    for N, V, T in ((7, 3, 8), (11, 4, 10)):
        task = Task(N, V, T)
        setting = Setting(task, random.uniform(1, 5), 1e-11, rho=1.0)
        tokens, _ = theory.every_sequence(setting)
        same = task.right_answers(tokens) == 2 * tokens[:, task.right] % N
        for p in (1 / N, 0.0, random.random()):
            weight = torch.where(same, p / same.sum(), (1 - p) / (~same).sum()).double()
            step = -setting.step_size * theory.gradient(setting, setting.initial(), tokens, weight)
            truth = step[task.d_vocab + task.right, task.equal].item()
            mixed = 2 * setting.alpha * setting.epsilon * (1 - 1 / N)
            own = 2 * setting.alpha**2 * (p - 1 / N)
            pull = f"of weight times pull on y the right pair gives {mixed:.3g} and y with itself {own:.3g}; "
            pull += "the average pull takes its part"
            if p == 1 / N:
                pull += ". In this case the votes of y with itself cancel; what is left is the right pair, less the average"
            given = answer(setting.alpha, setting.epsilon, p, N, V)
            case = f"{N = }, {V = }, lambda = {setting.lam:.2f}, {p = :.3f}"
            expect_number(given, truth, case, "autograd gives", 1e-5, {pull: True}, 1e-5)


@foretold("the share of problems with the asked number first", lambda answer: _ranked_without(answer()))
def fair(answer) -> None:
    """Exercise 13.4: `answer()` says which pairs stay, so that a step on these still ranks most problems rightly."""
    kept = as_tensor(answer(), (STUDY.n_numbers, STUDY.n_numbers), "the table of pairs that stay").bool()
    missing, typed = (~kept).sum(), kept.sum(0)
    expect(600 <= missing <= 1100, f"{missing} pairs are left out; leave out 600 to 1100")
    share, left = _ranked_without(kept), typed > 0
    credit = (kept.diagonal()[left] / typed[left] - 1 / STUDY.n_numbers).double()
    if credit.max() - credit.min() > 1e-9:
        words = f"the vote of y with itself earns {credit.min():+.4f} a pair for one typed y and {credit.max():+.4f} for another"
        words += ": does each keep as many pairs, and each its pair x = y or none of them?"
    else:
        words = "the vote of y with itself earns as much for each typed y; look at what is ranked wrongly"
    expect(share >= 0.8, f"the step ranks {share:.0%} of the problems rightly; {words}")


def _moved(answer, p) -> float:
    """How far the typed number moves by a learner's formula, at the book's sizes."""
    setting = Setting(lam=9.0)
    return answer(setting.alpha, setting.epsilon, p, STUDY.n_numbers, STUDY.n_variables)


def _ranked_without(kept) -> float:
    """The share of problems that the theorem's step on these pairs ranks rightly."""
    setting = Setting(lam=9.0, gamma=1e-9, rho=1.0)
    step = theory.step_on_pairs(setting, torch.as_tensor(kept).bool())
    return theory.sweeps.ranked(setting.initial() + step, theory.sweeps.fresh_problems(500)["1-var"])
