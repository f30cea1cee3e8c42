"""The checks of chapter 07 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import math

import jupytext
import pytest
import torch

from assign_add_lib import checks, fourier

EXERCISES = ("fourier_spectrum", "shifted", "subtracting", "irrelevance")


@pytest.fixture(scope="module")
def cells(request):
    """The chapter's cells tagged `exercise` and `solution`, by tag and name of the function."""
    notebook = jupytext.read(request.config.rootpath / "chapters" / "07_fourier.md")
    found = {}
    for cell in notebook.cells:
        for tag in {"exercise", "solution"} & set(cell.metadata.get("tags", [])):
            name = next(name for name in EXERCISES if f"def {name}(" in cell.source)
            found[tag, name] = cell.source.partition("\nalone = ")[0]  # what follows a solution needs the whole chapter
    return found


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, name, capsys):
    exec(cells["solution", name], {"torch": torch, "math": math, "checks": checks})
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, name, capsys):
    exec(cells["exercise", name], {"torch": torch, "checks": checks})
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


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


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
        ("fourier_spectrum", half_of_the_fft, "two directions"),
        ("fourier_spectrum", lambda f: torch.fft.fft(f).abs().square(), "shape"),
        ("fourier_spectrum", doubled_constant, "sum to"),
        ("fourier_spectrum", lambda f: torch.fft.rfft(f).real, "negative"),
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
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


def test_other_right_ways_pass(capsys):
    def by_fft(f):
        energy = torch.fft.rfft(f).abs().square()
        energy[1:] *= 2
        return energy / energy.sum()

    checks.fourier_spectrum(by_fft)
    checks.fourier_spectrum(lambda f: fourier.spectrum(f[:, None]))
    checks.irrelevance(fourier.distance_irrelevance)
    assert capsys.readouterr().out == 3 * "Right.\n"
