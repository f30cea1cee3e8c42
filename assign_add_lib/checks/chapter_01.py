"""The checks of chapter 1, The task."""

import math
import random
from itertools import permutations
from statistics import fmean

import torch

from ..task import STUDY, Problem, Split
from .common import as_parts, as_tensor, expect, expect_close, expect_number, foretold, kept_out, random_problems


def numbers_to_add(answer) -> None:
    """Exercise 1.1: `answer(tokens)` gives the two numbers to add, (batch, 2), of problems of any kind and layout."""
    problems, batch = random_problems(60)
    given = as_tensor(answer(batch), (len(batch), 2))
    for problem, row, pair in zip(problems, batch, given.tolist()):
        truth = list(problem.values)
        words = f"for {' '.join(STUDY.names(row))} it gives {pair}; the two numbers to add are {truth}"
        expect_close(pair, truth, words, 0, {"the left operand comes first": truth[::-1]})


def _one_look(N: float, m: int) -> float:
    """By going through every number of assignments, every place asked for, and every place picked where that is not the last."""
    looks = [[place in (pick, n - 1) or 1 / N for place in range(n) for pick in range(n - 1 or 1)] for n in range(1, m + 1)]
    return fmean(map(fmean, looks))


@foretold("the score for 59 numbers and up to 6 assignments", lambda answer: answer(59, 6))
def one_look_score(answer) -> None:
    """Exercise 1.2: `answer(N, m)` is the expected 1-var accuracy of a solver that reads only the last assignment."""
    for _ in range(20):
        N, m = random.randint(3, 200), random.randint(2, 12)
        wrong = {
            "that is the solver that never looks": fmean((1 + (n - 1) / N) / n for n in range(1, m + 1)),
            "another assigned number may equal the right one, with probability 1/N": _one_look(math.inf, m),
        }
        expect_number(answer(N, m), _one_look(N, m), f"{N = } and {m = }", "counting the cases one by one gives", 1e-6, wrong)


@foretold("the score on 1-var add-restricted", 0.21)
def informed(answer) -> None:
    """Exercise 1.3: `answer(tokens, train_pairs)` chooses among assigned numbers whose pair training may add."""
    split, N = Split.draw(seed=random.randrange(2**31)), STUDY.n_numbers
    problems, batch = random_problems(60, "1-var left", "1-var right")
    given = as_tensor(answer(batch, split.train_pairs), (len(batch), N))
    for problem, row in zip(problems, given):
        operands = (problem.left, problem.right)
        pairs = [tuple(x if isinstance(each, str) else each for each in operands) for _, x in problem.assignments]
        kept = [pair for pair in pairs if split.train_pairs[pair]] or pairs
        truth = torch.tensor([sum(pair) % N for pair in kept]).bincount(minlength=N) / len(kept)
        shared = truth.nonzero().flatten().tolist()
        expect_close(row, truth, f"for {problem} the answers should share the probability like {shared}, not as yours do", 1e-5)


def tenth_set(answer) -> None:
    """Exercise 1.4: `answer(split, size)` gives problems that training never asks and that no evaluation set can hold."""
    split, size = Split.draw(seed=random.randrange(2**31)), random.randint(100, 200)
    tokens, answers = as_parts(answer(split, size), 2, "it should return two things: the tokens, and the answers")
    tokens, looked_past = as_tensor(tokens, (size, STUDY.length), "the tokens"), []
    for row, right in zip(tokens, as_tensor(answers, (size,), "the answers").tolist()):
        problem = Problem.from_tokens(row)
        expect(problem.answer == right, f"{problem} has the answer {problem.answer}, not {right}")
        looked_past.append(_without_looking(problem))
        pair, place = kept_out(problem, split)
        if "twice" in place:
            continue  # no form of training or of any set
        expect(bool(pair or place), f"training may ask {problem}")
        expect(bool(pair), f"{problem} may stand in a var-restricted set: it lacks a held-out pair")
        expect(bool(place), f"{problem} may stand in an add-restricted set: it lacks a variable out of place")
    expect(len(tokens.unique(dim=0)) > size // 2, "more than half of the sequences occur more than once")
    for solver, score in zip(("random assigned numbers", "the last assigned numbers"), map(fmean, zip(*looked_past))):
        words = f"who takes {solver}, and looks nothing up, is right in {score:.0%} of these problems"
        expect(score < 0.6, f"{words}; which skill would they test?")


def _without_looking(problem: Problem) -> tuple[float, bool]:
    """How often it is right to take a random assigned number for each variable, and whether the last ones are right."""
    operands, numbers = (problem.left, problem.right), [x for _, x in problem.assignments]
    names = list(dict.fromkeys(each for each in operands if isinstance(each, str)))

    def right(picked) -> bool:
        held = dict(zip(names, picked))
        return sum(held.get(each, each) for each in operands) % STUDY.n_numbers == problem.answer

    return fmean(map(right, permutations(numbers, len(names)))), right(numbers[-len(names) :])
