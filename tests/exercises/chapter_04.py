"""Answers to the exercises of chapter 4: mistakes, with words of what their check must say."""

import torch

UNWEIGHTED = "gap.abs().sum() / len(confidence)", "(gap.abs() / place.bincount(minlength=bins).clamp(min=1)).mean()"
WITHOUT_1 = ".clamp(max=bins - 1)", "", "torch.zeros(bins,", "torch.zeros(bins + 1,", "gap.abs()", "gap[:-1].abs()"

MISTAKES = [
    ("renamed", ("manual_seed(seed)", "manual_seed(0)"), "another seed gives the same names"),
    (
        "renamed",
        ("torch.Generator().manual_seed(seed)", "torch.Generator()\n    generator.seed()"),
        "the same seed gives other names",
    ),
    ("evidence", ("log_likelihood(rote) -", "-log_likelihood(rote) +"), "the rote adder's comes first"),
    ("evidence", ("1 - p)", "1.0)"), "wrong answers are evidence too"),
    ("evidence", ("1 / 59", "0.1"), "pair by pair gives"),
    ("evidence", lambda right, twin, sure: right, "shape"),
    ("standardised", ("torch.bincount(reference", "torch.bincount(stratum"), "as in the group itself"),
    ("standardised", ("torch.bincount(reference, minlength=size) * ", "1 * "), "in the reference"),
    ("standardised", ("weight.sum()", "len(reference)"), "no longer sum to 1"),
    ("standardised", (".clamp(min=1)", ""), "no problem in some stratum"),
    ("standardised", lambda wrong, stratum, reference: wrong, "shape"),
    ("calibration_error", UNWEIGHTED, "as it has answers"),
    ("calibration_error", ("* bins).long()", "* 0).long()"), "not over all"),
    ("calibration_error", WITHOUT_1, "bin by bin"),
    ("blame", (" - wrong[~there].double().mean()", ""), "without it"),
    ("blame", ("wrong[~there]", "wrong"), "it should get"),
    ("blame", (" and not there.all()", ""), "in all problems or in none"),
    ("blame", lambda tokens, wrong: torch.zeros(12), "begin at 62"),
    ("blame", lambda tokens, wrong: wrong, "shape"),
    ("renamed", lambda tokens, old, seed: tokens, "still stands"),
    ("renamed", ("masked_fill(used, -1)", "masked_fill(variables == old, -1)"), "in use already"),
    ("renamed", ("tokens == old", "(tokens == old) | (tokens >= 62) & (torch.arange(16) == 13)"), "is changed"),
    ("renamed", ("draw.argmax(1)", "(~used).int().argmax(1)"), "new names are ever drawn"),
    ("renamed", lambda tokens, old, seed: torch.where(tokens == old, 61, tokens), "no variable"),
]
