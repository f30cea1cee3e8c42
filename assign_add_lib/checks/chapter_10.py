"""The checks of chapter 10, Written by hand."""

import math
import random

import torch
from torch import Tensor

from .. import handmade
from ..analysis.weight_cost import balanced, cost
from ..circuits import OV, last_logits
from ..model import Weights, trace
from ..sampling import training_population
from ..task import STUDY
from ..training import load_run
from .common import as_number, as_parts, expect, expect_close, foretold, random_problem


@foretold("the largest s at which problems fail, 1-var and 2-var", (6.6, 5.4))
def share_of_previous(answer) -> None:
    """Exercise 10.1: `answer(s, t)` is the layer-1 weight of the token before, at position t, if it scores s."""
    for _ in range(10):
        s = random.uniform(0, 8)
        tokens = random_problem().tokens(seed=random.randrange(99))
        pattern = trace(handmade.weights(previous=s), tokens[None]).pattern[0, 0]
        for t in range(1, STUDY.room + 1):
            given, truth = as_number(answer(s, t)), pattern[t, t - 1].item()
            words = f"for s = {s:.2f}, position {t} reads the token before it with {truth:.4f}, not {given:.4f}"
            itself = f"it may read {t + 1} tokens, itself included, and one of these is the token before"
            expect_close(given, truth, words, 1e-4, {itself: math.exp(s) / (math.exp(s) + t + 1)})


@foretold("how many single frequencies are enough, modulo 57, 58 and 59", (18, 0, 29))
def lead(answer) -> None:
    """Exercise 10.2: `answer(frequencies, x, y, N)` is the lead of the right logit over the best other one, scale 1."""
    for N in (STUDY.n_numbers, 57, 58):
        for _ in range(60):
            frequencies = tuple(random.sample(range(1, (N + 1) // 2), random.randint(1, 6)))
            x, y = random.randrange(N), random.randrange(N)
            given, (best, *others) = as_number(answer(frequencies, x, y, N)), _logits(frequencies, x, y, N)
            truth = (best - max(others)).item()
            words = f"modulo {N}, for frequencies {frequencies} and {x}+{y}, the lead is {truth:.4f}, not {given:.4f}"
            wrong = {"the size of each wave is |cos|, which is never negative": given < -1e-9}
            expect_close(given, truth, words, 2e-3, wrong)


def _logits(frequencies: tuple[int, ...], x: int, y: int, N: int) -> Tensor:
    """Logits (N,) at scale 1 from x + y on, both read half: by infinitely many phases, as an even N has no weights of ours."""
    k = torch.tensor(frequencies, dtype=torch.float64)[:, None]
    return ((math.pi * k * (x - y) / N).cos().abs() * (2 * math.pi * k * torch.arange(N) / N).cos()).sum(0)


def uneven_answer(answer) -> None:
    """Exercise 10.3: `answer(x, y, a, k)` is what a network of one frequency answers if it reads a of x, 1 - a of y."""
    N = STUDY.n_numbers
    for _ in range(8):
        k = random.randrange(1, 30)
        weights = handmade.weights((k,))
        waves = weights.W_E[:N] @ OV(weights, 2)
        for _ in range(20):
            x, y, a = random.randrange(N), random.randrange(N), random.random()
            logits = ((a * waves[x] + (1 - a) * waves[y]) @ weights.W_in).relu() @ weights.W_out @ weights.W_U
            first, second = logits.topk(2).values
            if first - second >= 1e-3:  # otherwise too close to call
                given, truth = as_number(answer(x, y, a, k)), logits.argmax()
                words = f"for {x}+{y} with a = {a:.2f} and k = {k} the network answers {truth}, not {given:g}"
                expect_close(given, truth, words, wrong={"that is the right sum, which uneven reading misses": (x + y) % N})


@foretold("the accuracy without the mark", 1)
def mass_without_mark(answer) -> None:
    """Exercise 10.4: `answer(problem)` is the weight on the two numbers when no number is marked as one, and the answer."""
    weights = handmade.weights(number=0)
    for kind in ("0-var", "1-var left", "1-var right", "2-var"):
        for _ in range(10):
            problem = random_problem(kind)
            weight, told = map(as_number, as_parts(answer(problem), 2, "the answer is two things, the weight and the answer"))
            tokens = problem.tokens()[None]
            truth = trace(weights, tokens).pattern[0, 1, -1, STUDY.value_positions(tokens)[0]].sum()
            expect_close(weight, truth, f"for {problem} the two numbers get {truth:.3f} of the weight, not {weight:.3f}", 2e-3)
            said = last_logits(weights, tokens).argmax()
            words = f"for {problem} the network still answers {said}, not {told:g}: all else that is read carries no waves"
            expect(told == said, words)


def cheaper_network(answer) -> None:
    """Exercise 10.5: `answer()` are weights as good as the trained ones on the page's problems, and cheaper than ours."""
    given = answer()
    expect(isinstance(given, Weights), "the answer is a `Weights`, such as `handmade.weights` gives")
    batch = training_population(load_run("seed-42").split).sample(4000, torch.Generator().manual_seed(7))
    logits = last_logits(given, batch.tokens)
    right = (logits.argmax(1) == batch.answers).float().mean()
    expect(right >= 0.999, f"of 4000 problems your network has {right:.4f} right, which is less than 0.999")
    loss, price = torch.nn.functional.cross_entropy(logits, batch.answers), cost(balanced(given))
    expect(loss <= 0.0077, f"the loss of your network is {loss:.5f}, more than 0.0077")
    expect(price <= 1263, f"your network costs {price:.0f}; the page's own costs 1273, and yours should be 10 below that")
