"""The checks of chapter 7, Fourier features."""

import math
import random
from collections.abc import Callable

import torch
from torch import Tensor

from ..task import STUDY
from .common import as_tensor, exercise, expect


@exercise
def fourier_spectrum(answer: Callable) -> None:
    """Exercise 7.1: `answer(f)` is the share of energy of a function (N,) at each frequency, ((N + 1) / 2,)."""
    for N in (5, 7, *random.choices(range(9, 61, 2), k=6)):
        f = torch.randn(N, dtype=torch.float64) + random.choice([-1, 1])
        given = as_tensor(answer(f.clone()), (N // 2 + 1,), f"the spectrum for N = {N}").double()
        expect(bool((given >= -1e-9).all()), "a share is negative; square before you add")
        energy = torch.fft.fft(f).abs().square()
        halves = energy[: N // 2 + 1]  # frequency -k left out
        truth = torch.cat([halves[:1], 2 * halves[1:]]) / energy.sum()
        if not torch.allclose(given, truth, atol=1e-5):
            unfolded = any(torch.allclose(given, halves / total, atol=1e-6) for total in (halves.sum(), energy.sum()))
            expect(not unfolded, "frequency k counts once, like the constant; it has a cosine and a sine, two directions")
            total, k = float(given.sum()), int((given - truth).abs().argmax())
            expect(abs(total - 1) < 1e-5, f"the shares sum to {total:.4f}, not to 1; are all waves of length 1?")
            expect(False, f"for N = {N} it gives frequency {k} the share {given[k]:.4f}; it should be {truth[k]:.4f}")


@exercise
def shifted(answer: Callable) -> None:
    """Exercise 7.2: `answer(a, b, k, s)` are the coefficients of x -> f(x + s) for f = a cos + b sin of frequency k."""
    N = STUDY.n_numbers
    for _ in range(10):
        (a, b), k, s = torch.randn(2).tolist(), random.randint(1, N // 2), random.randint(1, N - 1)
        angle = 2 * math.pi * k * torch.arange(N, dtype=torch.float64) / N
        given = as_tensor(answer(a, b, k, s), (2,), "the answer").double()
        turned = [a * (angle + turn).cos() + b * (angle + turn).sin() for turn in (angle[s], -angle[s])]  # f(x + s), f(x - s)
        waves = torch.stack([angle.cos(), angle.sin()])
        truth, other_way = (2 / N * waves @ wave for wave in turned)
        right = torch.allclose(given, truth, atol=1e-4)
        expect(right or not torch.allclose(given, other_way, atol=1e-4), "that is f(x - s), the shift the other way")
        length = float(given.norm()) / math.hypot(a, b)
        expect(
            abs(length - 1) < 1e-3, f"a shift is a rotation and keeps the length of (a, b); yours multiplies it by {length:.3f}"
        )
        words = f"for a={a:.2f}, b={b:.2f}, k={k}, s={s} it gives ({given[0]:.3f}, {given[1]:.3f}); "
        expect(right, words + f"f(x + s) has ({truth[0]:.3f}, {truth[1]:.3f})")


@exercise
def subtracting(answer: Callable) -> None:
    """Exercise 7.3: `answer(N, ks, alpha, beta)` are the weights of an analytic network for x - y."""
    for N in random.sample((29, 31, 37, 41), 2):
        ks = torch.tensor(random.sample(range(1, N // 2 + 1), 6)).repeat_interleave(150)
        alpha, beta = 2 * math.pi * torch.rand(2, len(ks))
        given = answer(N, ks, alpha, beta)
        expect(given is not None, "your function returns nothing yet")
        expect(isinstance(given, tuple | list) and len(given) == 3, "it should return three things: left, right, out")
        n = len(ks)
        left = as_tensor(given[0], (N, n), "left")
        right = as_tensor(given[1], (N, n), "right")
        out = as_tensor(given[2], (n, N), "out")
        best = ((left[:, None] + right).square() @ out).argmax(2)
        x = torch.arange(N)
        for words, target in (("x + y", x[:, None] + x), ("y - x", x - x[:, None])):
            expect((best == target % N).float().mean() < 0.9, f"your network computes {words}, not x - y")
        share = (best == (x[:, None] - x) % N).float().mean().item()
        expect(share > 0.97, f"modulo {N}, only {share:.0%} of the pairs get x - y")


def _irrelevance(table: Tensor, group: Tensor, correction: int = 0) -> float:
    """The mean over groups of a table's standard deviation inside each, over that of the whole table."""
    inner = [table[group == each].std(correction=correction) for each in group.unique()]
    return float(sum(inner) / len(inner) / table.std(correction=correction))


@exercise
def irrelevance(answer: Callable) -> None:
    """Exercise 7.4: `answer(logits)` is the distance irrelevance of logits (x, y, q)."""
    for N in (5, 7, 11, 13):
        x = torch.arange(N)
        logits = torch.randn(N, N, N, dtype=torch.float64) + torch.randn(N, dtype=torch.float64)[(x[:, None] - x) % N, None]
        given = answer(logits.clone())
        expect(given is not None, "your function returns nothing yet")
        given = float(given)
        right = logits.gather(2, ((x[:, None] + x) % N)[..., None]).squeeze(2)
        difference, total = (x[:, None] - x) % N, (x[:, None] + x) % N
        by_sum = abs(given - _irrelevance(right, total)) < 1e-6
        expect(not by_sum, "the inner standard deviation is over pairs of one difference x - y; yours is over pairs of one sum")
        best = abs(given - _irrelevance(logits.max(2).values, difference)) < 1e-6
        expect(not best, "take the logit of the right answer, not the largest logit")
        truth = _irrelevance(right, difference)
        near = min(abs(given - truth), abs(given - _irrelevance(right, difference, 1)))  # either standard deviation will do
        expect(near < 1e-4, f"for logits of shape ({N}, {N}, {N}) it gives {given:.4f}; it should be {truth:.4f}")
