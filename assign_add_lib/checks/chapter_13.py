"""The checks of chapter 13, The gradient theorem."""

import math
import random
from collections.abc import Callable

import torch

from .. import theory
from ..task import STUDY, Task
from ..theory import Setting
from .common import as_number, as_tensor, close, exercise, expect, expect_close


@exercise
def sure_share(answer: Callable) -> None:
    """Exercise 13.1: `answer(N)` is the share of pairs for which the right sum alone has the largest logit, modulo N."""
    for N in (3, 4, 7, 10, 12, 59, 60):
        x, y = torch.cartesian_prod(torch.arange(N), torch.arange(N)).T
        c = torch.zeros(N * N, N, dtype=torch.float64)
        for each in (x, y):
            c.scatter_add_(1, each[:, None], torch.ones(N * N, 1, dtype=torch.float64))
        F = torch.stack([(c * c[:, (q - torch.arange(N)) % N]).sum(1) for q in range(N)], 1)
        right = F.gather(1, ((x + y) % N)[:, None])
        truth = ((F >= right).sum(1) == 1).double().mean().item()
        given = as_number(answer(N), "the share")
        words = f"for N = {N} it gives {given:.4f}; counted over all pairs it is {truth:.4f}"
        wrong = {
            "which two different numbers have the same double?": 1.0,
            "count ordered pairs, and look at odd and even N apart": any(close(given, 1 - n / N, 1e-5) for n in (1, 2)),
        }
        expect_close(given, truth, words, wrong=wrong)


@exercise
def enough_step(answer: Callable) -> None:
    """Exercise 13.3: `answer(K)` is the smallest h above which every two-variable problem with K assignments is right."""
    N = 59
    for K in (3, 4, 6):
        low, high = -1.0, 5.0
        for _ in range(40):
            h = (low + high) / 2
            c = torch.zeros(N, N, dtype=torch.float64)  # a row for the number that all distractors hold
            c[:, 0] += 1
            c[:, 1] += 1
            c += (K - 2) * math.exp(-h) * torch.eye(N, dtype=torch.float64)
            F = theory.convolve(c)
            others = F.clone()
            others[:, 1] = -torch.inf
            low, high = (low, h) if (F[:, 1] > others.max(1).values + 1e-12).all() else (h, high)
        given = as_number(answer(K), "the step")
        bound, safe = math.log((K - 2) / (math.sqrt(2) - 1)), "that is safe, but not the smallest: it is the bound of the text"
        wrong = {
            f"{safe}. Try one number for all distractors": bound,
            "there is a context that it gets wrong: think of a number that makes a double together with x or y": given < high,
            "all contexts are right already at a smaller h": True,
        }
        expect_close(given, high, f"for {K} assignments it gives h = {given:.4f}", 1e-3, wrong)


@exercise
def number_operand(answer: Callable) -> None:
    """Exercise 13.2: `answer(alpha, epsilon, p, N, V)` is the step at (p_14, q0) if x = y has probability p."""
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
            given = as_number(answer(setting.alpha, setting.epsilon, p, N, V), "the entry")
            sizes = f"for N = {N}, V = {V}, lambda = {setting.lam:.2f}, p = {p:.3f}"
            words = f"{sizes} it gives {given:.5g}; autograd gives {truth:.5g}"
            mixed = 2 * setting.alpha * setting.epsilon * (1 - 1 / N)
            own = 2 * setting.alpha**2 * (p - 1 / N)
            words += f". Of the mean pull on y the right pair gives {mixed:.3g} and y with itself {own:.3g}; r-bar takes its part"
            if p == 1 / N:
                words += ". In this case the votes of y with itself cancel; what is left is the right pair, less r-bar"
            expect(math.isclose(given, truth, rel_tol=1e-5, abs_tol=1e-5), words)


@exercise
def control(answer: Callable) -> None:
    """Exercise 13.4: `answer()` is (K, asked, W[e_v, e_v], W[e_v, q0]) after eight steps at lambda = 4, gamma = 0.5."""
    given = as_tensor(answer(), (4,), "(assignments, asked, entry, entry)")
    K, asked = (int(each) for each in given[:2])
    expect(1 <= K <= 3 and 1 <= asked <= min(2, K), "take one to three assignments, of which one or two are asked for")
    words = f"with {asked} asked of {K} both explanations predict the same; this training separates nothing"
    expect((K == 1) != (K == asked), words)
    W = theory.follow([(Setting(lam=4.0, gamma=0.5, assignments=K), 8)], asked=asked)[-1]
    e = theory.coordinates(STUDY)["moved variable"].start
    for place, (row, column) in enumerate(((e, e), (e, STUDY.equal)), 2):
        found, mine = float(given[place]), W[row, column].item()
        words = f"this training separates them, but entry {place - 1} is not {found:.4g} after eight steps"
        expect(math.isclose(found, mine, rel_tol=2e-3, abs_tol=1e-6), f"{words}; is `asked` passed on, and W the last one?")


@exercise
def null(answer: Callable) -> None:
    """Exercise 13.5: `answer(m, generator)` is a random matrix in the span of the names that pairs no name with itself."""
    m = torch.randn(12, 128, generator=torch.Generator().manual_seed(random.randrange(2**31)))
    generator = torch.Generator().manual_seed(random.randrange(2**31))
    back, drawn = torch.linalg.pinv(m), []
    for _ in range(20):
        given = as_tensor(answer(m.clone(), generator), (128, 128), "the matrix").to(m.dtype)
        Q = back.T @ given @ back
        inside = close(m.T @ Q @ m, given, 1e-3 * float(given.abs().max()), 1e-5)
        expect(inside, "the matrix leaves the span of the names; it should be a sum of products of two of them")
        expect(float(Q.abs().max()) > 1e-3, "the matrix is zero")
        worst = float(Q.diag().abs().max() / Q.abs().max())
        expect(worst < 1e-3, f"a name is paired with itself, with {worst:.2g} times the largest coefficient")
        for sums, side in ((Q.square().sum(1), "left"), (Q.square().sum(0), "right")):
            even = float(sums.max() / sums.min().clamp_min(1e-12))
            words = f"on the {side} one name has {even:.3g} times the weight of another; keep all names alike"
            expect(even < 1.01, words)
        drawn.append(Q)
    same = all(close(Q, drawn[0], 1e-4, 1e-5) for Q in drawn)
    expect(not same, "every call gives the same matrix; draw with the generator")
