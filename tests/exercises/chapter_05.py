"""Answers to the exercises of chapter 5: mistakes, with words of what their check must say."""

import torch

from assign_add_lib import Problem, Task, forward
from assign_add_lib.model import trace


def in_order(attention, keys):
    return (attention.topk(2).indices == keys).all(1).float().mean()


def either(attention, keys):
    top = attention.topk(2).indices
    return (top[:, :, None] == keys[:, None]).flatten(1).any(1).float().mean()


def twice(layer, places):
    def assigned_twice(weights, name, x, y, number):
        task = Task()
        tokens = Problem(((name, x),), name, number).tokens()
        tokens[2], tokens[3] = task.token(name), y
        return trace(weights, tokens[None]).pattern[0, layer, -1, places]

    return assigned_twice


def doubled(total):
    def same_variable(weights):
        names, numbers = Task().variable_names, range(59)
        tokens = torch.stack([Problem(((name, x),), name, name).tokens() for name in names for x in numbers])
        answers = torch.tensor([total(x) for _ in names for x in numbers])
        return (forward(weights, tokens)[:, -1].argmax(1) == answers).float().mean()

    return same_variable


NAMES = {"task": Task()}

MISTAKES = [
    ("top_two_share", in_order, "order should not matter"),
    ("top_two_share", either, "the share is"),
    ("effective_keys", lambda attention: (-(attention * attention.log()).sum(1)).exp(), "as 0"),
    ("effective_keys", lambda attention: -attention.xlogy(attention).sum(1), "it should be"),
    ("effective_keys", lambda attention: (attention > 0).sum(1).float(), "it should be"),
    ("assigned_twice", twice(0, [1, 3]), "layer 1"),
    ("assigned_twice", twice(1, [0, 2]), "stand after"),
    ("assigned_twice", twice(1, [3, 1]), "it should be"),
    ("same_variable", doubled(lambda x: x), "are right"),
    ("same_variable", doubled(lambda x: 2 * x), "are right"),
]
