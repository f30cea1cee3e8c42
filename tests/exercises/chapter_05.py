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


def taking(sign=-1, layer=1, sites="k", numbers=True, question=True):
    """Answers to exercise 5.2: what is taken, from which positions, by which matrix."""

    def key_without(part, w, tokens):
        where = torch.ones_like(tokens, dtype=torch.bool)
        where &= (tokens < 59) | (not numbers)
        where &= (torch.arange(16) >= 13) | (not question)
        change = sign * where[:, :, None] * part
        return {
            f"blocks.1.attn.hook_{each}": lambda held, W={"k": w.W_K, "v": w.W_V}[each]: held + (change @ W[layer])[:, :, None]
            for each in sites
        }

    return key_without


def by_position(part, w, tokens):
    """Another right way: the key of each typed number, side by side, written in place."""

    def act(keys):
        keys = keys.clone()
        for place in (13, 14):
            typed = tokens[:, place] < 59
            keys[typed, place, 0] -= (part.expand(len(tokens), -1, -1)[:, place] @ w.W_K[1])[typed]
        return keys

    return {"blocks.1.attn.hook_k": act}


NAMES = {"task": Task(), "torch": torch}

MISTAKES = [
    ("blurred", mixed(1), "still answers"),
    ("blurred", mixed(0.5), "still answers"),
    ("blurred", mixed(0), "order of the weights"),
    ("blurred", lambda row: row**0.05, "sum to 1"),
    ("blurred", lambda row: row - 0.5 * row.flip(1), "negative"),
    ("key_without", lambda part, w, tokens: None, "returns nothing"),
    ("key_without", lambda part, w, tokens: [], "a dictionary"),
    ("key_without", lambda part, w, tokens: {}, "unchanged"),
    ("key_without", taking(sign=1), "adds the part"),
    ("key_without", taking(question=False), "assigned numbers change as well"),
    ("key_without", taking(numbers=False), "variables and ="),
    ("key_without", taking(numbers=False, question=False), "all keys"),
    ("key_without", taking(layer=0), "layer 1's keys"),
    ("key_without", taking(sites="kv"), "values change"),
    ("key_without", taking(sites="v"), "not the logits"),
    ("same_variable", doubled(lambda x: x), "are right"),
    ("same_variable", doubled(lambda x: 2 * x), "are right"),
    ("breaks", lambda: 36, "as text"),
    ("breaks", lambda: "b=17, d+19=?", "never assigned"),
    ("breaks", lambda: "c=1, b=17, a=42, b+19=?", "which is right"),
    ("breaks", lambda: "c=17, d=48, h=33, i=18, 33+33=?", "training never shows 33"),
]

RIGHT = [
    ("blurred", heated),
    ("key_without", by_position),
    ("breaks", lambda: "a=0, c=0, d=0, e=0, f=0, b=6, b+19=?"),
]
