"""The checks of chapter 3, Training."""

import math
import random

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from ..circuits import OV, QK, last_logits
from ..model import Weights, read_out
from ..task import STUDY, Task
from .common import as_number, as_parts, as_tensor, close, expect, expect_close, expect_number, foretold


def loss(answer) -> None:
    """Exercise 3.1: `answer(logits, answers)` is the mean cross entropy."""
    for scale in (1, 30, 1000):
        logits = scale * torch.randn(40, STUDY.n_numbers, dtype=torch.float64)
        answers = torch.randint(STUDY.n_numbers, (40,))
        given = as_number(answer(logits, answers))
        words = "exp of a large number is infinite, and a probability may round to 0: use logsumexp, and never divide"
        expect(math.isfinite(given), f"with logits of size {scale} it gives {given}; {words}")
        case = f"random logits of size {scale}"
        expect_number(given, cross_entropy(logits, answers), case, "the mean of -ln p is", 1e-6 * scale)


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
        given = as_tensor(answer(w.clone(), g.clone()), (7,))
        moved, should = given - w, truth.detach() - w
        words = f"where the gradient is 0, it moves a weight of {w[0]:.3f} by {moved[0]:.1e}; PyTorch moves it by {should[0]:.1e}"
        expect_close(moved[0], should[0], words, 1e-12)
        words = f"it moves a weight of {w[1]:.3f} with gradient {g[1]:.2e} by {moved[1]:.3e}; PyTorch moves it by {should[1]:.3e}"
        expect(close(moved, should, 0, 1e-3), words)


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


def _first_move(w: Weights, tokens: Tensor) -> Tensor:
    """The logits at `=` with layer 1 computed everywhere, and layer 2 at `=` from its two circuits, without the mask."""
    x = w.W_E[tokens] + w.W_pos
    q, k, v = x @ w.W_Q[0], x @ w.W_K[0], x @ w.W_V[0]
    x = x + (q @ k.mT).softmax(-1) @ v @ w.W_O[0]
    a = ((x[:, -1] @ QK(w, 2))[:, None] @ x.mT).softmax(-1)
    return read_out(w, x[:, -1] + (a @ x)[:, 0] @ OV(w, 2))


def _multiplications(logits, weights: Weights, tokens: Tensor) -> float:
    """How often PyTorch multiplies for the logits of these tokens."""
    with FlopCounterMode(display=False) as counter:
        logits(weights, tokens)
    return counter.get_total_flops() / 2


@foretold("the batch that is large enough for our network", lambda answer: answer(90, 16, 128, 512, 59))
def break_even(answer) -> None:
    """Exercise 3.4: `answer(rows, T, d, d_mlp, N)` is the least batch that three moves make no dearer than one."""
    for N, V, T, d, d_mlp in ((59, 12, 16, 128, 512), (31, 9, 13, 96, 200), (90, 25, 22, 32, 64), (997, 2, 8, 16, 16)):
        task = Task(N, V, T)
        weights, tokens = Weights.init(task, 0, d, d_mlp), torch.zeros(8, T, dtype=torch.long)
        four, eight = (_multiplications(last_logits, weights, tokens[:batch]) for batch in (4, 8))
        each, once = (eight - four) / 4, [_multiplications(_first_move, weights, tokens[:batch]) for batch in (4, 8)]
        tables, saved = four - 4 * each, (once[1] - once[0]) / 4 - each
        sizes = dict(rows=task.d_vocab + T, T=T, d=d, d_mlp=d_mlp, N=N)
        given = answer.__wrapped__(**sizes)  # None is an answer here
        named = "with " + ", ".join(f"{name} = {size}" for name, size in sizes.items())
        if saved <= 0:
            words = "no batch is large enough, since a further problem costs more with the tables"
            expect(given is None, f"{named} {words}; you say {given}")
        else:
            truth, words = tables / saved, "PyTorch multiplies as often either way in a batch of"
            expect_close(as_number(given), truth, f"{named} {words} {truth:.1f}; you say {given}", max(1.5, 0.1 * truth))


def _stairs(*rises: tuple[int, float]) -> pd.Series:
    """A curve that starts at 0.42 and goes to each level at its step, as measured on 2000 problems."""
    height = pd.Series(0.42, index=pd.Index(range(0, 30_001, 100), name="step"))
    for step, level in rises:
        height.loc[step:] = level
    noise = torch.randn(len(height), dtype=torch.float64).numpy() * (height * (1 - height) / 2000) ** 0.5
    return (height + noise).clip(0, 1)


def phase_starts(answer) -> None:
    """Exercise 3.5: `answer(metrics)` is the steps at which phases 2 and 3 begin, None where one does not."""
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
