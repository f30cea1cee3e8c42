"""The page *Use the package in your own work* keeps what it promises: its code, run from above to below."""

import re
import shlex
import sys

import pytest
import torch

from assign_add_lib import Weights, load_run
from assign_add_lib.__main__ import main

BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


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
    names = {}
    for kind, block in BLOCK.findall((root / "pages" / "package.md").read_text("utf-8")):
        commanded(block) if kind == "bash" else exec(block, names)
    out = capsys.readouterr().out
    assert out.count("true:    36") == 1 and "true:    7" in out and "learning rate" in out
    assert names["seen"].answers == 36 and names["patched"].answers == 49 and names["silent"].answers != 36
    small, exported = names["mine"], load_run("my-data/runs/small")
    assert small.finished and exported.sums and exported.steps == [400]
    assert torch.equal(exported.weights().W_U, small.weights().W_U.half().float())
    assert not torch.equal(names["back"].W_U, names["start"].W_U) and isinstance(names["own"], Weights)
    table = (tmp_path / "runs" / "widths" / "table.csv").read_text().splitlines()
    assert len(table) == 5 and {"seed", "d_model"} < set(table[0].split(","))
