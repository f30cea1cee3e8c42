"""Functions of one name do one thing: what a chapter builds and what the package has under the same name agree.

A pair is a function (or class) defined in a chapter and a public function, class or method of the package with its name.
Every pair has a case here, which runs both on the same random inputs.  What differs on purpose is named differently.
"""

import ast
import importlib
import inspect
import pkgutil
from collections import defaultdict
from functools import cache
from types import FunctionType

import jupytext
import pytest
import torch
from browsing import ROOT
from small import SIZES, problems, random_weights

import assign_add_lib
from assign_add_lib import Task

PAGES = {path.stem: path for path in sorted(ROOT.glob("chapters/*.md"))}
PAGES |= {f"evidence/{path.stem}": path for path in sorted(ROOT.glob("evidence/*.md"))}
METHODS = FunctionType | classmethod | staticmethod
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def public():
    """The package's public functions, classes and methods by their bare name: name -> {dotted name: object}."""
    found = defaultdict(dict)
    for module in pkgutil.walk_packages(assign_add_lib.__path__, "assign_add_lib."):
        # the command lines have no names to import; a check is named after what it judges
        if module.name.endswith("__main__") or module.name.startswith("assign_add_lib.checks"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if getattr(value, "__module__", None) == module.name and callable(value) and not name.startswith("_"):
                where = module.name.removeprefix("assign_add_lib.")
                found[name][f"{where}.{name}"] = value
                for method, kind in vars(value).items() if inspect.isclass(value) else ():
                    # a name that torch gives, as `forward`, nobody chose
                    if isinstance(kind, METHODS) and not method.startswith("_") and not hasattr(torch.nn.Module, method):
                        found[method][f"{where}.{name}.{method}"] = getattr(value, method)
    return found


def cells(path):
    """The parsed code cells of a chapter's own text."""
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "code" and not {"remove-cell", "exercise", "solution"} & set(cell.metadata.get("tags", [])):
            yield ast.parse(cell.source)


def defined(tree):
    """The names of the functions and classes that a piece of code defines, inner ones too, but for methods."""
    methods = {id(each) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in node.body}
    return [node.name for node in ast.walk(tree) if isinstance(node, DEFINITIONS) and id(node) not in methods]


def bound(statement):
    """The names that a statement at the top of a cell gives a meaning."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def built(stem, name):
    """A chapter's own function: the cells before it run as far as the function needs them, and no further."""
    statements = [statement for tree in cells(PAGES[stem]) for statement in tree.body]
    place = next(i for i, each in enumerate(statements) if isinstance(each, DEFINITIONS) and each.name == name)
    needed, kept = {name}, []
    for statement in reversed(statements[: place + 1]):
        if bound(statement) & needed:
            kept.insert(0, statement)
            needed |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    names = {}
    exec(compile(ast.Module(kept, []), stem, "exec"), names)
    return names[name]


def same_forward(ours, theirs):
    for size in SIZES[:2]:
        w, tokens = random_weights(*size), problems(size[0], 20)[0]
        torch.testing.assert_close(ours(w, tokens), theirs(w, tokens))


def same_spectrum(ours, theirs):
    generator = torch.Generator().manual_seed(0)
    for columns in (1, 7):
        table = torch.randn(Task().n_numbers, columns, generator=generator)
        torch.testing.assert_close(ours(table), theirs(table))


CASES = {  # chapter, name in the package -> a function that compares the two
    ("02_model", "model.forward"): same_forward,
    ("07_fourier", "analysis.fourier.spectrum"): same_spectrum,
}


@pytest.mark.parametrize("chapter, dotted", CASES)
def test_one_name_one_behaviour(chapter, dotted):
    name = dotted.rpartition(".")[2]
    CASES[chapter, dotted](built(chapter, name), public()[name][dotted])


def test_each_name_in_both_has_a_case():
    """What has none needs another name in the chapter, or a case here."""
    in_pages = {(stem, name) for stem, path in PAGES.items() for tree in cells(path) for name in defined(tree)}
    assert {(stem, dotted) for stem, name in in_pages for dotted in public().get(name, ())} == set(CASES)
