"""Each exercise's check passes on the book's solution, and fails on the stub and on plausible mistakes."""

import ast
import math
import re
from pathlib import Path

import nbformat
import pytest
import torch

from assign_add_lib import checks
from assign_add_lib.model import run
from assign_add_lib.task import STUDY

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
TOKEN_OF = {name if not name.isdigit() else int(name): token for token, name in enumerate(STUDY.token_names)}
# what the solutions of a chapter use from its earlier cells
NAMES = {"torch": torch, "token_of": TOKEN_OF, "run": run}


def answers(chapter, tag):
    """The functions of a chapter's cells with a tag, by the name of their check."""
    found = {}
    notebook = nbformat.read(next(CHAPTERS.glob(f"{chapter:02d}_*.ipynb")), as_version=4)
    for cell in notebook.cells:
        if tag in cell.metadata.get("tags", []):
            tree = ast.parse(cell.source)
            tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
            names = dict(NAMES)
            exec(compile(tree, f"chapter {chapter}", "exec"), names)
            found[re.search(r"checks\.(\w+)\(", cell.source)[1]] = names[tree.body[-1].name]
    return found


def pairs_backwards(problem, train_pairs):
    x, y = problem.values
    return bool(train_pairs[y, x]) and str(problem.left) not in "kl" and str(problem.right) not in "ab"


def variables_forgotten(problem, train_pairs):
    return bool(train_pairs[problem.values])


def sides_swapped(problem, train_pairs):
    return bool(train_pairs[problem.values]) and str(problem.left) not in "ab" and str(problem.right) not in "kl"


def uninformed(tokens, train_pairs):
    numbers, operands = tokens[:, :12], tokens[:, 13:15]
    constant = torch.where(operands < 59, operands, 0).sum(1, keepdim=True)
    votes = torch.zeros(len(tokens), 59).scatter_add_(1, (constant + numbers) % 59, (numbers < 59).float())
    return votes / votes.sum(1, keepdim=True)


def without_bias_correction(w, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return w * (1 - 2e-5) - 0.001 * m / (v.sqrt() + 1e-8), m, v


def decay_in_the_gradient(w, g, m, v, t):
    g = g + 0.02 * w
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    return w - 0.001 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8), m, v


def layers_swapped(weights, tokens):
    pattern = run(weights, tokens).pattern
    return torch.einsum("bt,bti->bi", pattern[:, 0, -1], pattern[:, 1])


MISTAKES = [
    ("tokens", lambda problem: [62, 1, 2], "too short"),
    ("tokens", lambda problem: problem.tokens().flip(0).tolist(), "backwards"),
    ("tokens", lambda problem: [61 if token == 61 else token - 1 for token in problem.tokens().tolist()], "off by one"),
    ("may_train", pairs_backwards, "the pair read backwards"),
    ("may_train", variables_forgotten, "the restricted variables forgotten"),
    ("may_train", sides_swapped, "the sides swapped"),
    ("shortcut_score", lambda N, m: sum(1 / n for n in range(1, m + 1)) / m, "luck forgotten"),
    ("shortcut_score", lambda N, m: 2 / (m + 1), "one over the mean of n"),
    ("informed", uninformed, "the training pairs unused"),
    ("informed", lambda tokens, train_pairs: uninformed(tokens, train_pairs)[0], "one problem for all"),
    ("loss", lambda logits, answers: -logits.softmax(1).gather(1, answers[:, None]).log().mean(), "overflows"),
    ("loss", lambda logits, answers: (logits.logsumexp(1) - logits.gather(1, answers[:, None])[:, 0]).sum(), "a sum"),
    ("score", lambda S, tokens, i, j: S[tokens[i], tokens[j]], "tokens alone"),
    ("score", lambda S, t, i, j: S[t[j], t[i]] + S[t[j], 74 + i] + S[74 + j, t[i]] + S[74 + j, 74 + i], "key as query"),
    ("adamw", without_bias_correction, "no correction of the means"),
    ("adamw", decay_in_the_gradient, "decay in the gradient, as Adam has it"),
    ("reach", layers_swapped, "the layers swapped"),
    ("reach", lambda weights, tokens: run(weights, tokens).pattern[:, 1, -1], "layer 2 alone"),
]


@pytest.mark.parametrize("chapter", (1, 3))
def test_solutions_pass_and_stubs_fail(chapter, capsys):
    solutions, stubs = answers(chapter, "solution"), answers(chapter, "exercise")
    assert solutions.keys() == stubs.keys() and len(solutions) >= 3
    for name, solution in solutions.items():
        getattr(checks, name)(solution)
        getattr(checks, name)(stubs[name])
    assert capsys.readouterr().out == "Right.\nNot yet: your function returns nothing yet\n" * len(solutions)


@pytest.mark.parametrize("name, mistake, words", MISTAKES, ids=[f"{name}: {words}" for name, _, words in MISTAKES])
def test_plausible_mistakes_fail_with_words(name, mistake, words, capsys):
    getattr(checks, name)(mistake)
    verdict = capsys.readouterr().out
    assert verdict.startswith("Not yet: ") and verdict.count("\n") == 1


def test_every_exercise_has_a_mistake():
    for chapter in (1, 3):
        assert answers(chapter, "solution").keys() <= {name for name, _, _ in MISTAKES}


def test_a_crash_is_said_in_words(capsys):
    checks.loss(lambda logits, answers: 1 / 0)
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_report_raises_outside_its_tolerance(capsys):
    checks.report("pi", math.pi, 3.14, 0.002)
    assert capsys.readouterr().out == "pi: 3.14 (± 0.002)\n"
    for value in (3.15, math.nan):
        with pytest.raises(AssertionError, match="pi: measured"):
            checks.report("pi", value, 3.14, 0.002)
