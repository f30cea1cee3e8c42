"""The checks of chapter 4, Generalisation."""

import math
import random
from collections.abc import Callable

import torch

from ..task import STUDY
from .common import as_number, as_tensor, close, exercise, expect, expect_close, random_problem


@exercise
def standardised(answer: Callable) -> None:
    """Exercise 4.1: `answer(wrong, stratum, reference)` is the share wrong where strata weigh as they do in a reference."""
    for place in range(8):
        size, m = random.randint(30, 60), random.randint(20, 90)
        stratum, reference = torch.randint(1, 5, (size,)), torch.randint(0, 7 if place % 2 else 5, (m,))
        stratum[:4], reference[:2] = torch.arange(1, 5), torch.tensor([0, 1])  # the reference has a stratum that the group lacks
        wrong = torch.rand(size) < stratum / 5
        given = as_number(answer(wrong.clone(), stratum.clone(), reference.clone()))
        members = {}
        for hit, each in zip(wrong.tolist(), stratum.tolist()):
            members.setdefault(each, []).append(hit)
        shares = {each: sum(hits) / len(hits) for each, hits in members.items()}
        known = [each for each in reference.tolist() if each in shares]
        truth = sum(shares[each] for each in known) / len(known)
        mistakes = {
            "that weighs the strata as in the group itself": wrong.double().mean(),
            "a stratum weighs as much as it has problems in the reference": sum(shares.values()) / len(shares),
            "without the strata that the group lacks, the weights no longer sum to 1": truth * len(known) / m,
            "the group has no problem in some stratum": math.isnan(given),
        }
        words = f"for {size} problems it gives {given:.4f}; stratum by stratum gives {truth:.4f}"
        expect_close(given, truth, words, 1e-5, mistakes)


@exercise
def calibration_error(answer: Callable) -> None:
    """Exercise 4.2: `answer(confidence, right, bins)` is the expected calibration error with equal bins."""
    for bins in (10, 10, 5, 8, 4):
        size = random.randint(3, 200)
        # halves and quarters fall on edges exactly; 1 belongs to the last bin
        confidence = torch.cat([torch.rand(size, dtype=torch.float64), torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64)])
        right = torch.rand(size + 3) < 0.7 * confidence  # overconfident, at 1 as well
        members = {}
        for sure, hit in zip(confidence.tolist(), right.tolist()):
            members.setdefault(min(int(sure * bins), bins - 1), []).append((sure, hit))
        means = {place: [sum(column) / len(each) for column in zip(*each)] for place, each in members.items()}
        gaps = {place: abs(sure - hit) for place, (sure, hit) in means.items()}
        truth = sum(len(members[place]) * gap for place, gap in gaps.items()) / (size + 3)
        given = as_number(answer(confidence.clone(), right.clone(), bins))
        mistakes = {
            "a bin weighs as much as it has answers": any(close(given, sum(gaps.values()) / n) for n in (len(gaps), bins)),
            "take the distance in each bin, not over all": (confidence - right.double()).mean().abs(),
        }
        words = f"for {size + 3} answers in {bins} bins it gives {given:.4f}; bin by bin gives {truth:.4f}"
        expect_close(given, truth, words, wrong=mistakes)


@exercise
def blame(answer: Callable) -> None:
    """Exercise 4.3: `answer(tokens, wrong)` is, by variable, the share wrong with it less the share wrong without it."""
    for _ in range(4):
        tokens, assigned = [], []
        while len(tokens) < 80:
            problem = random_problem("2-var")
            named = [name for name, _ in problem.assignments]
            if not tokens:
                asked, never = {problem.left, problem.right}, random.choice([n for n in STUDY.variable_names if n not in named])
            if asked <= set(named) and never not in named:
                tokens.append(problem.tokens(seed=random.randrange(2**31)))
                assigned.append(set(named))
        tokens, wrong = torch.stack(tokens), torch.rand(80) < 0.4
        tokens[:, STUDY.left : STUDY.last] = torch.tensor(sorted(map(STUDY.token, asked)))
        given = as_tensor(answer(tokens.clone(), wrong.clone()), (STUDY.n_variables,)).double()
        for found, name in zip(given.tolist(), STUDY.variable_names):
            sides = [[hit for hit, names in zip(wrong.tolist(), assigned) if (name in names) == there] for there in (True, False)]
            with_it, without = (sum(hits) / max(len(hits), 1) for hits in sides)
            truth = with_it - without if all(sides) else 0.0
            mistakes = {
                "as it is in all problems or in none": not all(sides),
                "that is the share wrong with it, what of the problems without it?": close(found, with_it, 1e-9),
                f"is its token, {STUDY.token(name)}, found? Those of variables begin at {STUDY.first_variable}": not given.any(),
            }
            expect_close(found, truth, f"{name} gets {found:.4f}; it should get {truth:.4f}", wrong=mistakes)


@exercise
def renamed(answer: Callable) -> None:
    """Exercise 4.4: `answer(tokens, old, seed)` renames one variable of each problem to a random one that it does not contain."""
    old = STUDY.token(random.choice(STUDY.variable_names))
    tokens = torch.stack([random_problem().tokens(seed=index) for index in range(400)])
    given = as_tensor(answer(tokens.clone(), old, random.randrange(1000)), tokens.shape)
    had, chosen = (tokens == old).any(1), set()
    expect(torch.equal(given[~had], tokens[~had]), "a problem without the old variable is changed")
    for before, after in zip(tokens[had].tolist(), given[had].tolist()):
        new = {b for a, b in zip(before, after) if a == old}
        text = " ".join(STUDY.names(torch.tensor(before)))
        expect(old not in after, f"the old variable still stands in {text}")
        expect(len(new) == 1, f"in {text} the old variable is renamed to several things")
        expect(all(a == b for a, b in zip(before, after) if a != old), f"in {text} something else is changed")
        words = f"in {text} the new token is no variable; those begin at {STUDY.first_variable}"
        expect(min(new) >= STUDY.first_variable and max(new) < STUDY.d_vocab, words)
        expect(not new & set(before), f"in {text} the new name is in use already")
        chosen |= new
    others = STUDY.n_variables - 1
    expect(len(chosen) == others, f"only {len(chosen)} new names are ever drawn; any of the other {others} may be")


@exercise
def evidence(answer: Callable) -> None:
    """Exercise 4.5: `answer(right, twin, sure)` is the log-likelihood of the rote adder less that of an even solver."""
    for place in range(10):
        size, sure = random.randint(20, 60), random.uniform(0.8, 0.99)
        right, twin = torch.rand(size) < 0.7, torch.rand(size) < 0.6
        right[:2] = torch.tensor([True, False])
        right |= place == 9  # a solver may be right on all
        given = as_number(answer(right.clone(), twin.clone(), sure))
        even = sum(right.tolist()) / size
        ratios = []  # pair by pair, how much more likely the answer is from the rote adder
        for hit, known in zip(right.tolist(), twin.tolist()):
            rote = sure if known else 1 / STUDY.n_numbers
            ratios.append(rote / even if hit else (1 - rote) / (1 - even))
        truth = math.log(math.prod(ratios))
        mistakes = {
            "the rote adder's comes first": -truth,
            "wrong answers are evidence too": sum(math.log(ratio) for ratio, hit in zip(ratios, right.tolist()) if hit),
        }
        words = f"for {size} pairs and sure = {sure:.2f} it gives {given:.3f}; pair by pair gives {truth:.3f}"
        expect_close(given, truth, words, 1e-3, mistakes)
