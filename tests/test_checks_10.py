"""The checks of chapter 10 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import cmath
import math

import pytest

from assign_add_lib import checks, handmade
from assign_add_lib.measures import accuracy
from assign_add_lib.sampling import Batch
from assign_add_lib.task import Problem

EXERCISES = ("share_of_previous", "lead", "uneven_answer", "mass_without_mark")


@pytest.fixture(scope="module")
def names():
    """What the solutions use of the chapter above them, in small."""
    problem = Problem.parse("a=1, b=2, a+b=?")
    batch = Batch(problem.tokens()[None], problem.tokens()[None, 1] + 2)
    sets = {"1-var train": batch, "2-var train": batch}
    given = {"math": math, "checks": checks, "handmade": handmade, "accuracy": accuracy, "report": checks.report}
    return given | {"sets": sets, "batch": batch, "frequencies": handmade.FREQUENCIES}


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, names, name, capsys):
    exec(cells["solution", name], dict(names))
    assert capsys.readouterr().out.splitlines()[0] == "Right."


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, names, name, capsys):
    exec(cells["exercise", name], dict(names))
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


def itself_counted_twice(s, t):
    return math.exp(s) / (math.exp(s) + t + 1)


def every_key_seen(s, t):
    return math.exp(s) / (math.exp(s) + 15)


def lead_by(size, frequencies, x, y):
    return min(
        sum(size(math.cos(math.pi * k * (x - y) / 59)) * (1 - math.cos(2 * math.pi * k * d / 59)) for k in frequencies)
        for d in range(1, 59)
    )


def angle_not_doubled(x, y, a, k):
    step = 2 * math.pi * k / 59
    angle = cmath.phase(a * cmath.exp(1j * step * x) + (1 - a) * cmath.exp(1j * step * y))
    return max(range(59), key=lambda q: math.cos(step * q - angle))


def asked_for(first=True, itself=True, numbers=True):
    """An answer to exercise 10.4 that may forget position 0, what `=` has read, or the numbers looked up."""

    def mass_without_mark(problem):
        asked = [each for each in (problem.left, problem.right) if isinstance(each, str)]
        at_first = bool(problem.assignments) and problem.assignments[0][0] in asked
        return 2 / (2 + numbers * len(asked) + first * at_first + itself * (len(asked) == 2))

    return mass_without_mark


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
        ("share_of_previous", itself_counted_twice, "itself included"),
        ("share_of_previous", every_key_seen, "reads the token before it with"),
        ("share_of_previous", lambda s, t: 1 / (1 + math.exp(-s)), "reads the token before it with"),
        ("lead", lambda frequencies, x, y: lead_by(lambda size: size, frequencies, x, y), "is never negative"),
        ("lead", lambda frequencies, x, y: lead_by(lambda size: 1, frequencies, x, y), "the network's lead is"),
        ("lead", lambda frequencies, x, y: 20 * lead_by(abs, frequencies, x, y), "the network's lead is"),
        ("lead", lambda frequencies, x, y: handmade.margin(frequencies), "the network's lead is"),
        ("uneven_answer", lambda x, y, a, k: (x + y) % 59, "uneven reading misses"),
        ("uneven_answer", lambda x, y, a, k: round(2 * (a * x + (1 - a) * y)) % 59, "the network answers"),
        ("uneven_answer", angle_not_doubled, "the network answers"),
        ("mass_without_mark", lambda problem: 1, "of the weight, not 1.000"),
        ("mass_without_mark", asked_for(first=False), "of the weight"),
        ("mass_without_mark", asked_for(itself=False), "of the weight"),
        ("mass_without_mark", asked_for(numbers=False), "of the weight"),
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


def test_other_right_ways_pass(capsys):
    checks.share_of_previous(lambda s, t: 1 / (1 + t * math.exp(-s)))
    checks.lead(lambda frequencies, x, y: lead_by(abs, frequencies, x, y))
    checks.mass_without_mark(asked_for())
    assert capsys.readouterr().out == 3 * "Right.\n"
