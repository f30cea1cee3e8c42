"""Answers to the exercises of chapter 14: mistakes, with words of what their check must say."""

from functools import cache


def shortest(operands, node):
    """An answer to exercise 14.1 that follows the shortest way to a node that no other adds."""

    @cache
    def way(at):
        return min((way(user) for user, each in enumerate(operands) if at in each), default=0) + 1

    return way(node)


MISTAKES = [
    (
        "mended_after",
        ("wrong & set(each)}", "wrong & set(each)} - {node}", "rounds += 1", "rounds += bool(wrong)"),
        "one round after",
    ),
    ("own_errors", (" & (graphs.operands >= 0)", ""), "a leaf adds nothing"),  # what is no operand is read as node 0
    ("own_errors", ("inherited.any(2)", "inherited[:, :, 0]"), "judged otherwise"),
    ("hard", lambda: [[], [], []] + [[0, 1, 2, 2]] * 45, "must add"),
    ("mended_after", ("return rounds", "return rounds - 1"), "one round after"),
    ("mended_after", shortest, "shortest way"),
    ("mended_after", lambda operands, node: len(operands), "write down which nodes"),
    ("own_errors", lambda graphs, held: held != graphs.solution, "all errors"),
    ("own_errors", ("return wrong", "return wrong & ~graphs.leaf"), "a leaf adds nothing"),
    ("own_errors", lambda graphs, held: (held != graphs.solution)[0], "should be"),
    ("hard", lambda: [[]] * 48, "are solved"),
    ("hard", lambda: [[]] * 20, "should be 48"),
    ("hard", lambda: [[], []] + [[node - 1] for node in range(2, 48)], "47 deep"),
    ("hard", lambda: [[], [], [0, 0]] + [[]] * 45, "node 2 must add"),
]
