"""The checks of chapter 4, Generalisation."""

import random

import torch
from torch import Tensor

from ..task import STUDY
from .common import as_tensor, as_truths, expect, expect_close, expect_number, foretold, random_problems


@foretold("the percentage that the cheat gets, by guessing alone", 1.7)
def both_or_none(answer) -> None:
    """Exercise 4.1: `answer(share, seed)` draws the pairs of training, each together with its twin."""
    N, shape = STUDY.n_numbers, (STUDY.n_numbers, STUDY.n_numbers)
    diagonal = torch.eye(N, dtype=torch.bool)

    def drawn(share: float, seed: int) -> Tensor:
        return as_truths(answer(share, seed), shape)

    for share in (0.5, 0.7, random.uniform(0.2, 0.9)):
        seeds = random.sample(range(1000), 6)
        tables = [drawn(share, seed) for seed in seeds]
        parted = sum((table != table.T).sum().item() for table in tables) // (2 * len(tables))
        expect(parted == 0, f"with a share of {share:.2f}, {parted} pairs are parted from their twins")
        single, twins = (torch.cat([table[part] for table in tables]).double() for part in (diagonal, ~diagonal))
        words = "of the pairs of two numbers are in training; it should be about"
        expect_close(twins.mean(), share, f"{twins.mean():.2f} {words} {share:.2f}", 0.05)
        words = "of the doubles are in training; it should be about"
        expect_close(single.mean(), share, f"{single.mean():.2f} {words} {share:.2f}", 0.13)
        expect(torch.equal(tables[0], drawn(share, seeds[0])), "the same seed draws other pairs when it is used again")
        expect(not torch.equal(tables[0], tables[1]), "another seed draws the same pairs: draw with a generator of this seed")


@foretold("the percentage still wrong once k has another name", 7.0)
def renamed(answer) -> None:
    """Exercise 4.2: `answer(tokens, old, seed)` renames one variable of each problem to a random one that it does not contain."""
    old, (_, tokens), seed = STUDY.token(random.choice(STUDY.variable_names)), random_problems(400), random.randrange(1000)
    given, again, other = (as_tensor(answer(tokens, old, each), tokens.shape) for each in (seed, seed, seed + 1))
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
    """Exercise 4.3: `answer(right, twin, sure)` is the log-likelihood of the table less that of an even solver."""
    for place in range(10):
        size, sure = random.randint(20, 60), random.uniform(0.8, 0.99)
        right, twin = torch.rand(size) < 0.7, torch.rand(size) < 0.6
        right[:2] = torch.tensor([True, False])
        right |= place == 9  # a solver may be right on all
        rote, even = torch.where(twin, sure, 1 / STUDY.n_numbers).double(), right.double().mean()
        # pair by pair, how much more likely the answer is from the table
        ratios = torch.where(right, rote / even, (1 - rote) / (1 - even))
        truth = ratios.prod().log()
        mistakes = {
            "that of the table comes first": -truth,
            "wrong answers are evidence too": ratios[right].log().sum(),
        }
        given = answer(right, twin, sure)
        expect_number(given, truth, f"{size} pairs and {sure = :.2f}", "pair by pair gives", 1e-3, mistakes)
