"""Answers to the exercises of chapter 6: mistakes, with words of what their check must say, and other right ones."""

import torch

MISTAKES = [
    # neighbouring labels alone are compared
    ("proof_applies", ("        seen.add(counts)", "        seen = {counts}"), "that are no neighbours"),
    ("sharing", lambda one, two: torch.cosine_similarity(one, two, dim=1).mean(), "which the evidence takes"),
    ("alone", (".relu()", ""), "ReLU between"),
    ("alone", ("c * weights", "weights", "weights.W_U)", "weights.W_U * c)"), "before the ReLU"),
    ("alone", ("neurons @ weights.W_out", "(neurons @ weights.W_out + stream)"), "skip path"),
    ("alone", ("c * weights", "weights"), "no effect"),
    ("alone", ("argmax(1)", "argmax(1) + 1"), "answers differ"),
    ("proof_applies", ("tuple(cells.sum(0).tolist() + cells.sum(1).tolist())", "int(cells.sum())"), "for x itself"),
    ("proof_applies", ("cells.sum(0).tolist() + ", ""), "for y itself"),
    ("proof_applies", ("return True", "continue", "return False", "return len(seen) == 1"), "crossed labels"),
    ("proof_applies", lambda labels: True, "the larger number"),
    ("proof_applies", lambda labels: 1.0, "True or False"),
    ("points", (" - aim**2", ""), "more than half"),
    ("points", ("[(aim % n).argsort()]", ""), "more than half"),
    ("points", ("return 2 * aim * numbers - aim**2, 2 * aim * numbers", "return 2 * aim * numbers - aim**2"), "two tables"),
    ("points", lambda n: (torch.eye(n), torch.eye(n)), "more than half"),
    ("points", lambda n: (torch.zeros(n), torch.zeros(n)), "shape"),
    ("points", lambda n: (torch.full((n, n), torch.inf), torch.zeros(n, n)), "finite"),
    ("sharing", lambda one, two: torch.cosine_similarity(one.mean(0), two.mean(0), dim=0), "compare pair by pair"),
    ("sharing", lambda one, two: (one * two).sum(1).mean() / one.square().sum(1).mean(), "a factor should not matter"),
    ("sharing", lambda one, two: torch.cosine_similarity(one.sum(1), two.sum(1), dim=0), "two sets of neurons"),
    ("sharing", lambda one, two: torch.cosine_similarity(one, two, dim=1), "shape"),
    ("sharing", lambda one, two: torch.tensor(0.0), "nearly the same"),
    ("sharing", lambda one, two: torch.cosine_similarity(one[:, :120], two[:, -120:], dim=1).mean(), "a copy of every neuron"),
]


def overlap(one, two):
    """What the shares of the squared contributions have in common."""
    return torch.minimum(*(each.square() / each.square().sum(1, keepdim=True) for each in (one, two))).sum(1).mean()


def no_carry(n):
    """Points that aim at the plain sum: right where it does not go round the clock."""
    aim, numbers = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(n)
    return 2 * aim * numbers - aim**2, 2 * aim * numbers


RIGHT = [
    ("sharing", overlap),
    ("sharing", lambda one, two: torch.cosine_similarity(one.abs(), two.abs(), dim=1).median() ** 2),
    ("points", no_carry),
]
