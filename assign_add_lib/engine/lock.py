"""Locks: one process at a time writes a run folder, a table or the manifest."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from .files import make_folder, remove_empty


class Lock:
    """One writer at a time, from `Lock(path)` until `release` or until the process ends, however it ends.

    Folders that it had to make go with it, where nothing was written into them.
    The file at `path` exists while the lock is held; one that a killed process left behind holds nothing.  Between
    machines it works as far as their shared file system passes `flock` on, as NFS and Lustre mostly do; where it does not
    exist, the existence of the file is the lock.  ValueError where another holds it, OSError where nothing can be written.
    """

    def __init__(self, path: Path):
        self.path, self._lock = path, FileLock(path, timeout=0, thread_local=False)
        self._made: list[Path] = []
        try:
            self._made = make_folder(path.parent)
            self._lock.acquire()
            self._own = path.stat()
        except Timeout:
            raise ValueError(f"{self._what} is being written by another process; wait, or choose another") from None
        except OSError as error:
            self._lock.release()
            remove_empty(self._made)
            raise OSError(f"cannot write {self._what}: {error.strerror or error}") from None

    @property
    def _what(self) -> Path:
        """What is locked: a folder by the file `.lock` in it, a file by `.NAME.lock` beside it."""
        name = self.path.name.removeprefix(".").removesuffix("lock").removesuffix(".")
        return self.path.with_name(name) if name else self.path.parent

    @property
    def stands(self) -> bool:
        """Whether the file of the lock is still where it was made."""
        try:
            return os.path.samestat(self._own, self.path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Give it up, and remove its file while no other can have it."""
        if self.stands:
            with suppress(OSError):  # Windows keeps an open file; there the release itself removes it
                self.path.unlink()
        self._lock.release()
        remove_empty(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.release()


def lock_folder(folder: Path) -> Lock:
    """The lock of a folder."""
    return Lock(folder / ".lock")


def lock_file(path: Path) -> Lock:
    """The lock of a file."""
    return Lock(path.with_name(f".{path.name}.lock"))
