"""Answers to the exercises of chapter 3: mistakes, with words of what their check must say, and other right ones."""

import torch

from assign_add_lib import forward, last_logits
from assign_add_lib.circuits import OV, QK


def adam(decay=1.0, coupled=0.0, corrected=True):
    """An answer to exercise 3.2 with parts left out."""

    def first_step(w, g):
        g = g + coupled * w
        m, v = (g, g**2) if corrected else (0.1 * g, 0.001 * g**2)
        return w * (1 - decay * 2e-5) - 0.001 * m / (v.sqrt() + 1e-8)

    return first_step


def informed(train=lambda p, n: (1 - (1 - p) ** n) / (n * p), held_out=lambda p, n: (1 - p) ** (n - 1) / n):
    """An answer to exercise 3.3 with another formula for n assignments."""

    def informed_score(p, m):
        return tuple(sum(formula(p, n) for n in range(1, m + 1)) / m for formula in (train, held_out))

    return informed_score


def first_move_only(weights, tokens, position):
    w, n = weights, position + 1
    x = w.W_E[tokens[:, :n]] + w.W_pos[:n]
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    x = x + (x @ QK(w, 1) @ x.mT).masked_fill(future, -torch.inf).softmax(-1) @ x @ OV(w, 1)
    a = torch.einsum("bd,btd->bt", x[:, -1] @ QK(w, 2), x).softmax(-1)
    y = x[:, -1] + torch.einsum("bt,btd->bd", a, x) @ OV(w, 2)
    return (y + (y @ w.W_in).relu() @ w.W_out) @ w.W_U


def first_above(metrics):
    """The chapter's own rule, which says step 0 of a curve that never arrives."""
    return tuple(int((metrics[name] > 0.709).idxmax()) for name in ("1-var train", "1-var var-restricted"))


def first_above_or_none(metrics):
    return tuple(step or None for step in first_above(metrics))


def stays_above(metrics):
    """The step after the last one below halfway, which forgives no dip."""
    found = []
    for name in ("1-var train", "1-var var-restricted"):
        below = metrics.index[metrics[name] <= 0.709]
        found.append(None if below[-1] == metrics.index[-1] else int(below[-1]) + 100)
    return tuple(found)


def median_of_seven(metrics):
    """Another right rule: halfway up a curve smoothed over seven measurements."""
    smooth = metrics.rolling(7, center=True, min_periods=1).median()
    return tuple(
        int((smooth[name] > 0.75).idxmax()) if (smooth[name] > 0.75).any() else None
        for name in ("1-var train", "1-var var-restricted")
    )


NAMES = {"halfway": 0.709}

MISTAKES = [
    ("loss", lambda logits, answers: -logits.softmax(1).gather(1, answers[:, None]).log().mean(), "may round to 0"),
    ("loss", lambda logits, answers: (logits.logsumexp(1) - logits.gather(1, answers[:, None])[:, 0]).sum(), "the mean of"),
    ("first_step", lambda w, g: w * (1 - 2e-5) - 0.001 * g, "with gradient"),  # plain gradient descent
    ("first_step", adam(corrected=False), "with gradient"),
    ("first_step", adam(decay=0), "where the gradient is 0"),
    ("first_step", adam(decay=0, coupled=0.02), "where the gradient is 0"),
    ("informed_score", lambda p, m: 0.5, "two scores"),
    # one over the mean number of candidates
    ("informed_score", informed(train=lambda p, n: 1 / (1 + (n - 1) * p)), "on trained pairs"),
    ("informed_score", informed(train=lambda p, n: 1 / n), "on trained pairs"),
    ("informed_score", informed(held_out=lambda p, n: 1.0 * (n == 1)), "on held-out pairs"),
    ("informed_score", informed(held_out=lambda p, n: (1 - p) ** n / n), "on held-out pairs"),
    ("logits_at", lambda weights, tokens, position: forward(weights, tokens)[:, position], "are allowed"),
    ("logits_at", first_move_only, "are allowed"),
    ("logits_at", lambda weights, tokens, position: last_logits(weights, tokens), "at position 12 the logits differ"),
    ("phase_starts", first_above, "stays at 0.55 to the end"),
    ("phase_starts", first_above_or_none, "one high measurement"),
    ("phase_starts", stays_above, "one low measurement"),
    ("phase_starts", lambda metrics: (2300, 10_500), "two clear rises"),  # those of seed 42
]
RIGHT = [("phase_starts", median_of_seven)]
