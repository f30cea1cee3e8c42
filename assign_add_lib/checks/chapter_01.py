"""The checks of chapter 1, The task."""

import random
from collections.abc import Callable

import torch

from ..task import STUDY, Split
from .common import as_tensor, exercise, expect, random_problem


@exercise
def tokens(answer: Callable) -> None:
    """Exercise 1.1: `answer(problem)` gives the 16 token ids of a problem, packed to the left."""
    for _ in range(50):
        problem = random_problem()
        given = as_tensor(answer(problem), (STUDY.length,), "the answer")
        for position, (ours, theirs) in enumerate(zip(problem.tokens().tolist(), given.tolist())):
            words = f"position {position} of {problem} holds {theirs}, but should hold {ours} ({STUDY.token_name(ours)})"
            expect(ours == theirs, words)


@exercise
def may_train(answer: Callable) -> None:
    """Exercise 1.2: `answer(problem, train_pairs)` says whether training may ask a problem."""
    split = Split.draw(seed=random.randrange(2**31))
    barred_left, barred_right = "kl", "ab"
    for _ in range(400):
        problem = random_problem()
        x, y = (dict(problem.assignments).get(operand, operand) for operand in (problem.left, problem.right))
        given = answer(problem, split.train_pairs)
        expect(given is not None, "your function returns nothing yet")
        if not split.train_pairs[x, y]:
            expect(not given, f"{problem} adds ({x}, {y}), which is held out, so training never asks it")
        elif str(problem.left) in barred_left:
            expect(not given, f"{problem} has {problem.left} on the left, where training never puts it")
        elif str(problem.right) in barred_right:
            expect(not given, f"{problem} has {problem.right} on the right, where training never puts it")
        else:
            expect(given, f"training may ask {problem}: ({x}, {y}) is a training pair and no variable is out of place")


@exercise
def shortcut_score(answer: Callable) -> None:
    """Exercise 1.3: `answer(N, m)` is the expected 1-var accuracy of a random assigned number."""
    for _ in range(20):
        N, m = random.randint(3, 200), random.randint(1, 12)
        given = answer(N, m)
        expect(given is not None, "your function returns nothing yet")
        truth = sum((1 + (n - 1) * (1 / N)) / n for n in range(1, m + 1)) / m  # one candidate is right, n - 1 may be by luck
        words = f"for N = {N} and m = {m} it gives {float(given):.4f}; counting the cases one by one gives {truth:.4f}"
        expect(abs(given - truth) < 1e-9, words)


@exercise
def informed(answer: Callable) -> None:
    """Exercise 1.4: `answer(tokens, train_pairs)` chooses among assigned numbers whose pair training may add."""
    split = Split.draw(seed=random.randrange(2**31))
    problems = [random_problem(random.choice(["1-var left", "1-var right"])) for _ in range(200)]
    batch = torch.stack([problem.tokens(seed=index) for index, problem in enumerate(problems)])
    given = as_tensor(answer(batch, split.train_pairs), (len(batch), STUDY.n_numbers), "the answer")
    for problem, row in zip(problems, given):
        on_left = isinstance(problem.left, str)
        constant = problem.right if on_left else problem.left
        pairs = [(value, constant) if on_left else (constant, value) for _, value in problem.assignments]
        kept = [pair for pair in pairs if split.train_pairs[pair]] or pairs
        truth = torch.zeros(STUDY.n_numbers)
        for x, y in kept:
            truth[(x + y) % STUDY.n_numbers] += 1 / len(kept)
        words = (
            f"for {problem} the answers should share the probability like {truth.nonzero().flatten().tolist()}, not as yours do"
        )
        expect(torch.allclose(row.float(), truth, atol=1e-5), words)
