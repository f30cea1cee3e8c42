"""Answers to the exercises of chapter 5: mistakes, with words of what their check must say."""

import torch

from assign_add_lib import Problem, Task, forward


def mixed(share):
    def blurred(row):
        return share * row + (1 - share) / 16

    return blurred


def heated(row, power=0.05):
    warm = row**power
    return warm / warm.sum(1, keepdim=True)


def doubled(total):
    def same_variable(weights):
        names, numbers = Task().variable_names, range(59)
        tokens = torch.stack([Problem(((name, x),), name, name).tokens() for name in names for x in numbers])
        answers = torch.tensor([total(x) for _ in names for x in numbers])
        return (forward(weights, tokens)[:, -1].argmax(1) == answers).view(12, 59)

    return same_variable


def twice(asked=lambda question: question.amax(1, keepdim=True), letters=True, every=False):
    """Answers to exercise 5.2: which name is given, to a letter or to its number, and to how many."""

    def assigned_twice(tokens):
        name, assigned = asked(tokens[:, 13:15]), Task().assigned_numbers(tokens)
        others = (assigned.roll(-1, 1) if letters else assigned) & (tokens != tokens[:, 13:15].amax(1, keepdim=True))
        last = 15 - others.flip(1).int().argmax(1, keepdim=True)
        return torch.where(others, name, tokens) if every else tokens.scatter(1, last, name)

    return assigned_twice


NAMES = {"task": Task(), "torch": torch}

MISTAKES = [
    ("blurred", mixed(1), "still answers"),
    ("blurred", mixed(0.5), "still answers"),
    ("blurred", mixed(0), "order of the weights"),
    ("blurred", lambda row: row**0.05, "sum to 1"),
    ("blurred", lambda row: row - 0.5 * row.flip(1), "negative"),
    ("assigned_twice", lambda tokens: None, "returns nothing"),
    ("assigned_twice", lambda tokens: tokens, "0 tokens change"),
    ("assigned_twice", twice(every=True), "tokens change; one should"),
    ("assigned_twice", twice(letters=False), "no assigned letter"),
    ("assigned_twice", twice(lambda question: question.amin(1, keepdim=True)), "the asked one"),
    ("same_variable", doubled(lambda x: x), "are right"),
    ("same_variable", doubled(lambda x: 2 * x), "are right"),
    ("breaks", lambda: 36, "as text"),
    ("breaks", lambda: "b=17, d+19=?", "never assigned"),
    ("breaks", lambda: "c=1, b=17, a=42, b+19=?", "which is right"),
    ("breaks", lambda: "c=17, d=48, h=33, i=18, 33+33=?", "training never shows 33"),
]

RIGHT = [
    ("blurred", heated),
    ("assigned_twice", twice()),  # the last of the others, where the page takes the first
    ("breaks", lambda: "a=0, c=0, d=0, e=0, f=0, b=6, b+19=?"),
]
