"""The checks of chapter 10, Written by hand."""

import math
import random
from collections.abc import Callable

import torch

from .. import handmade
from ..circuits import OV, bare_addition
from ..model import trace
from ..task import STUDY
from .common import exercise, expect, random_problem


@exercise
def share_of_previous(answer: Callable) -> None:
    """Exercise 10.1: `answer(s, t)` is the layer-1 weight of the token before, at position t, if it scores s."""
    for _ in range(10):
        s = random.uniform(0, 8)
        tokens = random_problem().tokens(seed=random.randrange(99))
        pattern = trace(handmade.weights(previous=s), tokens[None]).pattern[0, 0]
        for t in range(1, STUDY.room + 1):
            given = answer(s, t)
            expect(given is not None, "your function returns nothing yet")
            truth = pattern[t, t - 1].item()
            words = f"for s = {s:.2f}, position {t} reads the token before it with {truth:.4f}, not {float(given):.4f}"
            close = math.exp(s) / (math.exp(s) + t + 1)
            if abs(given - close) < 1e-6:
                words += f"; it may read {t + 1} tokens, itself included, and one of these is the token before"
            expect(abs(given - truth) < 1e-4, words)


@exercise
def lead(answer: Callable) -> None:
    """Exercise 10.2: `answer(frequencies, x, y)` is the lead of the right logit over the best other one, scale 1."""
    for size in (1, 2, 3, 4, 5, 6):
        frequencies = tuple(random.sample(range(1, 30), size))
        logits = bare_addition(handmade.weights(frequencies, scale=1)) / 2  # the circuit adds wholes, = reads halves
        for _ in range(10):
            x, y = random.randrange(STUDY.n_numbers), random.randrange(STUDY.n_numbers)
            given = answer(frequencies, x, y)
            expect(given is not None, "your function returns nothing yet")
            row, right = logits[x, y], (x + y) % STUDY.n_numbers
            truth = (row[right] - row[torch.arange(len(row)) != right].max()).item()
            words = f"for the frequencies {frequencies} and {x}+{y} the network's lead is {truth:.4f}, not {float(given):.4f}"
            if given < -1e-9:
                words += "; the size of each wave is |cos|, which is never negative"
            expect(abs(given - truth) < 2e-3, words)


@exercise
def uneven_answer(answer: Callable) -> None:
    """Exercise 10.3: `answer(x, y, a, k)` is what a network of one frequency answers if it reads a of x, 1 - a of y."""
    N = STUDY.n_numbers
    for _ in range(8):
        k = random.randrange(1, 30)
        weights = handmade.weights((k,))
        waves = weights.W_E[:N] @ OV(weights, 2)
        for _ in range(20):
            x, y, a = random.randrange(N), random.randrange(N), random.random()
            logits = ((a * waves[x] + (1 - a) * waves[y]) @ weights.W_in).relu() @ weights.W_out @ weights.W_U
            first, second = logits.topk(2).values.tolist()
            if first - second < 1e-3:  # too close to call
                continue
            given, truth = answer(x, y, a, k), logits.argmax().item()
            expect(given is not None, "your function returns nothing yet")
            words = f"for {x}+{y} with a = {a:.2f} and k = {k} the network answers {truth}, not {given}"
            if given == (x + y) % N:
                words += "; that is the right sum, which uneven reading misses"
            expect(given == truth, words)


@exercise
def mass_without_mark(answer: Callable) -> None:
    """Exercise 10.4: `answer(problem)` is the weight on the two numbers to add when no number is marked as one."""
    weights = handmade.weights(number=0)
    for kind in ("0-var", "1-var left", "1-var right", "2-var"):
        for _ in range(30):
            problem = random_problem(kind)
            given = answer(problem)
            expect(given is not None, "your function returns nothing yet")
            tokens = problem.tokens()[None]
            truth = trace(weights, tokens).pattern[0, 1, -1, STUDY.value_positions(tokens)[0]].sum().item()
            words = f"for {problem} the two numbers get {truth:.3f} of the weight, not {float(given):.3f}"
            expect(abs(given - truth) < 2e-3, words)
