"""The checks of chapter 08 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import pytest
import torch

from assign_add_lib import Weights, checks
from assign_add_lib.model import run

EXERCISES = ("reads_previous", "latest_variable", "binding_scores", "memory")


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, name, capsys):
    gapped = torch.tensor([[62, 61, 3] * 4 + [59, 62, 5, 60]])  # the chapter has made such sequences before
    names = {"torch": torch, "checks": checks, "gapped": gapped, "seen": run(Weights.init(), gapped)}
    exec(cells["solution", name], names)
    assert capsys.readouterr().out.splitlines()[-1] == "Right."


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, name, capsys):
    exec(cells["exercise", name], {"torch": torch, "checks": checks})
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


def previous(diagonal=False, two_back=True, first_row=False):
    """An answer to exercise 8.1 with parts left out."""

    def reads_previous(scores, mask_two_back):
        i = torch.arange(len(scores))
        allowed = (i <= i[:, None]) if diagonal else (i < i[:, None])
        if two_back and mask_two_back:
            allowed &= i != i[:, None] - 2
        best = scores.masked_fill(~allowed, -torch.inf).argmax(1)
        return (best == i - 1)[1:].sum() + int(first_row)

    return reads_previous


def previous_token(tokens):
    return torch.arange(len(tokens)) - 1


def first_variable(tokens):
    seen = (tokens >= 62).cumsum(0) > 0
    return torch.where(seen, (tokens >= 62).int().argmax(), -1)


def strictly_before(tokens):
    place = torch.where(tokens >= 62, torch.arange(len(tokens)), -1).cummax(0).values
    return torch.cat([torch.tensor([-1]), place[:-1]])


def bound(operands=(13, 14), held=True, first=1, turned=False):
    """An answer to exercise 8.3 with parts left out."""

    def binding_scores(block, pattern, tokens):
        scores = torch.zeros(16, dtype=block.dtype)
        for j in range(first, 16):
            for operand in operands:
                pair = tokens[operand], tokens[j - 1]
                entry = block[pair[::-1]] if turned else block[pair]
                scores[j] += pattern[15, operand] * entry * (pattern[j, j - 1] if held else 1)
        return scores

    return binding_scores


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
        ("reads_previous", previous(diagonal=True), "read itself"),
        ("reads_previous", previous(two_back=False), "mask_two_back=True"),
        ("reads_previous", previous(first_row=True), "counting row by row"),
        ("latest_variable", previous_token, "it should get"),
        ("latest_variable", first_variable, "it should get"),
        ("latest_variable", strictly_before, "it should get"),
        ("latest_variable", lambda tokens: tokens[:12], "shape"),
        ("binding_scores", bound(operands=(13,)), "the term is"),
        ("binding_scores", bound(held=False), "how much of the token before"),
        ("binding_scores", bound(held=False, first=0), "nothing stands before"),
        ("binding_scores", bound(turned=True), "the term is"),
        ("memory", lambda vectors: vectors.T @ vectors, "orthonormal"),
        ("memory", lambda vectors: torch.eye(vectors.shape[1]), "differs from the identity"),
        ("memory", lambda vectors: vectors @ vectors.T, "shape"),
        ("memory", lambda vectors: torch.linalg.pinv(vectors) @ vectors, "differs from the identity"),
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


def test_other_right_ways_pass(capsys):
    checks.memory(lambda vectors: torch.linalg.pinv(vectors.T @ vectors, rtol=1e-10))
    assert capsys.readouterr().out in ("Right.\n",)
