"""Answers to the exercises of chapter 4: mistakes, with words of what their check must say, and other right ones."""

import torch


def likelier(wrong_too=True, turned=False, guess=1 / 59):
    """An answer to exercise 4.5 with a mistake."""

    def evidence(right, twin, sure=0.99):
        def log_likelihood(p):
            return torch.where(right, p.log(), wrong_too * (1 - p).log()).sum()

        rote, even = torch.where(twin, sure, guess).double(), right.double().mean()
        return (-1) ** turned * (log_likelihood(rote) - log_likelihood(even))

    return evidence


def standard(own=False, even=False, whole=False, clamped=True):
    """An answer to exercise 4.1 with a mistake."""

    def standardised(wrong, stratum, reference):
        n = torch.bincount(stratum, minlength=9)
        share = torch.bincount(stratum[wrong], minlength=9) / (n.clamp(min=1) if clamped else n)
        weight = torch.bincount(stratum if own else reference, minlength=9)
        weight = (n > 0).long() if even else weight
        return (share * weight).sum() / (weight if whole else weight * (n > 0)).sum()

    return standardised


def calibration(weighted=True, binned=True, last=True):
    """An answer to exercise 4.2 with parts left out."""

    def calibration_error(confidence, right, bins=10):
        bins = bins if binned else 1
        place = (confidence * bins).long()
        place = place.clamp(max=bins - 1) if last else place
        error, gap = 0, confidence - right.double()
        for each in range(bins):
            if (place == each).any():
                error += gap[place == each].mean().abs() * ((place == each).double().mean() if weighted else 1 / bins)
        return error

    return calibration_error


def blamed(without=True, over_all=False, everywhere=False):
    """An answer to exercise 4.3 with a mistake."""

    def blame(tokens, wrong):
        found = torch.zeros(12, dtype=torch.double)
        for variable in range(12):
            there = (tokens[:, : 16 if everywhere else 12] == 62 + variable).any(1)
            if there.any() and (everywhere or not there.all()):
                rest = wrong if over_all else wrong[~there]
                found[variable] = wrong[there].double().mean() - without * rest.double().mean()
        return found

    return blame


def renaming(only_question=False, free=True, always=False, first=False):
    """An answer to exercise 4.4 with a mistake."""

    def renamed(tokens, old, seed=0):
        variables = torch.arange(62, 74)
        used = (tokens[:, :, None] == variables).any(1)
        draw = torch.rand(used.shape, generator=torch.Generator().manual_seed(seed))
        draw = draw.masked_fill(used, -1) if free else draw.masked_fill(variables == old, -1)
        new = variables[(~used).int().argmax(1) if first else draw.argmax(1)][:, None]
        out = torch.where(tokens == old, new, tokens)
        if only_question:
            out[:, :12] = tokens[:, :12]
        if always:
            out[:, 13] = torch.where((out >= 62)[:, 13], new[:, 0], out[:, 13])
        return out

    return renamed


MISTAKES = [
    ("evidence", likelier(turned=True), "the rote adder's comes first"),
    ("evidence", likelier(wrong_too=False), "wrong answers are evidence too"),
    ("evidence", likelier(guess=0.1), "pair by pair gives"),
    ("evidence", lambda right, twin, sure: right, "shape"),
    ("standardised", standard(own=True), "as in the group itself"),
    ("standardised", standard(even=True), "in the reference"),
    ("standardised", standard(whole=True), "no longer sum to 1"),
    ("standardised", standard(clamped=False), "no problem in some stratum"),
    ("standardised", lambda wrong, stratum, reference: wrong, "shape"),
    ("calibration_error", calibration(weighted=False), "as it has answers"),
    ("calibration_error", calibration(binned=False), "not over all"),
    ("calibration_error", calibration(last=False), "bin by bin"),
    ("blame", blamed(without=False), "without it"),
    ("blame", blamed(over_all=True), "it should get"),
    ("blame", blamed(everywhere=True), "in all problems or in none"),
    ("blame", lambda tokens, wrong: torch.zeros(12), "begin at 62"),
    ("blame", lambda tokens, wrong: wrong, "shape"),
    ("renamed", lambda tokens, old, seed: tokens, "still stands"),
    ("renamed", renaming(free=False), "in use already"),
    ("renamed", renaming(always=True), "is changed"),
    ("renamed", renaming(first=True), "new names are ever drawn"),
    ("renamed", lambda tokens, old, seed: torch.where(tokens == old, 61, tokens), "no variable"),
]


def by_counting(wrong, stratum, reference):
    share = {each: wrong[stratum == each].double().mean().item() for each in stratum.unique().tolist()}
    known = [share[each] for each in reference.tolist() if each in share]
    return sum(known) / len(known)


RIGHT = [("standardised", by_counting)]
