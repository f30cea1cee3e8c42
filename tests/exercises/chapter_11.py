"""Answers to the exercises of chapter 11: mistakes, with words of what their check must say, and other right ones."""

import torch


def averages(sides=(0, 1), all_places=False):
    """An answer to exercise 11.1 with a mistake."""

    def two_averages(accuracy, never_right, never_left):
        restricted = torch.zeros(accuracy.shape, dtype=torch.bool)
        restricted[list(never_left), sides[0]] = True
        restricted[list(never_right), sides[1]] = True
        trained = accuracy if all_places else accuracy[~restricted]
        return trained.mean(), accuracy[restricted].mean()

    return two_averages


def last_of_equals(values, width):
    rise = values[width:] - values[:-width]
    return len(rise) - 1 - rise.flip(0).argmax()


def share(barred=True, different=True, left_out=()):
    """An answer to exercise 11.3 with parts left out."""

    def asked_share(V, never_right, never_left, r):
        left, right = torch.ones(V), torch.ones(V)
        if barred:
            left[list(never_left)], right[list(never_right)] = 0, 0
        pairs = left[:, None] * right * (1 - torch.eye(V) if different else 1)
        n = left.sum()
        two = r * n * pairs / pairs.sum()
        total = sum({"0": V, "1": 2 * n, "2": r * n}[kind] for kind in "012" if kind not in left_out)
        return torch.stack([left + two.sum(1), right + two.sum(0)], 1) / total

    return asked_share


def descent(order="both", first=0, factor=2):
    """An answer to exercise 11.4 with a mistake."""

    def steps_to_half(p, q, lr):
        for step in range(first, 10_001):
            if p * q >= 0.5:
                return step
            slope = factor * (1 - p * q)
            old = p
            p = p + lr * slope * q
            q = q + lr * slope * (old if order == "both" else p)
        return None

    return steps_to_half


MISTAKES = [
    ("two_averages", averages(sides=(1, 0)), "column 0 is the left side"),
    ("two_averages", averages(all_places=True), "1-var train is"),
    ("two_averages", lambda accuracy, right, left: accuracy.mean(0), "1-var train is"),
    ("two_averages", lambda accuracy, right, left: accuracy.mean().view(1), "shape (1,)"),
    ("steepest", lambda values, width: (values[width:] - values[:-width]).argmin(), "rises by"),
    ("steepest", lambda values, width: (values[width:] - values[:-width]).argmax() + width, "window"),
    ("steepest", last_of_equals, "first counts"),
    ("steepest", lambda values, width: values[width:] - values[:-width], "shape"),
    ("asked_share", share(barred=False), "training never puts it there"),
    ("asked_share", share(different=False), "two different variables"),
    ("asked_share", share(left_out="0"), "the share is"),
    ("asked_share", lambda V, right, left, r: share()(V, right, left, r).T, "shape"),
    ("steps_to_half", descent(order="one"), "gradient descent takes"),
    ("steps_to_half", descent(first=1), "do both weights move at once"),
    ("steps_to_half", descent(factor=1), "gradient descent takes"),
    ("steps_to_half", descent(factor=-2), "gradient descent takes"),
]

RIGHT = [
    ("two_averages", lambda accuracy, right, left: tuple(map(float, averages()(accuracy, right, left)))),
    ("steepest", lambda values, width: int((values[width:] - values[:-width]).argmax())),
]
