"""The checks of chapter 3, Training."""

import math
import random

import pandas as pd
import torch
from torch.nn.functional import cross_entropy

from ..circuits import last_logits
from ..sampling import training_population
from ..training import load_run
from .common import as_number, as_parts, as_tensor, close, expect, expect_close, expect_number, foretold


def _measured(answer) -> float:
    """What the answer says of training problems at step 3000 of our run."""
    run = load_run("seed-42")
    tokens, answers = training_population(run.split).sample(5000, torch.Generator().manual_seed(0))
    with torch.no_grad():
        losses = cross_entropy(last_logits(run.weights(3000), tokens), answers, reduction="none")
    return as_number(answer(losses.double()))


@foretold("the share of problems that makes half of the loss at step 3000", _measured)
def share_of_half(answer) -> None:
    """Exercise 3.1: `answer(losses)` is the smallest share of the losses that makes at least half of their sum."""
    for size in (1, 2, 7, 200):
        losses = torch.rand(size, dtype=torch.float64) ** 6 + 1e-3
        given, rest, many = as_number(answer(losses)), losses.sum().item() / 2, 0
        for loss in sorted(losses.tolist(), reverse=True):
            if rest > 0:
                rest, many = rest - loss, many + 1
        expect_number(given, many / size, f"{size} losses", "the share is", 1e-6)


@foretold(
    "how many times further the step goes with a loss 1000 times as large",
    lambda answer: answer(torch.zeros(1), torch.full((1,), 1000.0)) / answer(torch.zeros(1), torch.ones(1)),
)
def first_step(answer) -> None:
    """Exercise 3.2: `answer(w, g)` is a weight after the first step of AdamW, with gradient g."""
    for scale in (1, 1000, 1e-4):
        w, g = torch.randn(7, dtype=torch.float64), scale * (0.5 + torch.rand(7, dtype=torch.float64))
        g[0], g[1:4] = 0.0, -g[1:4]
        truth = w.clone().requires_grad_()
        truth.grad = g.clone()
        torch.optim.AdamW([truth], lr=1e-3, betas=(0.9, 0.999), weight_decay=0.02).step()
        given = as_tensor(answer(w, g), (7,))
        moved, should = given - w, truth.detach() - w
        words = f"where the gradient is 0, it moves a weight of {w[0]:.3f} by {moved[0]:.1e}; PyTorch moves it by {should[0]:.1e}"
        expect_close(moved[0], should[0], words, 1e-12)
        words = f"it moves a weight of {w[1]:.3f} with gradient {g[1]:.2e} by {moved[1]:.3e}; PyTorch moves it by {should[1]:.3e}"
        expect(close(moved, should, 0, 1e-3), words)


@foretold("the score on trained pairs with p = 0.7 and m = 6", lambda answer: answer(0.7, 6)[0])
def informed_score(answer) -> None:
    """Exercise 3.3: `answer(p, m)` is the score of the informed shortcut on trained and on held-out pairs."""
    for p, m in ((0.7, 6), (0.4, 3), (0.9, 1), (0.6, 2)):
        given = as_parts(answer(p, m), 2, "it should return two scores, trained pairs first")
        train = held_out = 0.0
        for n in range(1, m + 1):  # k of the other n - 1 candidates could be asked in training
            for k in range(n):
                chance = math.comb(n - 1, k) * p**k * (1 - p) ** (n - 1 - k) / m
                train += chance / (k + 1)
                held_out += chance / n if k == 0 else 0
        for name, theirs, ours in zip(("trained", "held-out"), given, (train, held_out)):
            expect_number(theirs, ours, f"{p = } and up to {m} assignments, on {name} pairs", "by counting it is")


def _stairs(*rises: tuple[int, float]) -> pd.Series:
    """A curve that starts at 0.42 and goes to each level at its step, as measured on 2000 problems."""
    height = pd.Series(0.42, index=pd.Index(range(0, 30_001, 100), name="step"))
    for step, level in rises:
        height.loc[step:] = level
    noise = torch.randn(len(height), dtype=torch.float64).numpy() * (height * (1 - height) / 2000) ** 0.5
    return (height + noise).clip(0, 1)


def phase_starts(answer) -> None:
    """Exercise 3.4: `answer(metrics)` is the steps at which phases 2 and 3 begin, None where one does not."""
    first, second = 100 * random.randint(18, 40), 100 * random.randint(60, 200)
    early, late = 100 * random.randint(8, 12), 100 * random.randint(220, 250)
    quick, slow = [(first, 0.94), (second, 0.999)], [(second, 0.999)]
    high, low = [(early, 0.9), (early + 100, 0.42)], [(late, 0.45), (late + 100, 0.999)]
    runs = {
        "two clear rises": (quick, slow, first, second),
        "a var-restricted set that stays at 0.55 to the end": (quick, [(first, 0.55)], first, None),
        "two sets that rise together": (quick, quick, first, first),
        "one high measurement long before the rise": (high + quick, slow, first, second),
        "one low measurement long after the rise": (quick, slow + low, first, second),
    }
    for name, (train, restricted, *truth) in runs.items():
        metrics = pd.DataFrame({"1-var train": _stairs(*train), "1-var var-restricted": _stairs(*restricted)})
        given = as_parts(answer(metrics), 2, "it should return two steps, that of phase 2 first")
        for phase, ours, theirs in zip((2, 3), truth, given):
            words = f"{name}: phase {phase} begins at {ours} by construction, and your rule says {theirs}"
            expect_close(*(math.inf if step is None else as_number(step) for step in (theirs, ours)), words, 500)
