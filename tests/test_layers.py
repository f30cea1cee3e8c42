"""The layers of the package, by its import graph: the map is whole, no room knows one below it on the map, no circle."""

import ast
import re
import shutil
from collections.abc import Collection
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

PACKAGE = "assign_add_lib"
parse = cache(ast.parse)  # of copies, too, for most of their texts are the same
ABOVE_ALL = ("__init__", "__main__")  # the public names, and the command line


def modules(package: Path) -> dict[str, Path]:
    """All modules of the package by name: `engine.files`, and `engine` for its __init__."""
    named = {".".join(path.relative_to(package).with_suffix("").parts): path for path in sorted(package.rglob("*.py"))}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def imports(package: Path) -> dict[str, set[str]]:
    """The modules of the package that each of them imports, anywhere in its text."""
    known, found = modules(package), {}
    for name, path in known.items():
        home, names = ".".join((PACKAGE, *path.relative_to(package).parts[:-1])), []
        for node in ast.walk(parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names += [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                start = resolve_name("." * node.level + (node.module or ""), home)
                names += [f"{start}.{each.name}" for each in node.names]
        own = [each.split(".")[1:] for each in names if each.split(".")[0] == PACKAGE]
        found[name] = {_innermost(parts, known) for parts in own} - {name}
    return found


def _innermost(parts: list[str], known: Collection[str]) -> str:
    """The module of this name, or the innermost one around it."""
    around = (".".join(parts[:many]) for many in range(len(parts), 0, -1))
    return next((each for each in around if each in known), "__init__")


def house(package: Path) -> list[str]:
    """The rooms on the map, from the ground up."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8")))
    return re.findall(r"^    (\w+)/?  +\S", text, re.MULTILINE)


def faults(package: Path) -> list[str]:
    """All that breaks the rules, in words."""
    rooms, graph = house(package), imports(package)
    floor = {room: place for place, room in enumerate([*rooms, *ABOVE_ALL])}
    there = {name.split(".")[0] for name in graph}
    found = [f"{room} is on the map twice" for room in set(rooms) if rooms.count(room) > 1]
    found += [f"{room} is not on the map" for room in sorted(there - set(floor))]
    found += [f"{room} is on the map alone" for room in sorted(set(floor) - there)]
    for name, known in graph.items():
        own = name.split(".")
        for other in sorted(known):
            theirs = other.split(".")
            if floor.get(theirs[0], 0) > floor.get(own[0], 0):
                found.append(f"{name} imports {other}, which stands above it")
            if own[0] == theirs[0] == "companions" and len(own) > 1 and own[1] != theirs[1]:
                found.append(f"{name} imports {other}, another companion")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"a circle: {' -> '.join(error.args[1])}")
    return found


@pytest.fixture
def copy(root, tmp_path):
    """The package's modules, copied to be spoilt."""
    return shutil.copytree(root / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__", "data"))


def test_every_arrow_points_down(root):
    assert faults(root / PACKAGE) == []


def test_the_map_has_the_floors_of_the_plan(root):
    """Each of these rooms stands above the one before it; views and checks are used by nothing but the command line."""
    rooms = house(root / PACKAGE)
    for stairs in (
        "engine task sampling model circuits training analysis claims systems",
        "circuits measures training speed",
        "model handmade theory systems",
        "training companions systems",
    ):
        assert [room for room in rooms if room in stairs.split()] == stairs.split()
    assert rooms[0] == "engine" and set(rooms[rooms.index("systems") + 1 :]) == {"views", "checks"}


def test_every_module_has_its_test_file(root):
    """Of its own name, with its room's name before it where two share a name, or of a room that is tested as a whole."""
    tests = {path.stem for path in (root / "tests").glob("test_*.py")}
    for name in modules(root / PACKAGE):
        *rooms, module = name.split(".")
        if module != "__init__" and not (root / PACKAGE / name.replace(".", "/")).is_dir():
            whole = {f"test_{room}" for room in rooms if room in ("theory", "checks", "figures", "explorables")}
            assert {f"test_{module.strip('_')}", *(f"test_{room}_{module}" for room in rooms), *whole} & tests, name


def test_imports_are_found_in_every_form(copy):
    (copy / "views" / "new.py").write_text(
        "import assign_add_lib.engine.files as files\n"
        "from assign_add_lib import forward\n"
        "from assign_add_lib.views.page import is_static\n"
        "from . import slider\n"
        "from .figures import spread\n"
        "from .. import circuits, last_logits\n"
        "def late():\n    from ..engine import log\n    from ..companions.hypernetwork.data import mix\n"
        "import torch, json\n"
    )
    found = {"engine.files", "__init__", "views.page", "views.slider", "views.figures", "circuits", "engine.log"}
    assert imports(copy)["views.new"] == found | {"companions.hypernetwork.data"}


@pytest.mark.parametrize(
    "file, line, said",
    [
        ("engine/files.py", "from ..task import Task", "engine.files imports task, which stands above it"),
        ("engine/cli.py", "def f():\n    from assign_add_lib import systems", "engine.cli imports systems"),
        ("engine/files.py", "from .runs import export", "a circle: "),
        ("model.py", "import assign_add_lib.views.page", "model imports views.page, which stands above it"),
        ("companions/other/data.py", "from ..hypernetwork.data import mix", "companions.hypernetwork.data, another companion"),
        ("attic.py", "", "attic is not on the map"),
        ("cellar/box.py", "import torch", "cellar is not on the map"),
    ],
)
def test_what_breaks_the_rules_is_named(copy, file, line, said):
    path = copy / file
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text("utf-8") if path.exists() else "") + f"\n{line}\n")
    assert any(said in fault for fault in faults(copy))


def test_a_room_that_is_gone_is_named(copy):
    shutil.rmtree(copy / "theory")
    assert "theory is on the map alone" in faults(copy)
