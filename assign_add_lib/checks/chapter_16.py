"""The checks of chapter 16, Rules from examples."""

import random
from functools import cache
from itertools import permutations, product

import pandas as pd
import torch
from torch import Tensor

from ..companions.rules.analysis import answering, said_to
from ..companions.rules.data import Rows, draw_rows, draw_where, lines_known, unmatched
from ..companions.rules.training import load_rules
from .common import as_parts, as_tensor, expect, expect_number, foretold, hint


@foretold("in how many of the 36 rows seed 1 says what the last example says", 6)
def matches_that_say(answer) -> None:
    """Exercise 16.1: `answer(said, question, p)` are the examples (x, y, z) that are a match and say so."""
    for p in (5, 7, 11):
        inputs = (random.randrange(1, p), random.randrange(p)), (0, random.randrange(1, p))
        for (x, y), said in product(inputs, (0, random.randrange(1, p))):
            true = {(f * x % p, f * y % p, f * said % p) for f in range(1, p)}
            given = {tuple(map(int, each)) for each in answer(said, (x, y), p)}
            case = f"modulo {p}, for the question {(x, y)} and the answer {said},"
            expect(all(len(each) == 3 for each in given), f"{case} give each example as (x, y, z)")
            beyond = sorted(each for each in given if not all(0 <= number < p for number in each))
            expect(not beyond, f"{case} {beyond[:1]} has a number beyond {p - 1}; take it modulo {p}")
            expect((0, 0, 0) not in given, f"{case} (0, 0, 0) is no match: no multiple of (0, 0) is the question")
            more, missing = sorted(given - true), sorted(true - given)
            same_input = bool(more) and more[0][:2] in {each[:2] for each in true}
            why = hint(given, {"its z needs the same factor as its x and y": same_input})
            expect(not more, f"{case} {more[:1]} does not belong there{why}")
            why = hint(given, {"an example may ask the question itself": missing[:1] == [(x, y, said)]})
            expect(not missing, f"{case} {missing[:1]} is missing{why}")


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


@foretold("how often the last question is right, in percent", 100)
def without_ratios(answer) -> None:
    """Exercise 16.2: `answer(p)` are the shares right at each question of a line whose inputs come once each."""
    for p in (5, 7):
        words = f"modulo {p} a line has {p - 1} inputs besides the origin; give a share for each"
        shares = as_parts(answer(p), p - 1, words)
        for k, (given, true) in enumerate(zip(shares, _shares(p)), start=1):
            wrong = {
                "nothing came before, and every number is as likely": k == 1,
                "that leaves out the tasks whose answers are all 0": (true - 1 / p) / (1 - 1 / p),
                "once a number other than 0 has come, 0 is struck out, too": 1 / p + (1 - 1 / p) / (p - k + 1),
            }
            expect_number(given, true, f"{p = }, question {k}", "counted over all orders it is", wrong=wrong)


def _ordered(scores: Tensor, right: Tensor) -> float:
    """How often, of a right one and a wrong one drawn at random, the right one has the larger score (n,); ties count half."""
    ranks = pd.Series(scores.numpy()).rank()[right.numpy()]
    return (ranks.mean() - (len(ranks) + 1) / 2) / (len(right) - len(ranks))


@cache
@torch.no_grad()
def _rows() -> tuple[Rows, Tensor]:
    """Rows of unseen tasks without a match, and which of them the network of seed 1 answers rightly."""
    run, generator = load_rules("lines-depth-4-p-7-tasks-40-1"), torch.Generator().manual_seed(16)
    p, unseen, shown = run.split.p, run.split.unseen, run.split.shown
    rows = draw_where(unmatched, 2000, lambda n: draw_rows(n, 9, p, unseen, shown, generator, asked=shown))
    return rows, said_to(answering(run.network()), rows) == rows.answers[:, -1]


@torch.no_grad()
def likely(answer) -> str:
    """Exercise 16.3: `answer(rows)` are scores (row,), larger where the network of seed 1 answers rightly without a match.

    The rows are always the same, so that equal scores get equal verdicts.
    """
    rows, right = _rows()
    given = as_tensor(answer(rows), None).double().flatten()
    expect(len(given) == len(rows.answers), f"there are {len(rows.answers)} rows; you gave {len(given)} scores")
    expect(given.isfinite().all(), "some scores are not finite numbers")
    found, lines = _ordered(given, right), _ordered(lines_known(rows).double(), right)
    words = f"a right row has the larger score in {found:.2f} of the pairs, by the number of lines alone in {lines:.2f}"
    expect(found > lines + 0.08, f"{words}; 0.08 more is asked for")
    return words
