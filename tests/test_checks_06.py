"""The checks of chapter 06 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import pytest
import torch

from assign_add_lib import checks, load_run
from assign_add_lib.circuits import OV

EXERCISES = ("matched_and_shuffled", "truly_new", "margin", "attribution")


@pytest.fixture(scope="module")
def names():
    """What the chapter has defined by the time of the exercises."""
    study = load_run("seed-42")
    return {"torch": torch, "checks": checks, "OV": OV, "w": study.weights(), "split": study.split, "report": checks.report}


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, name, names, capsys):
    check = cells["solution", name].partition(f"checks.{name}({name})")
    exec("".join(check[:2]), names.copy())
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, name, names, capsys):
    exec(cells["exercise", name], names.copy())
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


def cosine(a, b):
    return torch.cosine_similarity(a, b, dim=-1).mean()


def in_place(logits, answers):
    right = logits.gather(1, answers[:, None])[:, 0]
    logits.scatter_(1, answers[:, None], -torch.inf)
    return right - logits.max(1).values


def best_two(logits, answers):
    first, second = logits.topk(2, dim=1).values.unbind(1)
    return first - second


def neurons(weights, x, y, relu=True):
    pre = (weights.W_E[x] + weights.W_E[y]) @ OV(weights, 2) @ weights.W_in
    return pre.relu() if relu else pre


def effects(weights):
    return weights.W_out @ weights.W_U


def without_mean(weights, x, y):
    return neurons(weights, x, y) * effects(weights)[:, (x + y) % 59]


def without_relu(weights, x, y):
    out = effects(weights)
    return neurons(weights, x, y, relu=False) * (out[:, (x + y) % 59] - out.mean(1))


def without_modulus(weights, x, y):
    out = effects(weights)
    return neurons(weights, x, y) * (out[:, x + y] - out.mean(1))


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
        ("matched_and_shuffled", lambda a, b, order: cosine(a, b), "two things"),
        ("matched_and_shuffled", lambda a, b, order: ((a * b).sum(1).mean(), cosine(a, b[order])), "both lengths"),
        ("matched_and_shuffled", lambda a, b, order: (cosine(a, b), cosine(a[order], b[order])), "shuffled mean"),
        ("matched_and_shuffled", lambda a, b, order: (cosine(a.T, b.T), cosine(a.T, b[order].T)), "row by row"),
        ("truly_new", lambda train: ~train, "same sum"),
        ("truly_new", lambda train: train & train.T, "training pair"),
        ("truly_new", lambda train: ~train & ~train.T & ~torch.eye(59).bool(), "its own twin"),
        ("margin", in_place, "copy"),
        ("margin", best_two, "negative where the network is wrong"),
        ("margin", lambda logits, answers: logits.max(1).values, "negative where the network is wrong"),
        ("attribution", without_mean, "mean over all 59"),
        ("attribution", without_relu, "differ from the definition"),
        ("attribution", without_modulus, "stopped with IndexError"),
        ("attribution", lambda weights, x, y: neurons(weights, x, y)[None], "shape"),
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said
