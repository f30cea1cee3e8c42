"""Locks: one writer at a time, for as long as it lives."""

import subprocess
import sys

import pytest
from small import contents
from tiny import TinyConfig, TinyLearner, TinyRun, tiny

from assign_add_lib.engine.lock import lock_file
from assign_add_lib.engine.log import Log
from assign_add_lib.engine.manifest import write_manifest
from assign_add_lib.engine.runs import export


def refused(call, words):
    with pytest.raises(ValueError, match=words) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_a_folder_has_one_writer_at_a_time(tiny_half):
    with Log(TinyLearner(TinyConfig()), tiny_half):
        refused(lambda: tiny(tiny_half), f"{tiny_half} is being written by another process")
        refused(lambda: tiny(tiny_half, seed=2), f"{tiny_half} is being written by another process")
        assert len(TinyRun.open(tiny_half).metrics)
    tiny(tiny_half)


HOLD = """
import sys
from filelock import FileLock
held = FileLock(sys.argv[1])
held.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path, tiny_runs):
    """Another process holds the folder, is killed, and leaves nothing that counts."""
    (tmp_path / "run").mkdir()
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        refused(lambda: tiny(tmp_path / "run"), "is being written by another process")
        process.kill()
    assert (tmp_path / "run" / ".lock").exists()
    assert contents(tiny(tmp_path / "run")) == contents(tiny_runs["whole"])


def test_a_manifest_that_is_being_written_is_left_alone(tiny_whole, own_data):
    export(tiny_whole, "mine", TinyRun)
    with lock_file(own_data / "MANIFEST.sha256"):
        refused(lambda: write_manifest(own_data), "MANIFEST.sha256 is being written by another process")
