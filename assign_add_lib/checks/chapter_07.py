"""The checks of chapter 7, Fourier features."""

import math
import random
from collections.abc import Callable

import torch

from ..analysis import fourier
from ..task import STUDY, Split
from .common import as_parts, as_tensor, as_truth, close, exercise, expect, expect_close, refuse


@exercise
def singles_out(answer: Callable) -> None:
    """Exercise 7.1: `answer(N, ks)` is whether the sum of waves with these frequencies has its one crest at the answer."""
    chosen = [(60, [k]) for k in (1, 2, 7, 24)] + [(60, [4, 15]), (60, [4, 6]), (59, [29]), (36, [4, 9]), (35, [5, 10])]
    for N, ks in chosen + [(N, random.sample(range(1, N), random.randint(1, 3))) for N in random.choices(range(6, 61), k=30)]:
        given = as_truth(answer(N, list(ks)))
        away = torch.arange(N, dtype=torch.float64)
        wave = (2 * math.pi * torch.tensor(ks, dtype=torch.float64)[:, None] * away / N).cos().sum(0)
        crests = int((wave > len(ks) - 1e-9).sum())
        words = f"modulo {N}, frequencies {ks} have {crests} answers at their highest value, not one"
        which = "; which of them share the crest of one wave?" if len(ks) == 1 else ""
        expect(not given or crests == 1, words + which)
        how = (
            ", though none of them does so alone: where are all waves high at once?"
            if min(math.gcd(k, N) for k in ks) > 1
            else ""
        )
        expect(given or crests > 1, f"modulo {N}, frequencies {ks} do single out the answer{how}")


@exercise
def rote(answer: Callable) -> None:
    """Exercise 7.2: `answer(train_pairs, size)` are logits (59, 59, 59) of a solver that knows training pairs alone."""
    N = STUDY.n_numbers
    for seed in random.sample(range(1000), 2):
        known, size = Split.draw(STUDY, seed).train_pairs, random.choice([5.0, 10.0, 20.0])
        logits = as_tensor(answer(known.clone(), size), (N, N, N), "the logits").double()
        tells = (logits != logits[..., :1])[~known].any()
        expect(not tells, "on a pair that is not in training all logits must be 0; yours prefer some answer there")
        sums = (torch.arange(N)[:, None] + torch.arange(N)) % N
        right = logits.gather(2, sums[..., None]).squeeze(2)[known]
        words = "a training pair must have the right answer's logit at `size`"
        expect_close(right, torch.full_like(right, size), f"{words}; yours has {float(right[0]):.3g} for {size:g}")
        expect_close(logits.sum(2)[known], right, "a training pair must have 0 at all wrong answers")
        kept = fourier.restricted(logits, random.sample(range(1, N // 2 + 1), 9))
        best = kept.argmax(2)[~known] == sums[~known]
        expect(float(best.double().mean()) > 0.9, "restricted to nine waves it should be right on held-out pairs, and is not")


@exercise
def weighted(answer: Callable) -> None:
    """Exercise 7.3: `answer(N, ks, a, b, alpha, beta)` are the weights of an analytic network for ax + by."""
    for N in random.sample((29, 31, 37, 41), 2):
        a, b = random.sample(range(2, N // 2), 2)
        b = -b
        ks = torch.tensor(random.sample(range(1, N // 2 + 1), 6)).repeat_interleave(150)
        alpha, beta = 2 * math.pi * torch.rand(2, len(ks))
        given = as_parts(answer(N, ks, a, b, alpha, beta), 3, "it should return three things: left, right, out")
        shapes = ((N, len(ks)), (N, len(ks)), (len(ks), N))
        left, right, out = map(as_tensor, given, shapes, ("left", "right", "out"))
        best = ((left[:, None] + right).square() @ out).argmax(2)

        def share_of(s, t, N=N, best=best):
            return (best == (s * torch.arange(N)[:, None] + t * torch.arange(N)) % N).float().mean().item()

        others = {"x + y": (1, 1), "ax - by": (a, -b), "bx + ay": (b, a)}
        refuse(best, {f"your network computes {told}, not ax + by": share_of(*turns) > 0.9 for told, turns in others.items()})
        share = share_of(a, b)
        expect(share > 0.97, f"modulo {N}, with a = {a} and b = {b}, only {share:.0%} of the pairs get ax + by")


@exercise
def one_face(answer: Callable) -> None:
    """Exercise 7.4: `answer(k, phase_in, amplitude_in, phase_out, amplitude_out)` are logits of waves of frequency k."""
    N = STUDY.n_numbers
    for k in random.sample(range(1, N // 2 + 1), 2):
        phase_in, phase_out = 2 * math.pi * torch.rand(2, 7, dtype=torch.float64)
        amplitude_in, amplitude_out = 0.5 + torch.rand(2, 7, dtype=torch.float64)
        given = as_tensor(answer(k, phase_in, amplitude_in, phase_out, amplitude_out), (N, N, N), "the logits")
        angle = 2 * math.pi * k * torch.arange(N, dtype=torch.float64)[:, None] / N

        def like(act=torch.relu, back=phase_out, tall=amplitude_in, tall_out=amplitude_out):
            read = tall * (angle + phase_in).cos()  # noqa: B023
            out = (tall_out * (angle + back).cos()).T  # noqa: B023
            return close(given, act(read[:, None] + read) @ out, 1e-3, 1e-5)  # noqa: B023

        wrong = {
            "the bare circuit's activation is the ReLU, not the square": like(act=torch.square),
            "there is no activation between reading and writing; the bare circuit has the ReLU": like(act=lambda pre: pre),
            "the output phase is given; do not replace it by twice the input phase": like(back=2 * phase_in),
            "the waves that are written have amplitudes, too": like(tall_out=1),
            "the waves that are read have amplitudes, too": like(tall=1),
        }
        refuse(given, wrong)
        expect(like(), "the logits are not those of neurons with these waves; neuron j reads x and y with the same wave")


@exercise
def sparing(answer: Callable) -> None:
    """Exercise 7.5: `answer(pairs, generator, spared)` are weights (batch, 3) that never read a spared number the more."""
    N = STUDY.n_numbers
    for seed in range(2):
        generator = torch.Generator().manual_seed(random.randrange(1000) + seed)
        spared = torch.zeros(N, dtype=torch.bool)
        spared[random.sample(range(N), 10)] = True
        pairs = torch.randint(N, (4000, 2), generator=generator)
        given = as_tensor(answer(pairs.clone(), generator, spared.clone()), (4000, 3), "the weights")
        expect(close(given.sum(1), torch.ones(4000), 1e-4), "the three weights of a problem should sum to 1")
        expect(bool(given[:, 2].abs().max() < 1e-6), "the stranger, the third weight, should have none")
        p, (left, right) = given[:, 0], spared[pairs].T
        more = ((p > 0.5 + 1e-6) & left) | ((p < 0.5 - 1e-6) & right)
        words = f"a spared number is read more than its partner in {int(more.sum())} of 4000 problems"
        expect(bool((more & ~(left & right)).any() or not more.any()), words + "; mind those in which both numbers are spared")
        expect(not more.any(), words)
        free, words = p[~left & ~right], "problems without a spared number should be read as before, from 0.1 to 0.9"
        ends = f"; yours lie between {free.min():.2f} and {free.max():.2f}"
        expect(bool(free.min() < 0.15) and bool(free.max() > 0.85), words + ends)
        expect(bool((p.min() > 0.1 - 1e-6) & (p.max() < 0.9 + 1e-6)), "the shares should stay between 0.1 and 0.9")
        partner = p[left & ~right]
        words = "a spared number should still be read, with shares from 0.1 to 0.5, not always one half"
        expect(bool(partner.min() < 0.2), words)
