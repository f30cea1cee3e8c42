"""Files are whole or absent, and damage never reads as data."""

import errno
import os
import re
import stat

import pytest
import torch
from small import posix

from assign_add_lib.engine.files import load_tensors, read_json, save_tensors, write_atomic, write_json

TENSORS = {
    "half": torch.arange(6).half().view(2, 3),
    "single": torch.tensor([[1.5, -0.0], [float("inf"), 1e-40]]),
    "double": torch.tensor(0.1, dtype=torch.float64),
    "bytes": torch.arange(5, dtype=torch.uint8),
    "empty": torch.zeros(0, 3),
    "turned": torch.arange(12.0).view(3, 4).T,
}


def test_tensors_and_notes_come_back(tmp_path):
    save_tensors(tmp_path / "x.safetensors", TENSORS, step=3, note="à b")
    tensors, notes = load_tensors(tmp_path / "x.safetensors")
    assert notes == {"step": "3", "note": "à b"}
    assert set(tensors) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype and torch.equal(tensors[name], tensor)


def test_a_flipped_bit_and_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "x.safetensors"
    save_tensors(path, {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(3)}, step=7)
    whole = path.read_bytes()
    flipped = [whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :] for place in range(len(whole))]
    for damaged in (*flipped, *(whole[:size] for size in range(len(whole))), whole + b"\0"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="x.safetensors is damaged") as refusal:
            load_tensors(path)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("read", [read_json, load_tensors])
@pytest.mark.parametrize("name", ["nowhere/x", "."])
def test_a_missing_file_is_named(tmp_path, read, name):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / name)


def test_json_comes_back(tmp_path):
    value = {"a": [1, 2.5, None, "ü"], "b": {"c": 1e-3}}
    write_json(tmp_path / "deep" / "x.json", value)
    assert read_json(tmp_path / "deep" / "x.json") == value
    assert (tmp_path / "deep" / "x.json").read_text().endswith("}\n")


@posix
def test_a_written_file_is_readable_by_others(tmp_path):
    write_atomic(tmp_path / "x", "text")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call, error", [("fsync", FULL), ("replace", FULL), ("chmod", FULL), ("fsync", KeyboardInterrupt())])
def test_a_failing_disk_or_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, error):
    def fail(*args, **kwargs):
        raise error

    write_atomic(tmp_path / "x", "old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)) as failure:
        write_atomic(tmp_path / "x", "new")
    assert error is not FULL or re.search("cannot write .*x: No space left on device", str(failure.value))
    with pytest.raises(type(error)):
        write_atomic(tmp_path / "deep" / "deeper" / "x", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "old"
