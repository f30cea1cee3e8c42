"""Answers to the exercises of chapter 3: mistakes, with words of what their check must say, and other right ones."""


def median_of_seven(metrics):
    """Another right rule: halfway up a curve smoothed over seven measurements."""
    smooth = metrics.rolling(7, center=True, min_periods=1).median()
    return tuple(
        int((smooth[name] > 0.75).idxmax()) if (smooth[name] > 0.75).any() else None
        for name in ("1-var train", "1-var var-restricted")
    )


NAMES = {"halfway": 0.709}

MISTAKES = [
    ("share_of_half", ("descending=True", "descending=False"), "the share is"),
    ("share_of_half", (" + 1", ""), "the share is"),
    ("share_of_half", ("needed / len(losses)", "needed"), "the share is"),
    ("first_step", ("0.001 * g.sign()", "0.001"), "where the gradient is 0"),
    ("first_step", ("- 0.001 * g.sign()", "+ 0.001 * g.sign()"), "with gradient"),
    ("first_step", ("g.sign()", "g / (g.abs() + 1e-3)"), "with gradient"),  # as if the small constant were large
    (
        "informed_score",
        ("train.mean().item(), held_out.mean().item()", "held_out.mean().item(), train.mean().item()"),
        "on trained",
    ),
    ("first_step", ("g.sign()", "g"), "with gradient"),  # plain gradient descent
    ("first_step", ("(1 - 0.001 * 0.02)", "1"), "where the gradient is 0"),
    ("informed_score", lambda p, m: 0.5, "two scores"),
    # one over the mean number of candidates
    ("informed_score", ("(1 - (1 - p) ** n) / (n * p)", "1 / (1 + (n - 1) * p)"), "on trained pairs"),
    ("informed_score", ("(1 - p) ** (n - 1) / n", "1.0 * (n == 1)"), "on held-out pairs"),
    ("phase_starts", ("above & lasting", "above", " if good.any() else None", ""), "stays at 0.55 to the end"),
    ("phase_starts", ("above & lasting", "above"), "one high measurement"),
    ("phase_starts", ("above & lasting", "above[::-1].cumprod()[::-1] > 0"), "one low measurement"),
    ("phase_starts", lambda metrics: (2300, 10_500), "two clear rises"),  # those of seed 42
]
RIGHT = [("phase_starts", median_of_seven)]
