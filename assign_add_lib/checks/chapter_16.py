"""The checks of chapter 16, Rules from examples."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import permutations

import torch
from torch import Tensor

from ..companions.rules.analysis import answering
from ..companions.rules.data import draw_rows, draw_where, lines_known, unmatched
from ..companions.rules.model import rotary
from ..companions.rules.solvers import expected_ratio_matching
from ..companions.rules.training import load_rules
from .common import exercise, expect


def _fixed(inputs: list[tuple[int, int]], p: int) -> set[tuple[int, int]]:
    """The inputs to which all rules that agree on these inputs give one answer: the difference of two rules gives 0 there."""
    every = [(x, y) for x in range(p) for y in range(p)]
    zero = lambda rule, pair: (rule[0] * pair[0] + rule[1] * pair[1]) % p == 0  # noqa: E731
    differences = [rule for rule in every if all(zero(rule, pair) for pair in inputs)]
    return {pair for pair in every if all(zero(rule, pair) for rule in differences)}


@exercise
def known(answer: Callable) -> None:
    """Exercise 16.1: `answer(inputs, p)` is the set of inputs whose answer is fixed by what these examples answer."""
    for p in (5, 7, 11):
        x, y = random.choice([(0, random.randrange(1, p)), (random.randrange(1, p), random.randrange(p))])
        line = [(c * x % p, c * y % p) for c in random.sample(range(1, p), 3)]
        off = ((x + 1) % p, y) if y else (x, 1)
        for inputs in ([], [(0, 0)], line[:1], line, [(0, 0), *line], [line[0], off], [*line, off]):
            given = answer(list(inputs), p)
            expect(given is not None, "your function returns nothing yet")
            given, true = {tuple(map(int, pair)) for pair in given}, _fixed(inputs, p)
            told = f"modulo {p}, from the inputs {inputs},"
            expect(given <= true, f"{told} the answer to {min(given - true, default=0)} is not fixed: two rules differ there")
            hint = "; it is 0 for every rule" if (0, 0) in true - given else "; combine two examples" if len(true) > p else ""
            expect(given >= true, f"{told} the answer to {min(true - given, default=0)} is fixed, too{hint}")


def _counted(shown: Tensor, k: int) -> dict[str, float]:
    """The expected share of right answers after k examples, by counting, and as some mistakes have it."""
    p, pairs = len(shown), [tuple(pair) for pair in shown.nonzero().tolist()]
    chances = Counter()
    for question in pairs:
        fits = sum(any((c * x % p, c * y % p) == question for c in range(1, p)) for x, y in pairs)
        matched = 1 - (1 - fits / len(pairs)) ** k
        origin = question == (0, 0)
        chances["right"] += 1 if origin else matched + (1 - matched) / p
        chances["no guess"] += 1 if origin else matched
        chances["origin guessed"] += 1 / p if origin else matched + (1 - matched) / p
        without = 1 - (1 - (fits - 1) / len(pairs)) ** k
        chances["not itself"] += 1 if origin else without + (1 - without) / p
    return {name: total / len(pairs) for name, total in chances.items()} | {"formula": expected_ratio_matching(p, k)}


@exercise
def expected(answer: Callable) -> None:
    """Exercise 16.2: `answer(shown, k)` is how often ratio matching is right where all inputs are among those shown (p, p)."""
    wrong = {
        "formula": "; that is the formula for all inputs",
        "no guess": "; without a match a guess is right at times",
        "origin guessed": "; the origin is always answered by 0",
        "not itself": "; the question's own input may be among the examples, and is a match, by the factor 1",
    }
    for p in (5, 7):
        shown = torch.rand(p, p) < 0.6
        shown[0, 0] = shown[1, 1] = True
        for k in (0, 1, 4, 15):
            given = answer(shown.clone(), k)
            expect(given is not None, "your function returns nothing yet")
            counted = _counted(shown, k)
            right = counted.pop("right")
            hints = [wrong[name] for name, value in counted.items() if abs(value - float(given)) < 1e-6]
            words = f"modulo {p}, {int(shown.sum())} inputs, {k} examples: {right:.4f}, not {float(given):.4f}"
            expect(abs(float(given) - right) < 1e-6, words + "".join(hints[:1]))


@exercise
def looks_back(answer: Callable) -> None:
    """Exercise 16.3: `answer(distance, d)` are a query and a key, such that the best key stands that many places back."""
    places = torch.arange(60)
    for d in (8, 16, 24):
        for distance in (0, 1, 2, 7, 20):
            given = answer(distance, d)
            expect(given is not None, "your function returns nothing yet")
            query, key = (torch.as_tensor(each, dtype=torch.float) for each in given)
            expect(query.shape == key.shape == (d,), f"query and key should be vectors of {d} numbers")
            turned = [rotary(each.expand(60, -1), places) for each in (query, key)]
            scores = turned[0] @ turned[1].T
            reads = scores.masked_fill(places > places[:, None], -torch.inf).argmax(1)
            said = places - reads
            late = said[distance:]
            ahead = bool((scores.argmax(1)[: 60 - distance] == places[: 60 - distance] + distance).all()) and distance > 0
            hint = "; it looks ahead: turn the other way" if ahead else ""
            words = f"{d} numbers, {distance} back: at place {59} the best key stands {int(said[-1])} back{hint}"
            expect(bool((late == distance).all()), words)


def _shares(p: int) -> list[float]:
    """How often the next answer of a line's inputs, each of them once, is told by those before: counted over all orders."""
    right = [0.0] * (p - 1)
    for unit in range(p):  # the answer to one input of the line: each of p tasks of the p²
        orders = list(permutations([c * unit % p for c in range(1, p)]))
        for order in orders:
            for k, said in enumerate(order):
                left = {0} if 0 in order[:k] else set(range(1, p)) - set(order[:k])
                right[k] += (said in left if k else said == 0) / (len(left) if k else 1) / len(orders) / p
    return right


@exercise
def without_ratios(answer: Callable) -> None:
    """Exercise 16.4: `answer(p)` are the shares right at each question of a line whose inputs come once each."""
    for p in (5, 7):
        given = answer(p)
        expect(given is not None, "your function returns nothing yet")
        given = [float(each) for each in given]
        expect(len(given) == p - 1, f"modulo {p} a line has {p - 1} inputs besides the origin; you gave {len(given)} shares")
        for k, (share, true) in enumerate(zip(given, _shares(p)), start=1):
            flat = (true - 1 / p) / (1 - 1 / p)
            if k == 1:
                hint = "; nothing came before, and every number is as likely"
            elif abs(share - flat) < 1e-6:
                hint = "; that leaves out the tasks whose answers are all 0"
            elif abs(share - (1 / p + (1 - 1 / p) / (p - k + 1))) < 1e-6:
                hint = "; once a number other than 0 has come, 0 is struck out, too"
            else:
                hint = ""
            expect(abs(share - true) < 1e-6, f"modulo {p}, question {k}: {true:.4f}, not {share:.4f}{hint}")


def _ordered(scores: Tensor, right: Tensor) -> float:
    """How often, of a right one and a wrong one drawn at random, the right one has the larger score (n,); ties count half."""
    values, place = scores.unique(return_inverse=True)
    rights, wrongs = (place[of].bincount(minlength=len(values)).double() for of in (right, ~right))
    return (rights @ (wrongs.cumsum(0) - wrongs / 2) / (rights.sum() * wrongs.sum())).item()


@exercise
@torch.no_grad()
def likely(answer: Callable) -> str:
    """Exercise 16.5: `answer(rows)` are scores (row,), larger where the network of seed 1 answers rightly without a match.

    The rows are always the same, so that equal scores get equal verdicts.
    """
    run = load_rules("lines-depth-4-p-7-tasks-40-1")
    p, unseen, shown = run.split.p, run.split.unseen, run.split.shown
    generator = torch.Generator().manual_seed(16)
    rows = draw_where(unmatched, 2000, lambda n: draw_rows(n, 9, p, unseen, shown, generator, asked=shown))
    given = answer(rows._replace(answers=rows.answers.clone()))
    expect(given is not None, "your function returns nothing yet")
    given = torch.as_tensor(given).double().flatten()
    expect(len(given) == len(rows.answers), f"there are {len(rows.answers)} rows; you gave {len(given)} scores")
    expect(bool(given.isfinite().all()), "some scores are not finite numbers")
    right = answering(run.network())(rows)[:, -1].argmax(1) == rows.answers[:, -1]
    found, lines = _ordered(given, right), _ordered(lines_known(rows).double(), right)
    words = f"a right row has the larger score in {found:.2f} of the pairs, by the number of lines alone in {lines:.2f}"
    expect(found > lines + 0.05, f"{words}; 0.05 more is asked for")
    return words
