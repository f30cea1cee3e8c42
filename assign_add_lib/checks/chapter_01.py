"""The checks of chapter 1, The task."""

import random
from collections.abc import Callable

import torch
from torch import Tensor

from ..task import STUDY, Problem, Split
from .common import as_number, as_parts, as_tensor, as_truth, close, exercise, expect, expect_close, random_problem


def _drawn(*kinds: str | None) -> tuple[list[Problem], Tensor]:
    """Random problems of these kinds, and their token ids, spread."""
    problems = [random_problem(random.choice(kinds)) for _ in range(200)]
    return problems, torch.stack([problem.tokens(seed=index) for index, problem in enumerate(problems)])


@exercise
def numbers_to_add(answer: Callable) -> None:
    """Exercise 1.1: `answer(tokens)` gives the two numbers to add, (batch, 2), of problems of any kind and layout."""
    problems, batch = _drawn(None)
    given = as_tensor(answer(batch), (len(batch), 2))
    for problem, row, pair in zip(problems, batch, given.tolist()):
        known = dict(problem.assignments)
        truth = [known.get(operand, operand) for operand in (problem.left, problem.right)]
        words = f"for {' '.join(STUDY.names(row))} it gives {pair}; the two numbers to add are {truth}"
        expect_close(pair, truth, words, 0, {"the left operand comes first": truth[::-1]})


@exercise
def may_train(answer: Callable) -> None:
    """Exercise 1.2: `answer(problem, train_pairs)` says whether training may ask a problem."""
    split = Split.draw(seed=random.randrange(2**31))
    for _ in range(400):
        problem = random_problem()
        x, y = (dict(problem.assignments).get(operand, operand) for operand in (problem.left, problem.right))
        given = as_truth(answer(problem, split.train_pairs))
        if not split.train_pairs[x, y]:
            expect(not given, f"{problem} adds ({x}, {y}), which is held out, so training never asks it")
        elif str(problem.left) in "kl":
            expect(not given, f"{problem} has {problem.left} on the left, where training never puts it")
        elif str(problem.right) in "ab":
            expect(not given, f"{problem} has {problem.right} on the right, where training never puts it")
        else:
            expect(given, f"training may ask {problem}: ({x}, {y}) is a training pair and no variable is out of place")


@exercise
def one_look_score(answer: Callable) -> None:
    """Exercise 1.3: `answer(N, m)` is the expected 1-var accuracy of a solver that reads only the last assignment."""
    for _ in range(20):
        N, m = random.randint(3, 200), random.randint(2, 12)
        given = as_number(answer(N, m))
        cases = []  # the accuracy for each number of assignments and place of the one asked for; the last place is n - 1
        for n in range(1, m + 1):
            for place in range(n):
                taken = [place] if place == n - 1 else range(n - 1)
                cases.append((1 / n, sum(1.0 if each == place else 1 / N for each in taken) / len(taken)))
        truth = sum(p * right for p, right in cases) / m
        wrong = {
            "that is the solver that never looks": sum((1 + (n - 1) / N) / n for n in range(1, m + 1)) / m,
            "another assigned number may equal the right one, with probability 1/N": (1 + sum(2 / n for n in range(2, m + 1)))
            / m,
        }
        words = f"for N = {N} and m = {m} it gives {given:.4f}; counting the cases one by one gives {truth:.4f}"
        expect_close(given, truth, words, 1e-9, wrong)


@exercise
def informed(answer: Callable) -> None:
    """Exercise 1.4: `answer(tokens, train_pairs)` chooses among assigned numbers whose pair training may add."""
    split = Split.draw(seed=random.randrange(2**31))
    problems, batch = _drawn("1-var left", "1-var right")
    given = as_tensor(answer(batch, split.train_pairs), (len(batch), STUDY.n_numbers))
    for problem, row in zip(problems, given):
        on_left = isinstance(problem.left, str)
        constant = problem.right if on_left else problem.left
        pairs = [(value, constant) if on_left else (constant, value) for _, value in problem.assignments]
        kept = [pair for pair in pairs if split.train_pairs[pair]] or pairs
        truth = torch.zeros(STUDY.n_numbers)
        for x, y in kept:
            truth[(x + y) % STUDY.n_numbers] += 1 / len(kept)
        shared = truth.nonzero().flatten().tolist()
        expect(close(row, truth, 1e-5), f"for {problem} the answers should share the probability like {shared}, not as yours do")


@exercise
def tenth_set(answer: Callable) -> None:
    """Exercise 1.5: `answer(split, size)` gives problems that training never asks and that no evaluation set can hold."""
    split, size = Split.draw(seed=random.randrange(2**31)), random.randint(100, 200)
    tokens, answers = as_parts(answer(split, size), 2, "it should return two things: the tokens, and the answers")
    tokens = as_tensor(tokens, (size, STUDY.length), "the tokens")
    answers = as_tensor(answers, (size,), "the answers")
    for row, right in zip(tokens, answers.tolist()):
        problem = Problem.from_tokens(row)
        expect(problem.answer == right, f"{problem} has the answer {problem.answer}, not {right}")
        held_out = not split.train_pairs[problem.values]
        out = (str(problem.left) in "kl") + (str(problem.right) in "ab")
        if problem.left == problem.right and isinstance(problem.left, str):
            continue  # the same variable twice: no form of training or of any set
        expect(held_out or out > 0, f"training may ask {problem}")
        missing = "a variable out of place" if held_out else "a held-out pair"
        where = "an add-restricted" if held_out else "a var-restricted"
        expect(held_out and out > 0, f"{problem} may stand in {where} set: it lacks {missing}")
    expect(len(set(map(str, tokens.tolist()))) > size // 2, "more than half of the sequences occur more than once")
