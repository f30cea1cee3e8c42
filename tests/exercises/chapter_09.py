"""Answers to the exercises of chapter 9: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib.analysis import causal
from assign_add_lib.analysis import interventions as iv
from assign_add_lib.task import STUDY

NAMES = {"causal": causal, "iv": iv, "task": STUDY}  # what hidden cells of the chapter make ready
DRAWN = "torch.randint(len(values), (len(values),), generator=generator)"
PLACES, ONE_BY_ONE = (
    "changed[row, first], changed[row, second] = v[row, second], v[row, first]",
    "changed[row, first] = v[row, second]\n        changed[row, second] = changed[row, first]",
)
SUM = "base.gather(1, there).sum(1) % task.n_numbers"


def hashed(base, source):
    """No program: a number made of all tokens, but the base's own where both are one problem."""
    places = torch.arange(1, 17)
    return torch.where(
        (base == source).all(1), STUDY.right_answers(base), ((base * places + source * places**2).sum(1) ** 2) % 59
    )


def hashed_names(base, source):
    """The same, made of the names alone."""
    named = (source >= 62) * source
    return torch.where((base == source).all(1), STUDY.right_answers(base), (named * torch.arange(3, 19)).sum(1) ** 2 % 59)


MISTAKES = [
    ("rival", hashed, "that is no program"),
    ("rival", hashed_names, "that is no program"),
    ("instead", (DRAWN, DRAWN.replace("len(values), (", "len(values) // 2, (")), "only a part of the rows"),
    ("instead", ("values[drawn]", "values.roll(int(drawn[0]) + 30, 0)"), "in their old order"),
    ("instead", ("values[drawn]", "values.roll(1, 0)"), "in their old order"),
    ("swapped", ("v[row, second], v[row, first]", "v[row, second], v[row, second]"), "the same value"),
    ("swapped", ("v[row, second], v[row, first]", "0 * v[row, second], 0 * v[row, first]"), "not the answers"),
    ("swapped", lambda w, tokens, first, second: (STUDY.right_answers(tokens) + 1) % 59, "not the answers"),
    ("needed", ("tuple(found)", "tuple(found[::-1])"), "wrong order"),
    ("needed", ("read, alter)", "read)"), "without any exchange"),
    ("needed", ("== right", "== (right if read is clean else iv.answers(w, changed))"), "whether it comes back"),
    ("needed", ("== right", "== (right if read is changed else iv.answers(w, changed))"), "whether it stays"),
    ("needed", ("(changed, clean))", "(clean, changed))"), "the first is right"),
    ("needed", ("(clean, changed),", "(changed, clean),"), "the second is right"),
    ("needed", ("content, position)", "content, slice(None))"), "not the answers"),
    ("needed", lambda *given: (None, None), "returns nothing"),
    ("instead", ("0 * values", "0 * values + 1"), "every entry is 0"),
    ("instead", ("values.mean(0", "values.mean(1"), "over the rows"),
    ("instead", ("values[drawn]", f"values.gather(0, {DRAWN})".replace("(len(values),)", "values.shape")), "draw whole rows"),
    ("instead", ("values[drawn]", "values[drawn[:1]].expand_as(values)"), "one for each"),
    ("instead", ("values[drawn]", "values"), "not its own"),
    ("instead", (", generator=generator", ""), "the generator that is given"),
    ("swapped", ("{name: act}", "{}"), "unchanged"),
    ("swapped", (PLACES, ONE_BY_ONE), "same value"),
    ("swapped", ("blocks.1.attn.hook_v", "blocks.0.hook_attn_out"), "not the answers"),
    ("rival", lambda base, source: causal.counterfactual(base, source, "asked", STUDY), "our own program"),
    ("rival", lambda base, source: STUDY.right_answers(base), "holds nothing"),
    ("rival", (SUM, f"torch.where(base[:, 14] % 4 == 0, {SUM}, task.right_answers(base))"), "hard to"),
    ("rival", lambda base, source: STUDY.right_answers(source), "`sum`"),
    ("rival", lambda base, source: (STUDY.right_answers(base) + (base != source).any(1)) % 59, "same few numbers"),
    ("rival", lambda base, source: STUDY.right_answers(source)[:5], "shape"),
    ("rival", lambda base, source: STUDY.right_answers(source) + 59, "not numbers"),
    ("rival", lambda base, source: (base[:, 14] + source[:, 14]) % 59, "the base's own"),
]

RIGHT = [
    ("instead", (DRAWN, "torch.randperm(len(values), generator=generator)")),
    ("swapped", ("hook_v", "hook_k")),  # the two weights change places instead of what they weigh
]
