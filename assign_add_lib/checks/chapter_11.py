"""The checks of chapter 11, Three phases."""

import random
from collections.abc import Callable

import torch

from ..analysis.history import training_share
from ..task import Split, Task
from .common import as_tensor, exercise, expect


def _restrictions(V: int) -> tuple[list[int], list[int]]:
    """Two disjoint random sets of variables of one size, at least two variables being left over."""
    order, n = random.sample(range(V), V), random.randint(1, V // 2 - 1)
    return order[:n], order[n : 2 * n]


@exercise
def two_averages(answer: Callable) -> None:
    """Exercise 11.1: `answer(accuracy, never_right, never_left)` is the accuracy on the trained places and on the others."""
    for _ in range(20):
        V = random.randint(4, 12)
        accuracy = torch.rand(V, 2, dtype=torch.float64)
        never_right, never_left = _restrictions(V)
        barred = [accuracy[v, 0] for v in never_left] + [accuracy[v, 1] for v in never_right]
        restricted = float(sum(barred)) / len(barred)
        trained = (float(accuracy.sum()) - float(sum(barred))) / (2 * V - len(barred))
        answered = answer(accuracy.clone(), never_right, never_left)
        expect(answered is not None, "your function returns nothing yet")
        given = as_tensor([float(each) for each in answered], (2,), "the pair of averages").tolist()
        turned = (sum(float(accuracy[v, 1]) for v in never_left) + sum(float(accuracy[v, 0]) for v in never_right)) / len(barred)
        hint = "; column 0 is the left side" if abs(given[1] - turned) < 1e-6 else ""
        for name, ours, truth in zip(("1-var train", "1-var var-restricted"), given, (trained, restricted)):
            words = f"{name} is {ours:.4f} for {V} variables; the mean of its places is {truth:.4f}{hint}"
            expect(abs(ours - truth) < 1e-6, words)


@exercise
def steepest(answer: Callable) -> None:
    """Exercise 11.2: `answer(values, width)` is where the window of this width with the largest rise begins."""
    for _ in range(40):
        n, width = random.randint(8, 30), random.randint(1, 5)
        values = torch.randint(0, 6, (n,)).double()
        given = int(as_tensor(answer(values.clone(), width), (), "the answer"))
        rises = [float(values[start + width] - values[start]) for start in range(n - width)]
        expect(0 <= given < len(rises), f"with {n} values and width {width} no window begins at {given}")
        words = f"with width {width} the window at {given} rises by {rises[given]:g}; one rises by {max(rises):g}"
        expect(rises[given] == max(rises), words)
        expect(given == rises.index(max(rises)), f"the window at {given} is as good as an earlier one; the first counts")


@exercise
def asked_share(answer: Callable) -> None:
    """Exercise 11.3: `answer(V, never_right, never_left, r)` is how often training asks each variable on each side."""
    for _ in range(10):
        V, r = random.randint(4, 12), random.choice([0.0, 0.25, 1.0, 3.0])
        never_right, never_left = _restrictions(V)
        pairs = torch.ones(3, 3, dtype=torch.bool)
        split = Split(Task(n_numbers=3, n_variables=V), pairs, tuple(never_right), tuple(never_left))
        truth = training_share(split, r)
        given = as_tensor(answer(V, never_right, never_left, r), (V, 2), "the answer")
        barred_first = sorted(((v, side) for v in range(V) for side in (0, 1)), key=lambda place: float(truth[place]))
        for v, side in barred_first:
            ours, right = float(given[v, side]), float(truth[v, side])
            place = f"variable {v} on the {('left', 'right')[side]}, with V = {V} and r = {r}"
            barred = v in (never_left, never_right)[side]
            hint = "; training never puts it there" if barred else "; a pair holds two different variables" if r else ""
            expect(abs(ours - right) < 1e-5, f"{place}: it gives {ours:.5f}; the share is {right:.5f}{hint}")


@exercise
def steps_to_half(answer: Callable) -> None:
    """Exercise 11.4: `answer(p, q, lr)` is how many steps of gradient descent on (1 - pq)^2 bring pq to a half."""
    cases = [(0.1, 0.1, 0.01), (0.8, 0.7, 0.01), (0.1, -0.1, 0.05), (-0.3, -0.2, 0.02)]
    cases += [(random.uniform(0.01, 0.5), random.uniform(0.01, 0.5), random.choice([0.01, 0.03])) for _ in range(8)]
    expect(answer(*cases[1]) is not None, "your function returns nothing yet")
    for p, q, lr in cases:
        weights, truth, steps = torch.tensor([p, q], dtype=torch.float64, requires_grad=True), None, 0
        while truth is None and steps <= 10_000 and float(weights.detach().abs().sum()) > 1e-9:
            if float(weights.detach().prod()) >= 0.5:
                truth = steps
                break
            with torch.enable_grad():
                (gradient,) = torch.autograd.grad((1 - weights.prod()) ** 2, weights)
            weights = (weights.detach() - lr * gradient).requires_grad_()
            steps += 1
        given = answer(p, q, lr)
        words = f"from p = {p:.3f}, q = {q:.3f} with lr = {lr} it gives {given}; gradient descent takes {truth}"
        off = given is not None and truth is not None and abs(int(given) - truth) == 1
        hint = "; do both weights move at once, and does a start above a half take 0 steps?" if off else ""
        expect((given is None) == (truth is None) and (given is None or int(given) == truth), words + hint)
