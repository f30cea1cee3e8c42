"""The checks of chapter 05 pass on the book's solutions, and fail on stubs and on plausible mistakes."""

import jupytext
import matplotlib.pyplot as plt
import pytest
import torch

from assign_add_lib import Problem, Task, checks, figures, forward
from assign_add_lib.model import run

EXERCISES = ("top_two_share", "effective_keys", "assigned_twice", "same_variable")


@pytest.fixture(scope="module")
def cells(request):
    """The chapter's cells tagged `exercise` and `solution`, by tag and name of the function."""
    notebook = jupytext.read(request.config.rootpath / "chapters" / "05_attention.md")
    found = {}
    for cell in notebook.cells:
        for tag in {"exercise", "solution"} & set(cell.metadata.get("tags", [])):
            name = next(name for name in EXERCISES if f"def {name}(" in cell.source)
            found[tag, name] = cell.source.split("\n\n\n")[0] + f"\n\n\nchecks.{name}({name})\n"
    return found


@pytest.fixture
def names():
    """What the chapter's cells find in the notebook."""
    return {"torch": torch, "checks": checks, "task": Task(), "Problem": Problem, "run": run, "forward": forward}


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(cells, names, name, capsys):
    exec(cells["solution", name], names)
    assert capsys.readouterr().out == "Right.\n"


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_is_told_that_it_returns_nothing(cells, names, name, capsys):
    exec(cells["exercise", name], names)
    assert capsys.readouterr().out == "Not yet: your function returns nothing yet\n"


def in_order(attention, keys):
    return (attention.topk(2).indices == keys).all(1).float().mean()


def either(attention, keys):
    top = attention.topk(2).indices
    return (top[:, :, None] == keys[:, None]).flatten(1).any(1).float().mean()


def twice(layer, places):
    def assigned_twice(weights, name, x, y, number):
        task = Task()
        tokens = Problem(((name, x),), name, number).tokens()
        tokens[2], tokens[3] = task.token(name), y
        return run(weights, tokens[None]).pattern[0, layer, -1, places]

    return assigned_twice


def doubled(total):
    def same_variable(weights):
        names, numbers = Task().variable_names, range(59)
        tokens = torch.stack([Problem(((name, x),), name, name).tokens() for name in names for x in numbers])
        answers = torch.tensor([total(x) for _ in names for x in numbers])
        return (forward(weights, tokens)[:, -1].argmax(1) == answers).float().mean()

    return same_variable


@pytest.mark.parametrize(
    ("check", "mistake", "words"),
    [
        ("top_two_share", in_order, "order should not matter"),
        ("top_two_share", either, "the share is"),
        ("effective_keys", lambda attention: (-(attention * attention.log()).sum(1)).exp(), "as 0"),
        ("effective_keys", lambda attention: -attention.xlogy(attention).sum(1), "it should be"),
        ("effective_keys", lambda attention: (attention > 0).sum(1).float(), "it should be"),
        ("assigned_twice", twice(0, [1, 3]), "layer 1"),
        ("assigned_twice", twice(1, [0, 2]), "stand after"),
        ("assigned_twice", twice(1, [3, 1]), "it should be"),
        ("same_variable", doubled(lambda x: x), "are right"),
        ("same_variable", doubled(lambda x: 2 * x), "are right"),
    ],
)
def test_mistake_is_named(check, mistake, words, capsys):
    getattr(checks, check)(mistake)
    said = capsys.readouterr().out
    assert said.startswith("Not yet: ") and said.count("\n") == 1
    assert words in said


def test_algorithm_draws_every_arrow_and_word():
    names = ["b", "17", "PAD", "+", "b", "19", "="]
    figure = figures.algorithm(names, [(1, 0), (6, 4), (6, 5)], [(6, 1), (6, 5)], {1: "of b"}, "17 + 19", "36")
    words = [text.get_text() for text in figure.axes[0].texts]
    assert {"of b", "17 + 19", "36"} <= set(words)
    assert words.count("17") == 2
    arrows = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 3 + 2 + 2
    plt.close(figure)
