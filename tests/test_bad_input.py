"""The command line when nobody reads it, and at Ctrl-C in a command; that of bad arguments is in test_main."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from assign_add_lib.__main__ import main


def gone(*_):
    raise BrokenPipeError


@pytest.mark.parametrize("stream", [SimpleNamespace(write=gone, flush=gone), None], ids=["gone", "closed"])
def test_an_error_that_nobody_reads_still_has_its_code(monkeypatch, capsys, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["solve", "nonsense"]) == 2
    assert capsys.readouterr().out == ""


STOPPED = "stopped; train, sweep, attack and certify continue when the same command is run again"


@pytest.mark.parametrize("error, code, said", [(KeyboardInterrupt, 130, STOPPED), (MemoryError, 2, "there is not enough memory")])
def test_ctrl_c_and_too_little_memory_in_a_command_are_one_line(monkeypatch, capsys, error, code, said):
    def stop(*_):
        raise error

    monkeypatch.setattr("assign_add_lib.training.load_run", stop)
    assert main(["solve", "1+2=?"]) == code
    assert capsys.readouterr().err == f"error: {said}\n"


def test_the_package_itself_imports_nothing_heavy(root):
    """Public names come when they are asked for, so that the command line can listen before torch is there."""
    script = "import sys, assign_add_lib as lib; assert 'torch' not in sys.modules; print(*sorted(lib.__all__))"
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    import assign_add_lib

    assert done.stdout.split() == sorted(assign_add_lib.__all__)
    for name in assign_add_lib.__all__:
        assert getattr(assign_add_lib, name).__module__.startswith("assign_add_lib.")
    with pytest.raises(AttributeError, match="has no attribute 'weights'"):
        assign_add_lib.weights  # noqa: B018
