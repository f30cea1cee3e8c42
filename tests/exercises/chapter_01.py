"""Answers to the exercises of chapter 1: mistakes, with words of what their check must say."""

import torch

from assign_add_lib.sampling import Population, evaluation_populations, forms
from assign_add_lib.task import STUDY


def pairs_backwards(problem, train_pairs):
    x, y = problem.values
    return bool(train_pairs[y, x]) and str(problem.left) not in "kl" and str(problem.right) not in "ab"


def variables_forgotten(problem, train_pairs):
    return bool(train_pairs[problem.values])


def uninformed(tokens, train_pairs):
    numbers, operands = tokens[:, :12], tokens[:, 13:15]
    constant = torch.where(operands < 59, operands, 0).sum(1, keepdim=True)
    votes = torch.zeros(len(tokens), 59).scatter_add_(1, (constant + numbers) % 59, (numbers < 59).float())
    return votes / votes.sum(1, keepdim=True)


def looked_up(tokens, later=1):
    operands = tokens[:, 13:15]
    here = tokens[:, None, :11] == operands[:, :, None]
    return torch.where(operands < 59, operands, (here * tokens[:, None, later : later + 11]).sum(2))


def never_looks(N, m):
    return sum((1 + (n - 1) / N) / n for n in range(1, m + 1)) / m


def generator():
    return torch.Generator().manual_seed(0)


def both_new(split, size):
    law = evaluation_populations(split)["2-var var-restricted (1)"]
    return Population(law.task, law.forms, split.held_out_pairs).sample(size, generator())


everyone = range(12)
ALL_FORMS = (
    forms(STUDY, None, None) + forms(STUDY, everyone, None) + forms(STUDY, None, everyone) + forms(STUDY, everyone, everyone)
)


def twice(split, size):
    """The same variable on both sides, with its double."""
    x = torch.arange(size) % 59
    tokens = torch.full((size, 16), 61)
    tokens[:, 0], tokens[:, 1], tokens[:, 12], tokens[:, 15] = 62 + torch.arange(size) % 12, x, 59, 60
    tokens[:, 13] = tokens[:, 14] = tokens[:, 0]
    return tokens, 2 * x % 59


NAMES = {"all_forms": ALL_FORMS}

MISTAKES = [
    ("numbers_to_add", lambda tokens: tokens[:, 13:15], "the two numbers to add are"),  # nothing is looked up
    ("numbers_to_add", lambda tokens: looked_up(tokens).flip(1), "the left operand comes first"),
    ("numbers_to_add", lambda tokens: looked_up(tokens)[0], "shape (2,)"),
    ("may_train", pairs_backwards, "training"),  # which of the two kinds of problems comes first is random
    ("may_train", variables_forgotten, "where training never puts it"),
    ("one_look_score", never_looks, "that is the solver that never looks"),
    ("one_look_score", lambda N, m: (1 + sum(2 / n for n in range(2, m + 1))) / m, "with probability 1/N"),  # no luck
    ("tenth_set", lambda split, size: evaluation_populations(split)["2-var train"].sample(size, generator()), "training may ask"),
    (
        "tenth_set",
        lambda split, size: evaluation_populations(split)["1-var add-restricted"].sample(size, generator()),
        "an add-restricted set: it lacks a variable out of place",
    ),
    (
        "tenth_set",
        lambda split, size: evaluation_populations(split)["1-var var-restricted"].sample(size, generator()),
        "a var-restricted set: it lacks a held-out pair",
    ),
    ("tenth_set", lambda split, size: twice(split, size + 1), "shape"),
    ("tenth_set", lambda split, size: (both_new(split, size)[0], both_new(split, size)[1] + 1), "has the answer"),
    (
        "tenth_set",
        lambda split, size: [each[:1].repeat(size, *[1] * (each.dim() - 1)) for each in both_new(split, size)],
        "occur more than once",
    ),
    ("informed", uninformed, "the answers should share the probability"),
    ("informed", lambda tokens, train_pairs: uninformed(tokens, train_pairs)[0], "shape (59,)"),
]

RIGHT = [("tenth_set", twice)]
