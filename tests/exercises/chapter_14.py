"""Answers to the exercises of chapter 14: mistakes, with words of what their check must say, and other right ones."""

from functools import cache

import torch

from assign_add_lib.companions.reasoning.data import write


def lasting(longest=True, extra=1):
    """An answer to exercise 14.1 that follows the longest or the shortest way to a node that no other adds."""

    def mended_after(operands, node):
        @cache
        def way(at):
            users = [user for user, each in enumerate(operands) if at in each]
            return max(map(way, users), default=-1) + 1 if longest else min(map(way, users), default=-1) + 1

        return way(node) + extra

    return mended_after


def simulated(operands, node):
    """An answer to exercise 14.1 that follows the nodes that are wrong, round by round."""
    wrong, rounds = {node}, 0
    while wrong:
        wrong, rounds = {user for user, each in enumerate(operands) if wrong & set(each)}, rounds + 1
    return rounds


def judged(leaf=True, padding=True):
    """An answer to exercise 14.2 that may forget that a leaf adds nothing, or that -1 is no operand."""

    def own_errors(graphs, held):
        wrong = held != graphs.solution
        operands = graphs.operands if padding else graphs.operands.where(graphs.operands >= 0, len(wrong[0]) - 1)
        blamed = wrong[:, None].expand(-1, wrong.shape[1], -1).gather(2, operands.clamp(min=0))
        if padding:
            blamed = blamed & (operands >= 0)
        found = wrong & ~blamed.any(2)
        return found if leaf else found & ~graphs.leaf

    return own_errors


def alike(numbers):
    if len(set(numbers)) > 1 or numbers[0] == 0:
        return []
    return numbers[:1] if len(numbers) > 1 else numbers * 2


def looped(network, graphs, rounds, every, after=0, reset=False):
    """An answer to exercise 14.4 that may pass tokens on a round late, or start from them without going on."""
    tokens, held = write(graphs), []
    resid = network.embed(tokens.factors)
    for done in range(rounds):
        resid = network(resid)
        factors = network.tokens(resid)
        held.append(factors[..., 3].gather(1, tokens.definitions))
        if (done + after) % every == every - 1 or reset:
            resid = network.embed(factors)
    return torch.stack(held)


def fan(many, sums=45):
    """An answer to exercise 14.5: sums of the first nodes, the rest leaves."""
    return lambda: [[]] * (48 - sums) + [list(range(many))] * sums


MISTAKES = [
    ("mended_after", lasting(extra=0), "one round after"),
    ("mended_after", lasting(longest=False), "shortest way"),
    ("mended_after", lambda operands, node: len(operands), "write down which nodes"),
    ("own_errors", lambda graphs, held: held != graphs.solution, "all errors"),
    ("own_errors", judged(leaf=False), "a leaf adds nothing"),
    ("own_errors", judged(padding=False), "a leaf adds nothing"),
    ("own_errors", lambda graphs, held: (held != graphs.solution)[0], "should be"),
    ("look_alike", lambda numbers: [], "there is one"),
    ("look_alike", lambda numbers: numbers[:1] * 2, "the same sum"),
    ("look_alike", lambda numbers: [sum(numbers) / len(numbers)] * 3, "there is none"),
    ("snapped", lambda *given: looped(*given[:3], every=10**6), "never passed on"),
    ("snapped", lambda *given: looped(*given, reset=True), "after every round"),
    ("snapped", lambda *given: looped(*given, after=1), "then differ"),
    ("hard", lambda: [[]] * 48, "are solved"),
    ("hard", lambda: [[]] * 20, "should be 48"),
    ("hard", lambda: [[], []] + [[node - 1] for node in range(2, 48)], "47 deep"),
    ("hard", lambda: [[], [], [0, 0]] + [[]] * 45, "node 2 must add"),
    ("hard", fan(1), "are solved"),
]
RIGHT = [
    ("mended_after", lasting()),
    ("mended_after", simulated),
    ("own_errors", judged()),
    ("look_alike", alike),
    ("snapped", looped),
    ("hard", fan(3)),
]
