"""Answers to the exercises of chapter 1: mistakes, with words of what their check must say."""

import torch

from assign_add_lib.task import STUDY


def pairs_backwards(problem, train_pairs):
    x, y = problem.values
    return bool(train_pairs[y, x]) and str(problem.left) not in "kl" and str(problem.right) not in "ab"


def variables_forgotten(problem, train_pairs):
    return bool(train_pairs[problem.values])


def sides_swapped(problem, train_pairs):
    return bool(train_pairs[problem.values]) and str(problem.left) not in "ab" and str(problem.right) not in "kl"


def uninformed(tokens, train_pairs):
    numbers, operands = tokens[:, :12], tokens[:, 13:15]
    constant = torch.where(operands < 59, operands, 0).sum(1, keepdim=True)
    votes = torch.zeros(len(tokens), 59).scatter_add_(1, (constant + numbers) % 59, (numbers < 59).float())
    return votes / votes.sum(1, keepdim=True)


NAMES = {"token_of": {int(name) if name.isdigit() else name: token for token, name in enumerate(STUDY.token_names)}}

MISTAKES = [
    ("tokens", lambda problem: [62, 1, 2], "shape (3,); it should be (16,)"),
    ("tokens", lambda problem: problem.tokens().flip(0).tolist(), "position 0 of"),
    ("tokens", lambda problem: [61 if token == 61 else token - 1 for token in problem.tokens().tolist()], "but should hold"),
    ("may_train", pairs_backwards, "training"),  # which of the two kinds of problems comes first is random
    ("may_train", variables_forgotten, "where training never puts it"),
    ("may_train", sides_swapped, "training"),
    ("shortcut_score", lambda N, m: sum(1 / n for n in range(1, m + 1)) / m, "counting the cases one by one"),  # no luck
    ("shortcut_score", lambda N, m: 2 / (m + 1), "counting the cases one by one"),  # one over the mean of n
    ("informed", uninformed, "the answers should share the probability"),
    ("informed", lambda tokens, train_pairs: uninformed(tokens, train_pairs)[0], "shape (59,)"),
]
