"""The checks of chapter 4, Generalisation."""

import math
import random

import pandas as pd
import torch

from ..task import STUDY, Problem
from .common import as_tensor, expect, expect_close, expect_number, foretold, random_problems


@foretold("the percentage wrong with both out of place, at the fault of those in place", 1.0)
def standardised(answer) -> None:
    """Exercise 4.1: `answer(wrong, stratum, reference)` is the share wrong where strata weigh as they do in a reference."""
    for place in range(8):
        size, m = random.randint(30, 60), random.randint(20, 90)
        stratum, reference = torch.randint(1, 5, (size,)), torch.randint(0, 7 if place % 2 else 5, (m,))
        stratum[:4], reference[:2] = torch.arange(1, 5), torch.tensor([0, 1])  # the reference has a stratum that the group lacks
        wrong = torch.rand(size) < stratum / 5
        shares = pd.Series(wrong.tolist()).groupby(stratum.tolist()).mean()
        each = shares.reindex(reference.tolist())  # NaN in strata that the group lacks; their mean is taken without
        mistakes = {
            "that weighs the strata as in the group itself": wrong.double().mean(),
            "a stratum weighs as much as it has problems in the reference": shares.mean(),
            "without the strata that the group lacks, the weights no longer sum to 1": each.sum() / m,
            "the group has no problem in some stratum": math.nan,
        }
        given = answer(wrong.clone(), stratum.clone(), reference.clone())
        expect_number(given, each.mean(), f"{size} problems", "stratum by stratum gives", 1e-5, mistakes)


def calibration_error(answer) -> None:
    """Exercise 4.2: `answer(confidence, right, bins)` is the expected calibration error with equal bins."""
    for bins in (10, 10, 5, 8, 4):
        size = random.randint(3, 200)
        # halves and quarters fall on edges exactly; 1 belongs to the last bin
        confidence = torch.cat([torch.rand(size, dtype=torch.float64), torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64)])
        right = torch.rand(size + 3) < 0.7 * confidence  # overconfident, at 1 as well
        gap = pd.Series(confidence - right.double())
        inside = gap.groupby([min(int(sure * bins), bins - 1) for sure in confidence.tolist()])
        gaps, sizes = inside.mean().abs(), inside.size()
        unweighted = "a bin weighs as much as it has answers"
        mistakes = {
            unweighted: gaps.mean(),
            f"{unweighted}, an empty one nothing": gaps.sum() / bins,
            "take the distance in each bin, not over all": abs(gap.mean()),
        }
        given, truth = answer(confidence.clone(), right.clone(), bins), (gaps * sizes).sum() / sizes.sum()
        expect_number(given, truth, f"{size + 3} answers in {bins} bins", "bin by bin gives", wrong=mistakes)


def blame(answer) -> None:
    """Exercise 4.3: `answer(tokens, wrong)` is, by variable, the share wrong with it less the share wrong without it."""
    for _ in range(4):
        left, right, _, *others = random.sample(STUDY.variable_names, STUDY.n_variables)  # one of the others is never there
        problems = []
        for _ in range(80):
            names = [left, right, *random.sample(others, random.randint(0, STUDY.slots - 2))]
            assigned = [(name, random.randrange(STUDY.n_numbers)) for name in random.sample(names, len(names))]
            problems.append(Problem(tuple(assigned), left, right))
        tokens = torch.stack([problem.tokens(seed=seed) for seed, problem in enumerate(problems)])
        wrong = torch.rand(80) < 0.4
        given = as_tensor(answer(tokens.clone(), wrong.clone()), (STUDY.n_variables,)).double()
        for found, name in zip(given, STUDY.variable_names):
            there = torch.tensor([name in dict(problem.assignments) for problem in problems])
            with_it, without = (wrong[side].double().mean() for side in (there, ~there))
            truth = (with_it - without).nan_to_num()  # 0 where there is no problem on one side
            mistakes = {
                "as it is in all problems or in none": len(there.unique()) == 1,
                "that is the share wrong with it, what of the problems without it?": with_it,
                f"is its token, {STUDY.token(name)}, found? Those of variables begin at {STUDY.first_variable}": not given.any(),
            }
            expect_close(found, truth, f"{name} gets {found:.4f}; it should get {truth:.4f}", wrong=mistakes)


def renamed(answer) -> None:
    """Exercise 4.4: `answer(tokens, old, seed)` renames one variable of each problem to a random one that it does not contain."""
    old, (_, tokens), seed = STUDY.token(random.choice(STUDY.variable_names)), random_problems(400), random.randrange(1000)
    given, again, other = (as_tensor(answer(tokens.clone(), old, each), tokens.shape) for each in (seed, seed, seed + 1))
    had, chosen = (tokens == old).any(1), set()
    expect(torch.equal(given[~had], tokens[~had]), "a problem without the old variable is changed")
    for before, after in zip(tokens[had].tolist(), given[had].tolist()):
        new = {b for a, b in zip(before, after) if a == old}
        text = " ".join(STUDY.names(torch.tensor(before)))
        expect(old not in after, f"the old variable still stands in {text}")
        expect(len(new) == 1, f"in {text} the old variable is renamed to several things")
        expect(all(a == b for a, b in zip(before, after) if a != old), f"in {text} something else is changed")
        words = f"in {text} the new token is no variable; those begin at {STUDY.first_variable}"
        expect(new <= set(range(STUDY.first_variable, STUDY.d_vocab)), words)
        expect(not new & set(before), f"in {text} the new name is in use already")
        chosen |= new
    others = STUDY.n_variables - 1
    expect(len(chosen) == others, f"only {len(chosen)} new names are ever drawn; any of the other {others} may be")
    expect(torch.equal(given, again), "the same seed gives other names when it is used again")
    expect(not torch.equal(given, other), "another seed gives the same names: draw with a generator of this seed")


@foretold("the evidence at step 400", -342)
def evidence(answer) -> None:
    """Exercise 4.5: `answer(right, twin, sure)` is the log-likelihood of the rote adder less that of an even solver."""
    for place in range(10):
        size, sure = random.randint(20, 60), random.uniform(0.8, 0.99)
        right, twin = torch.rand(size) < 0.7, torch.rand(size) < 0.6
        right[:2] = torch.tensor([True, False])
        right |= place == 9  # a solver may be right on all
        rote, even = torch.where(twin, sure, 1 / STUDY.n_numbers).double(), right.double().mean()
        # pair by pair, how much more likely the answer is from the rote adder
        ratios = torch.where(right, rote / even, (1 - rote) / (1 - even))
        truth = ratios.prod().log()
        mistakes = {
            "the rote adder's comes first": -truth,
            "wrong answers are evidence too": ratios[right].log().sum(),
        }
        given = answer(right.clone(), twin.clone(), sure)
        expect_number(given, truth, f"{size} pairs and {sure = :.2f}", "pair by pair gives", 1e-3, mistakes)
