"""Answers to the exercises of chapter 3: mistakes, with words of what their check must say, and other right ones."""

import math


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


def even(rows, T, d, d_mlp, N, each=1, shared=1, layer_1=1, least=None):
    """An answer to exercise 3.4 with parts of the count multiplied by a factor."""
    first = layer_1 * (4 * T * d * d + 2 * T * T * d) + 2 * d * d + 2 * T * d + 2 * d * d_mlp + d * N
    saved = first - each * (5 * rows * d + 2 * d * d + 2 * T * T + d * d_mlp + d_mlp * N + d * N)
    tables = shared * (4 * d**3 + 2 * rows * d * d + rows**2 * d + d_mlp * d * N)
    return math.ceil(tables / saved) if saved > 0 else least


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
    ("first_step", adam(decay=0), "where the gradient is 0"),
    ("informed_score", lambda p, m: 0.5, "two scores"),
    # one over the mean number of candidates
    ("informed_score", informed(train=lambda p, n: 1 / (1 + (n - 1) * p)), "on trained pairs"),
    ("informed_score", informed(held_out=lambda p, n: 1.0 * (n == 1)), "on held-out pairs"),
    ("break_even", lambda **sizes: even(**sizes, layer_1=2), "PyTorch multiplies as often"),
    ("break_even", lambda **sizes: even(**sizes, least=10**9), "no batch is large enough"),
    ("phase_starts", first_above, "stays at 0.55 to the end"),
    ("phase_starts", first_above_or_none, "one high measurement"),
    ("phase_starts", stays_above, "one low measurement"),
    ("phase_starts", lambda metrics: (2300, 10_500), "two clear rises"),  # those of seed 42
]
RIGHT = [("phase_starts", median_of_seven)]
