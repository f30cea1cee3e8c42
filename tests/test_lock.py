"""Locks: one writer at a time, for as long as it lives."""

import shutil
import subprocess
import sys

import pytest
from small import contents
from tiny import TinyConfig, TinyLearner, TinyRun, tiny

from assign_add_lib.engine.lock import lock_file, lock_folder
from assign_add_lib.engine.log import Log
from assign_add_lib.engine.manifest import write_manifest
from assign_add_lib.engine.runs import export


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A finished run, and one that stands at step 4."""
    place = tmp_path_factory.mktemp("pristine")
    return {"whole": tiny(place / "whole"), "half": tiny(place / "half", stop=5)}


@pytest.fixture
def whole(pristine, tmp_path):
    return shutil.copytree(pristine["whole"], tmp_path / "whole")


@pytest.fixture
def half(pristine, tmp_path):
    return shutil.copytree(pristine["half"], tmp_path / "half")


def refused(call, words):
    with pytest.raises(ValueError, match=words) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_a_folder_has_one_writer_at_a_time(half):
    with Log.open(TinyLearner(TinyConfig()), half):
        refused(lambda: tiny(half), f"{half} is being written by another process")
        refused(lambda: tiny(half, seed=2), f"{half} is being written by another process")
        assert len(TinyRun.open(half).metrics)
    tiny(half)


HOLD = """
import sys
from filelock import FileLock
held = FileLock(sys.argv[1])
held.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path, pristine):
    """Another process holds the folder, is killed, and leaves nothing that counts."""
    (tmp_path / "run").mkdir()
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        refused(lambda: tiny(tmp_path / "run"), "is being written by another process")
        process.kill()
    assert (tmp_path / "run" / ".lock").exists()
    assert contents(tiny(tmp_path / "run")) == contents(pristine["whole"])


def test_a_manifest_that_is_being_written_is_left_alone(whole, own_data):
    export(whole, "mine", TinyRun)
    with lock_file(own_data / "MANIFEST.sha256"):
        refused(lambda: write_manifest(own_data), "MANIFEST.sha256 is being written by another process")


def test_a_lock_that_is_held_is_no_part_of_what_is_read(whole):
    with lock_folder(whole):
        assert len(TinyRun.open(whole).metrics)
    assert not (whole / ".lock").exists()
