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


def one_back(places):
    def shifted(layer, tokens, pattern):
        pattern = pattern.clone()
        for index, row in enumerate(tokens.tolist() if layer == 1 else []):
            for place in range(places, 12):
                if row[place] < 59:
                    pattern[index, place] = 0
                    pattern[index, place, place - places] = 1
        return pattern

    return shifted


def doubled(total):
    def same_variable(weights):
        names, numbers = Task().variable_names, range(59)
        tokens = torch.stack([Problem(((name, x),), name, name).tokens() for name in names for x in numbers])
        answers = torch.tensor([total(x) for _ in names for x in numbers])
        return (forward(weights, tokens)[:, -1].argmax(1) == answers).view(12, 59)

    return same_variable


def reordered(order, places):
    def displaced(tokens):
        changed = tokens.clone()
        changed[:, 12:15] = tokens[:, order]
        return changed, torch.tensor(places).expand(len(tokens), 2)

    return displaced


def padded(tokens):
    changed = tokens.clone()
    changed[:, 12:15] = torch.stack([tokens[:, 13], tokens[:, 14], torch.full((len(tokens),), 61)], 1)
    return changed, torch.tensor([12, 13]).expand(len(tokens), 2)


def first(tokens):
    return torch.cat([tokens[:, 12:15], tokens[:, :12], tokens[:, 15:]], 1), torch.tensor([1, 2]).expand(len(tokens), 2)


def turned(tokens):
    return tokens.roll(-1, 1), torch.tensor([12, 13]).expand(len(tokens), 2)


NAMES = {"task": Task(), "torch": torch}

MISTAKES = [
    ("blurred", mixed(1), "still answers"),
    ("blurred", mixed(0), "order of the weights"),
    ("blurred", lambda row: row**0.05, "sum to 1"),
    ("blurred", lambda row: row - 0.5 * row.flip(1), "negative"),
    ("shifted", lambda layer, tokens, pattern: pattern, "should give 1"),
    ("shifted", lambda layer, tokens, pattern: pattern.roll(1, 2), "layer 2's patterns"),
    ("shifted", one_back(1), "it should"),
    ("same_variable", doubled(lambda x: x), "are right"),
    ("displaced", reordered([12, 13, 14], [13, 14]), "predict the same"),
    ("displaced", reordered([13, 14, 12], [13, 14]), "do not stand at these places"),
    ("displaced", padded, "same 16 tokens"),
    ("displaced", turned, "stand last"),
    ("displaced", lambda tokens: tokens, "two things"),
]

RIGHT = [
    ("blurred", heated),
    ("displaced", reordered([13, 12, 14], [12, 14])),
    ("displaced", first),
]
