"""The checks of chapter 7, Fourier features."""

import math
import random

import torch
from torch import Tensor

from ..analysis import fourier
from ..task import STUDY, Split
from .common import as_parts, as_tensor, as_truth, expect, expect_close, foretold, hint

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


@foretold("restricted accuracy on held-out pairs, and excluded loss on training pairs", (1, 0))
def rote(answer) -> None:
    """Exercise 7.2: `answer(train_pairs, size)` are logits (59, 59, 59) of a solver that knows training pairs alone."""
    for seed in random.sample(range(1000), 2):
        known, size = Split.draw(STUDY, seed).train_pairs, random.choice([5.0, 10.0, 20.0])
        logits = as_tensor(answer(known.clone(), size), (N, N, N), "the logits").double()
        tells = (logits != logits[..., :1])[~known].any()
        expect(not tells, "on a pair that is not in training all logits must be 0; yours prefer some answer there")
        sums = (torch.arange(N)[:, None] + torch.arange(N)) % N
        right = logits.gather(2, sums[..., None]).squeeze(2)[known]
        words = f"a training pair must have the right answer's logit at `size`; yours has {right[0]:.3g} for {size:g}"
        expect_close(right, torch.full_like(right, size), words)
        expect_close(logits.sum(2)[known], right, "a training pair must have 0 at all wrong answers")
        kept = fourier.restricted(logits, random.sample(range(1, N // 2 + 1), 9))
        best = kept.argmax(2)[~known] == sums[~known]
        expect(best.double().mean() > 0.9, "restricted to nine waves it should be right on held-out pairs, and is not")


def weighted(answer) -> None:
    """Exercise 7.3: `answer(N, ks, a, b, alpha, beta)` are the weights of an analytic network for ax + by."""
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


def _face(k: int, phase_in, amplitude_in, phase_out, amplitude_out, act=torch.relu) -> Tensor:
    """Logits (N, N, N) of neurons that read both numbers with one wave, and write with another."""
    angle = 2 * math.pi * k * torch.arange(N, dtype=torch.float64)[:, None] / N
    read, written = amplitude_in * (angle + phase_in).cos(), amplitude_out * (angle + phase_out).cos()
    return act(read[:, None] + read) @ written.T


@foretold("which of the four is at fault, by its number", "4")
def one_face(answer) -> None:
    """Exercise 7.4: `answer(k, phase_in, amplitude_in, phase_out, amplitude_out)` are logits of waves of frequency k."""
    for k in random.sample(range(1, N // 2 + 1), 2):
        phase_in, phase_out = 2 * math.pi * torch.rand(2, 7, dtype=torch.float64)
        amplitude_in, amplitude_out = 0.5 + torch.rand(2, 7, dtype=torch.float64)
        waves = k, phase_in, amplitude_in, phase_out, amplitude_out
        no_act = "there is no activation between reading and writing; the bare circuit has the ReLU"
        turned = "the output phase is given; do not replace it by twice the input phase"
        wrong = {
            "the bare circuit's activation is the ReLU, not the square": _face(*waves, act=torch.square),
            no_act: _face(*waves, act=lambda pre: pre),
            turned: _face(k, phase_in, amplitude_in, 2 * phase_in, amplitude_out),
            "the waves that are written have amplitudes, too": _face(k, phase_in, amplitude_in, phase_out, 1),
            "the waves that are read have amplitudes, too": _face(k, phase_in, 1, phase_out, amplitude_out),
        }
        words = "the logits are not those of neurons with these waves; neuron j reads x and y with the same wave"
        expect_close(as_tensor(answer(*waves), (N, N, N), "the logits"), _face(*waves), words, 1e-3, wrong, 1e-5)


@foretold("how many of ten held-out doubles go wrong, spared and not spared", (0, 10))
def sparing(answer) -> None:
    """Exercise 7.5: `answer(pairs, generator, spared)` are weights (batch, 3) that never read a spared number the more."""
    for _ in range(2):
        generator = torch.Generator().manual_seed(random.randrange(1000))
        spared = torch.zeros(N, dtype=torch.bool)
        spared[random.sample(range(N), 10)] = True
        pairs = torch.randint(N, (4000, 2), generator=generator)
        given = as_tensor(answer(pairs.clone(), generator, spared.clone()), (4000, 3), "the weights")
        expect_close(given.sum(1), torch.ones(4000), "the three weights of a problem should sum to 1", 1e-4)
        expect(given[:, 2].abs().max() < 1e-6, "the stranger, the third weight, should have none")
        p, (left, right) = given[:, 0], spared[pairs].T
        more = ((p > 0.5 + 1e-6) & left) | ((p < 0.5 - 1e-6) & right)
        only_both = more.any() and not (more & ~(left & right)).any()
        why = hint(p, {"mind those in which both numbers are spared": bool(only_both)})
        expect(not more.any(), f"a spared number is read more than its partner in {more.sum()} of 4000 problems{why}")
        free, words = p[~left & ~right], "problems without a spared number should be read as before, from 0.1 to 0.9"
        ends = f"; yours lie between {free.min():.2f} and {free.max():.2f}"
        expect(free.min() < 0.15 and free.max() > 0.85, words + ends)
        expect(p.min() > 0.1 - 1e-6 and p.max() < 0.9 + 1e-6, "the shares should stay between 0.1 and 0.9")
        words = "a spared number should still be read, with shares from 0.1 to 0.5, not always one half"
        expect(p[left & ~right].min() < 0.2 and p[right & ~left].max() > 0.8, words)
