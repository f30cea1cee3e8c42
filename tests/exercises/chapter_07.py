"""Answers to the exercises of chapter 7: mistakes, with words of what their check must say, and other right ones."""

import math

import torch

from assign_add_lib.analysis import fourier


def half_of_the_fft(f):
    energy = torch.fft.rfft(f).abs().square()
    return energy / energy.sum()


def doubled_constant(f):
    energy = 2 * torch.fft.rfft(f).abs().square()
    return energy / torch.fft.fft(f).abs().square().sum()


def amplitudes(f):
    size = torch.fft.rfft(f).abs()
    size[1:] *= 2
    return size / size.sum()


def turned(sign=1, stretch=1.0):
    def shifted(a, b, k, s):
        turn = sign * 2 * math.pi * k * s / 59
        return stretch * (a * math.cos(turn) + b * math.sin(turn)), stretch * (b * math.cos(turn) - a * math.sin(turn))

    return shifted


def other_modulus(a, b, k, s):
    turn = 2 * math.pi * k * s / 60
    return a * math.cos(turn) + b * math.sin(turn), b * math.cos(turn) - a * math.sin(turn)


def with_output_phase(sign_alpha, sign_beta, transpose=True):
    def subtracting(N, ks, alpha, beta):
        angle = 2 * math.pi * ks * torch.arange(N)[:, None] / N
        out = (angle + sign_alpha * alpha + sign_beta * beta).cos()
        return (angle + alpha).cos(), (angle + beta).cos(), out.T if transpose else out

    return subtracting


def with_wave(group_of, logit_of):
    def irrelevance(logits):
        x = torch.arange(len(logits))
        table, group = logit_of(logits), group_of(x[:, None], x) % len(x)
        inner = [table[group == each].std(correction=0) for each in x]
        return sum(inner) / len(x) / table.std(correction=0)

    return irrelevance


def upside_down(logits):
    return 1 / fourier.distance_irrelevance(logits)


MISTAKES = [
    ("fourier_spectrum", half_of_the_fft, "two directions"),
    ("fourier_spectrum", lambda f: torch.fft.fft(f).abs().square(), "shape"),
    ("fourier_spectrum", doubled_constant, "sum to"),
    ("fourier_spectrum", lambda f: -torch.fft.rfft(f).abs(), "negative"),
    ("fourier_spectrum", amplitudes, "it should be"),
    ("shifted", turned(sign=-1), "the other way"),
    ("shifted", turned(stretch=2), "keeps the length"),
    ("shifted", other_modulus, "f(x + s) has"),
    ("subtracting", with_output_phase(1, 1), "computes x + y"),
    ("subtracting", with_output_phase(-1, 1), "computes y - x"),
    ("subtracting", with_output_phase(0, 0), "of the pairs get x - y"),
    ("subtracting", with_output_phase(1, -1, transpose=False), "out has shape"),
    ("subtracting", fourier.analytic_mlp, "computes x + y"),
    ("subtracting", lambda *given: fourier.analytic_mlp(*given)[0], "three things"),
    ("irrelevance", with_wave(lambda x, y: x + y, fourier.right_logits), "of one sum"),
    ("irrelevance", with_wave(lambda x, y: x - y, lambda logits: logits.max(2).values), "not the largest"),
    ("irrelevance", upside_down, "it should be"),
]


def by_fft(f):
    energy = torch.fft.rfft(f).abs().square()
    energy[1:] *= 2
    return energy / energy.sum()


RIGHT = [
    ("fourier_spectrum", by_fft),
    ("fourier_spectrum", lambda f: fourier.spectrum(f[:, None])),
    ("irrelevance", fourier.distance_irrelevance),
]
