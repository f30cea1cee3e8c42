"""The checks of chapter 13, The gradient theorem."""

import math
import random

import torch

from .. import theory
from ..task import STUDY, Task
from ..theory import Setting
from .common import as_number, as_tensor, close, expect, expect_close, expect_number, foretold


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
        given, safe = as_number(answer(K), "the step"), "that is safe, but not the smallest: it is the bound of the text"
        wrong = {
            f"{safe}. Try one number for all distractors": math.log((K - 2) / (math.sqrt(2) - 1)),
            "there is a context that it gets wrong: think of a number that makes a double together with x or y": given < high,
            "all contexts are right already at a smaller h": True,
        }
        expect_close(given, high, f"for {K} assignments it gives h = {given:.4f}", 1e-3, wrong)


def number_operand(answer) -> None:
    """Exercise 13.2: `answer(alpha, epsilon, p, N, V)` is the step at (p_14, q0) if x = y has probability p."""
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
            pull = f"of the mean pull on y the right pair gives {mixed:.3g} and y with itself {own:.3g}; r-bar takes its part"
            if p == 1 / N:
                pull += ". In this case the votes of y with itself cancel; what is left is the right pair, less r-bar"
            given = answer(setting.alpha, setting.epsilon, p, N, V)
            case = f"{N = }, {V = }, lambda = {setting.lam:.2f}, {p = :.3f}"
            expect_number(given, truth, case, "autograd gives", 1e-5, {pull: True}, 1e-5)


def control(answer) -> None:
    """Exercise 13.4: `answer()` is (K, asked, W[e_v, e_v], W[e_v, q0]) after eight steps at lambda = 4, gamma = 0.5."""
    K, asked, *entries = as_tensor(answer(), (4,), "(assignments, asked, entry, entry)").tolist()
    expect(1 <= K <= 3 and 1 <= asked <= min(2, K), "take one to three assignments, of which one or two are asked for")
    words = f"with {asked:g} asked of {K:g} both explanations predict the same; this training separates nothing"
    expect((K == 1) != (K == asked), words)
    W = theory.follow([(Setting(lam=4.0, gamma=0.5, assignments=int(K)), 8)], asked=int(asked))[-1]
    e = theory.coordinates(STUDY)["moved variable"].start
    for place, (found, mine) in enumerate(zip(entries, W[e, [e, STUDY.equal]]), 1):
        words = f"this training separates them, but entry {place} is not {found:.4g} after eight steps"
        expect(close(found, mine, 1e-6, 2e-3), f"{words}; is `asked` passed on, and W the last one?")


@foretold("the share of matchings without a fixed name that reach as far at step 2200", 0.035)
def null(answer) -> None:
    """Exercise 13.5: `answer(m, generator)` is a random matrix in the span of the names that pairs no name with itself."""
    m = torch.randn(12, 128, generator=torch.Generator().manual_seed(random.randrange(2**31)))
    generator = torch.Generator().manual_seed(random.randrange(2**31))
    back, drawn = torch.linalg.pinv(m), []
    for _ in range(20):
        given = as_tensor(answer(m.clone(), generator), (128, 128), "the matrix").to(m.dtype)
        Q = back.T @ given @ back
        inside = close(m.T @ Q @ m, given, 1e-3 * float(given.abs().max()), 1e-5)
        expect(inside, "the matrix leaves the span of the names; it should be a sum of products of two of them")
        expect(Q.abs().max() > 1e-3, "the matrix is zero")
        worst = Q.diag().abs().max() / Q.abs().max()
        expect(worst < 1e-3, f"a name is paired with itself, with {worst:.2g} times the largest coefficient")
        for axis, side in ((1, "left"), (0, "right")):
            sums = Q.square().sum(axis)
            even = sums.max() / sums.min().clamp_min(1e-12)
            expect(even < 1.01, f"on the {side} one name has {even:.3g} times the weight of another; keep all names alike")
        common = "what the names have in common comes in with the wrong sign: the coefficients should sum to more than 0"
        expect(Q.sum() > 0.1 * Q.norm(), f"{common}, as in the prediction")
        drawn.append(Q)
    same = all(close(Q, drawn[0], 1e-4, 1e-5) for Q in drawn)
    expect(not same, "every call gives the same matrix; draw with the generator")
