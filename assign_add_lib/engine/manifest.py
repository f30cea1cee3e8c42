"""The shipped data: where it lies, and the checksums that tell whether it is whole."""

import re
from collections.abc import Collection
from pathlib import Path

from .files import existing, file_sha256, remove_unfinished, write_atomic
from .lock import lock_file

PACKAGE = Path(__file__).parents[1]
MANIFEST = "MANIFEST.sha256"


def is_installed() -> bool:
    """Whether the shipped data lie inside of an installed package, and go with it."""
    return (PACKAGE / "data").is_dir()


def data_folder() -> Path:
    """The shipped data: beside the package in a checkout, inside it once installed."""
    return PACKAGE / "data" if is_installed() else PACKAGE.parent / "data"


def read_manifest(data: Path) -> dict[str, str]:
    """The expected SHA-256 of the shipped files, by path in the data folder."""
    path = existing(data / MANIFEST)
    try:
        lines = [re.fullmatch("([0-9a-f]{64})  (.+)", line) for line in path.read_text("utf-8").splitlines()]
        return {line[2]: line[1] for line in lines}
    except (UnicodeDecodeError, TypeError):
        raise ValueError(f"{path} is damaged: it is not a list of checksums and files") from None


def shipped_file(name: str) -> Path:
    """A shipped file by its path in the data folder, once its checksum is found right.

    Raises FileNotFoundError where it is missing, ValueError where it is damaged.
    """
    path = existing(data_folder() / name)
    if file_sha256(path) != read_manifest(data_folder()).get(name):
        raise ValueError(f"{path} is damaged: its checksum is not the one in {MANIFEST}")
    return path


def write_manifest(data: Path | None = None, made: Collection[str] = ()) -> Path:
    """Write the checksums of the shipped files: those listed already keep theirs, so that damage stays damage.

    Files in `made`, paths in the data folder, get new ones; other files that lie there are not listed.  What is listed and
    gone stays listed, unless its folder is gone too.
    """
    data = data or data_folder()
    with lock_file(data / MANIFEST):
        return sign(data, made)


def sign(data: Path, made: Collection[str] = ()) -> Path:
    """The same where the manifest's lock is held."""
    path = data / MANIFEST
    remove_unfinished(data, MANIFEST)
    known = read_manifest(data) if path.exists() else {}
    sums = {name: digest for name, digest in known.items() if (data / name).parent.is_dir()}
    sums |= {name: file_sha256(data / name) for name in made}
    write_atomic(path, "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
    return path
