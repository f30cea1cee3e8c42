"""The checks of chapter 09 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import math

import pytest
import torch

from assign_add_lib import checks
from assign_add_lib import interventions as iv
from assign_add_lib.sampling import value_positions

EXERCISES = ("interval", "without_term", "doubled", "swapped")


def execute(source, name):
    """Run a cell as far as its check; what it shows on the shipped run is left to the notebook."""
    call = f"checks.{name}({name})"
    head = source[: source.index(call) + len(call)]
    exec(head, {"torch": torch, "checks": checks, "iv": iv, "value_positions": value_positions})


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, name, capsys):
    for _ in range(3):
        execute(cells["solution", name], name)
    assert capsys.readouterr().out == 3 * "Right.\n"


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, name, capsys):
    execute(cells["exercise", name], name)
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


def plain_interval(n_right, n):
    share = n_right / n
    half = 1.96 * math.sqrt(share * (1 - share) / n)
    return share - half, share + half


def at_95_percent(n_right, n):
    return iv.wilson(torch.arange(n) < n_right, z=1.645)[1:]


def reading(place, layer=2):
    """An answer to exercise 9.3 that makes `=` of a layer read `place(tokens)`."""

    def doubled(lens, tokens):
        def act(pattern, hook):
            pattern = pattern.clone()
            pattern[:, 0, 15] = iv.at(tokens, place(tokens)).to(pattern.dtype)
            return pattern

        return iv.answers(lens, tokens, [(iv.pattern_hook(layer), act)])

    return doubled


def left(tokens):
    return value_positions(tokens)[:, 0]


def right(tokens):
    return value_positions(tokens)[:, 1]


def exchanging(name, copy=True):
    def swapped(lens, tokens, first, second):
        row = torch.arange(len(tokens))

        def act(held, hook):
            changed = held.clone()
            changed[row, first] = held[row, second]
            changed[row, second] = (held if copy else changed)[row, first]
            return changed

        return iv.answers(lens, tokens, [(name, act)])

    return swapped


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
        ("interval", plain_interval, "leave no room"),
        ("interval", lambda n_right, n: iv.wilson(torch.arange(n) < n_right)[:0:-1], "wrong order"),
        ("interval", at_95_percent, "does not solve"),
        ("interval", lambda n_right, n: iv.wilson(torch.arange(n) < n_right), "two numbers"),
        ("without_term", lambda pattern, term: (pattern.log() + term).softmax(-1), "adds the term"),
        ("without_term", lambda pattern, term: (pattern - term).softmax(-1), "comes after"),
        ("without_term", lambda pattern, term: pattern * (-term).exp(), "sum to 1"),
        ("without_term", lambda pattern, term: pattern, "not the softmax"),
        ("without_term", lambda pattern, term: (pattern.log() - term).softmax(-1)[0], "shape"),
        ("without_term", lambda pattern, term: pattern.mul_((-term).exp()), "writes into"),
        ("doubled", lambda lens, tokens: iv.answers(lens, tokens), "unchanged"),
        ("doubled", reading(right), "right number"),
        ("doubled", reading(lambda tokens: 13), "stands elsewhere"),
        ("doubled", reading(left, layer=1), "not the answers"),
        ("swapped", lambda lens, tokens, first, second: iv.answers(lens, tokens), "unchanged"),
        ("swapped", exchanging("blocks.1.attn.hook_v", copy=False), "same value"),
        ("swapped", exchanging("blocks.0.hook_attn_out"), "not the answers"),
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


def test_other_right_ways_pass(capsys):
    checks.swapped(exchanging("blocks.1.attn.hook_k"))  # the two weights change places instead of what they weigh
    checks.without_term(lambda pattern, term: pattern * (-term).exp() / (pattern * (-term).exp()).sum(-1, keepdim=True))
    checks.interval(lambda n_right, n: iv.wilson(torch.arange(n) < n_right)[1:])
    assert capsys.readouterr().out == 3 * "Right.\n"
