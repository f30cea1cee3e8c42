"""The checks of chapter 7, Fourier features."""

import math
import random

import torch
from torch import Tensor

from ..analysis import fourier
from ..task import STUDY
from .common import as_parts, as_tensor, as_truth, expect, expect_close, expect_number, foretold, hint

N = STUDY.n_numbers


@foretold("how many answers share the crest modulo 60, for k = 1, 2, 7 and 24", (1, 2, 1, 12))
def singles_out(answer) -> None:
    """Exercise 7.1: `answer(N, ks)` is whether the sum of waves with these frequencies has its one crest at the answer."""
    chosen = [(60, [k]) for k in (1, 2, 7, 24)] + [(60, [4, 15]), (60, [4, 6]), (59, [29]), (36, [4, 9]), (35, [5, 10])]
    for n, ks in chosen + [(n, random.sample(range(1, n), random.randint(1, 3))) for n in random.choices(range(6, 61), k=30)]:
        given, told = as_truth(answer(n, list(ks))), f"modulo {n}, frequencies {ks}"
        away = torch.arange(n, dtype=torch.float64)
        wave = (2 * math.pi * torch.tensor(ks, dtype=torch.float64)[:, None] * away / n).cos().sum(0)
        crests = (wave > len(ks) - 1e-9).sum()
        which = hint(given, {"which of them share the crest of one wave?": len(ks) == 1})
        expect(not given or crests == 1, f"{told} have {crests} answers at their highest value, not one{which}")
        none_alone = "though none of them does so alone: where are all waves high at once?"
        how = hint(given, {none_alone: min(math.gcd(k, n) for k in ks) > 1})
        expect(given or crests > 1, f"{told} do single out the answer{how}")


def weighted(answer) -> None:
    """Exercise 7.2: `answer(N, ks, a, b, alpha, beta)` are the weights of an analytic network for ax + by."""
    for n in random.sample((29, 31, 37, 41), 2):
        a, b = random.sample(range(2, n // 2), 2)
        b = -b
        ks = torch.tensor(random.sample(range(1, n // 2 + 1), 6)).repeat_interleave(150)
        alpha, beta = 2 * math.pi * torch.rand(2, len(ks))
        given = as_parts(answer(n, ks, a, b, alpha, beta), 3, "it should return three things: left, right, out")
        shapes = ((n, len(ks)), (n, len(ks)), (len(ks), n))
        left, right, out = map(as_tensor, given, shapes, ("left", "right", "out"))
        best, x = ((left[:, None] + right).square() @ out).argmax(2), torch.arange(n)
        rules = {"ax + by": (a, b), "x + y": (1, 1), "ax - by": (a, -b), "bx + ay": (b, a)}
        shares = {told: (best == (s * x[:, None] + t * x) % n).float().mean().item() for told, (s, t) in rules.items()}
        words = f"modulo {n}, with a = {a} and b = {b}, only {shares['ax + by']:.0%} of the pairs get ax + by"
        others = {f"your network computes {told}": share > 0.9 for told, share in shares.items()}
        expect(shares["ax + by"] > 0.97, words + hint(best, others))


@foretold("in what percentage of the sums of x + 1/2 and y + 1/2 it says x + y + 1", 95)
def moved_on(answer) -> None:
    """Exercise 7.3: `answer(table, hours)` is a table (59, columns) of which every number is moved on by so many hours."""
    for hours in (0.5, random.uniform(0.1, 0.9), 3):
        table = torch.randn(N, random.randint(2, 5), dtype=torch.float64)
        by, back = _moved(table, hours), _moved(table, -hours)
        mean = (1 - hours % 1) * table.roll(-int(hours), 0) + (hours % 1) * table.roll(-int(hours) - 1, 0)
        wrong = {
            "yours moves it back": back,
            "yours draws straight lines between the numbers; a hand goes round": mean,
            "yours turns all frequencies by the same angle": _moved(table, hours, once=True),
            "yours leaves out the constant, frequency 0": by - table.mean(0),
        }
        words = f"moved on by {hours:.3g} hours, the waves of a table of random numbers are not where they should be; "
        expect_close(as_tensor(answer(table, hours), table, "the table").double(), by, words.removesuffix("; "), 1e-4, wrong)


def _moved(table: Tensor, hours: float, once: bool = False) -> Tensor:
    """A table (N, columns) of which each wave is turned on by so many hours, or by the angle of the wave that goes round once."""
    amplitude, phase = fourier.amplitudes_and_phases(table)
    k = torch.arange(len(amplitude), dtype=torch.float64)[:, None]
    angle = 2 * math.pi / N * (torch.arange(N)[:, None, None] * k + hours * k.clamp(max=1 if once else None, min=0))
    return (amplitude * (angle + phase).cos()).sum(1)


@foretold("whether random sets with more doubles have larger leads, smaller ones, or the same", "smaller")
def doubles(answer) -> None:
    """Exercise 7.4: `answer(ks)` is of how many of these frequencies, modulo 59, the double is there, too."""
    chosen = [[9, 11, 19, 20], [1, 2, 4, 8], [3], [*range(1, N // 2 + 1)]]
    for ks in chosen + [random.sample(range(1, N // 2 + 1), random.randint(9, 12)) for _ in range(20)]:
        truth = sum(min(2 * k % N, -2 * k % N) in ks for k in ks)
        wrong = {
            "yours misses doubles above 29: going round 40 times is, at whole hours, going round 19 times backwards": sum(
                2 * k in ks for k in ks
            ),
            "that is how many pairs there could be; count those whose double is in the set": len(ks),
            "yours takes the rest modulo 29; a frequency and 59 less it are the same": sum(2 * k % (N // 2) in ks for k in ks),
        }
        expect_number(answer(list(ks)), truth, f"the frequencies {sorted(ks)}", "counted one by one it is", 1e-9, wrong)
