"""The manifest: every shipped file is listed, whole, and found where it lies."""

from hashlib import sha256

from assign_add_lib.engine import manifest


def test_the_manifest_is_what_sha256sum_would_print(data):
    files = sorted(path for path in (data / "runs").rglob("*") if path.is_file())
    assert len(files) == 5
    lines = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(data).as_posix()}" for path in files]
    assert (data / "MANIFEST.sha256").read_text().splitlines() == lines


def test_every_shipped_file_is_listed_and_whole():
    folder = manifest.data_folder()
    lines = (folder / "MANIFEST.sha256").read_text().splitlines()
    listed = {file: digest for digest, file in (line.split("  ") for line in lines)}
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    del there["MANIFEST.sha256"]
    assert {name: sha256(path.read_bytes()).hexdigest() for name, path in there.items()} == listed
    assert sum(path.stat().st_size for path in there.values()) < 60 * 2**20
