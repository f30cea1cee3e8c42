"""Ctrl-C while programs import."""

import os
import signal
import subprocess
import sys

import pytest
from small import posix

from assign_add_lib.__main__ import main

IMPORTING = """
import builtins, os, runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a run in the background does not have
plain = builtins.__import__

def interrupted(name, *rest, **more):
    if name == "torch":
        os.kill(os.getpid(), signal.SIGINT)
    return plain(name, *rest, **more)

builtins.__import__ = interrupted
sys.argv.pop(0)
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def interrupted(root, *program):
    """A program of the package or of tools/, to which Ctrl-C comes just before it imports torch, which takes long."""
    command = [sys.executable, "-c", IMPORTING, *program]
    path = os.pathsep.join(map(str, (root, root / "tools")))
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True)


@posix
@pytest.mark.parametrize("program", ["assign_add_lib solve 1+2=?", "exam none", "marking none", "qti none", "recipes none"])
def test_ctrl_c_while_importing_is_one_line(root, program):
    done = interrupted(root, *program.split())
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"error: stopped\n")


def test_ctrl_c_that_is_ignored_stays_ignored():
    """As for a command in the background: the handler is set only in place of the usual one."""
    before = signal.getsignal(signal.SIGINT)
    assert main(["solve", "nonsense"]) == 2
    assert signal.getsignal(signal.SIGINT) is before
