"""The pages on the package keep what they promise: code that runs from above to below, and names that can be imported."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest
import torch

import assign_add_lib
from assign_add_lib import Weights, forward, load_run, run
from assign_add_lib.__main__ import main
from assign_add_lib.laboratory.analysis import MEASURES
from assign_add_lib.model import site_names, weight_shapes

BLOCK = re.compile(r"^```(python|bash|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GIVES = re.compile(r"^(.+?)  # gives (.+)$", re.MULTILINE)


def commanded(block):
    """Each command of a block of the shell's, as one types it, in this process."""
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line)
        assert [program, *arguments[:2]] == ["python", "-m", "assign_add_lib"]
        sys.argv = arguments[1:]
        if arguments[-1] == "--help":
            with pytest.raises(SystemExit, match="^0$"):
                main(arguments[2:])
        else:
            assert main(arguments[2:]) == 0, line


def test_every_block_does_what_the_page_says(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])
    names, text = {}, (root / "pages" / "package.md").read_text("utf-8")
    for kind, block in BLOCK.findall(text):
        if kind == "toml":
            Path("taking.toml").write_text(block)
        elif kind == "bash":
            commanded(block)
        else:
            exec(block, names)
            for expression, value in GIVES.findall(block):
                assert repr(eval(expression, names)) in (value, f"({value})"), expression
    assert len(GIVES.findall(text)) > 8
    out = capsys.readouterr().out
    assert out.count("true:    36") == 1 and "true:    7" in out and "learning rate" in out
    assert names["silent"].answers != 36 and "1 of 3 seeds: taking, differences come soon" in out
    small, exported = names["mine"], load_run("my-data/runs/small")
    assert small.finished and exported.sums and exported.steps == [400]
    assert torch.equal(exported.weights().W_U, small.weights().W_U.half().float())
    problem = names["problem"].tokens()[None]
    assert forward(names["back"], problem)[0, -1].allclose(names["model"](problem)[0, -1], atol=1e-5)
    plain = run(names["deep"], names["clean"]).logits
    assert not any(plain.equal(names[each].logits) for each in ("patched", "ablated"))
    assert names["learner"].W_Q.grad.any()
    assert not names["own"].W_out.any() and not names["logits"].equal(names["model"](problem)[0, -1])
    table = (tmp_path / "runs" / "widths" / "table.csv").read_text().splitlines()
    assert len(table) == 5 and {"seed", "d_model"} < set(table[0].split(","))


def test_the_package_is_as_large_as_its_pages_say(root):
    files = [*(root / "data").rglob("*"), *(root / "assign_add_lib").rglob("*[!c]")]
    megabytes = sum(path.stat().st_size for path in files if path.is_file()) / 1e6
    for page, words in (("pages/package.md", r"about (\d+) MB with all"), ("README.md", r"# (\d+) MB with all")):
        assert abs(int(re.search(words, (root / page).read_text("utf-8"))[1]) - megabytes) < 5


API = re.compile(r"^### `([\w.]+)`\n(.*?)^\.\. module-api:: ([\w.]+)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_each_name_of_the_api_stands_where_its_heading_says(root):
    text = (root / "pages" / "api.md").read_text("utf-8")
    found = API.findall(text)
    assert len(found) == text.count("\n### ") > 20
    for heading, _, path, lines in found:
        assert heading == path
        for name, _, members in (line.strip().partition(":") for line in lines.splitlines()):
            thing = getattr(importlib.import_module(path), name)
            assert all(hasattr(thing, each) or each in thing.__annotations__ for each in members.strip("* ").split(", ") if each)
    assert not [name for name in assign_add_lib.__all__ if f"`{name}`" not in text]
    rooms = set(re.findall(r"^    (\w+)/?  +\S", assign_add_lib.__doc__, re.MULTILINE))
    rest = set(re.findall(r"`(\w+)`", re.search("^What has no heading below.*$", text, re.MULTILINE)[0]))
    assert rooms - {heading.split(".")[1] for heading, *_ in found} == rest - {"analysis"}
    assert set(MEASURES) <= {line.strip() for line in text.splitlines()}


def test_the_api_has_every_site_with_its_shape(root):
    sizes = {"batch": 2, "pos": 10, "query": 10, "key": 10, "d_model": 12, "d_mlp": 7, "head": 3, "d_head": 4}
    weights = Weights.drawn(weight_shapes(20, 10, 5, 12, 4, 7, layers=2, heads=3), 0)
    seen, told = run(weights, torch.ones(2, 10, dtype=torch.long), keep=site_names(2), whole=True), {}
    for names, shape in re.findall(
        r"^\| (`[^|]*hook_[^|]*) \| `\(([^|]*)\)` \|$", (root / "pages" / "api.md").read_text("utf-8"), re.M
    ):
        for name in re.findall("`(.+?)`", names):
            told |= dict.fromkeys([name.replace(".L.", ".0."), re.sub(r"\.[LM]\.", ".1.", name)], shape)
    assert {name: tuple(sizes[each] for each in shape.split(", ")) for name, shape in told.items() if ".M." not in name} == {
        name: tuple(held.shape) for name, held in seen.sites.items()
    }
