"""Files that are either whole or absent: atomic writes, and tensors that carry their own checksum."""

import contextlib
import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

UNFINISHED = ".assign-add-part"  # how the names of files end that are being written, and no others


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Write a whole file or nothing, by renaming a finished temporary one; OSError says what could not be written."""
    path = Path(path)
    content = content.encode() if isinstance(content, str) else content
    try:
        made = make_folder(path.parent)
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.chmod(temporary, 0o644)
                os.replace(temporary, path)
                _sync(path.parent)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except BaseException:
            remove_empty(made)
            raise
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def _sync(folder: Path) -> None:
    """Let what a folder lists outlast a loss of power, where the system has a way to."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(folder: Path) -> list[Path]:
    """Make a folder, and those above it, where they are missing; returns these, the folder first.

    OSError where it cannot be made, and then none is: NotADirectoryError where something else has its name.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remove_empty(missing)
        if isinstance(error, FileExistsError):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
        raise
    return missing


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of these folders that hold nothing, one after the other."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def check_writable(folder: Path) -> None:
    """OSError where a folder, or one that is made in its place, takes no files."""
    try:
        made = make_folder(folder)
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        finally:
            remove_empty(made)
    except OSError as error:
        raise OSError(f"cannot write in {folder}: {error.strerror or error}") from None


def remove_unfinished(folder: Path, name: str = "*") -> None:
    """Remove what killed writes of a file, or of any file, left in a folder whose lock is held."""
    for path in folder.glob(f".{name}.*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def existing(path: str | Path) -> Path:
    """The path of a file; FileNotFoundError where there is none."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return Path(path)


def write_json(path: str | Path, value: dict) -> None:
    """Write a JSON file, whole or not at all."""
    write_atomic(path, json.dumps(value, indent=2) + "\n")


def read_json(path: str | Path) -> dict:
    """Read a JSON file; FileNotFoundError or ValueError names the file and what is wrong."""
    path = existing(path)
    try:
        value = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged: not a JSON object")
    return value


def _checksum(tensors: dict[str, Tensor], notes: dict[str, str]) -> str:
    """SHA-256 of the notes and of every tensor's name, dtype, shape and bytes."""
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.contiguous().view(torch.uint8).numpy() if tensor.dim() else tensor.numpy().tobytes())
    return digest.hexdigest()


def _ordered(content: bytes) -> bytes:
    """The same safetensors file with its notes in order: the library shuffles them, and equal runs are equal files."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def save_tensors(path: str | Path, tensors: dict[str, Tensor], **notes: str | int) -> None:
    """Write tensors and short notes as one safetensors file with a checksum of it all, whole or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    notes = {name: str(note) for name, note in notes.items()}
    write_atomic(path, _ordered(save(tensors, notes | {"sha256": _checksum(tensors, notes)})))


def load_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and notes back; ValueError where the file is not what `save_tensors` wrote."""
    path = existing(path)
    try:
        with safe_open(path, "pt") as file:
            notes = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged: {' '.join(str(error).split())}") from None
    if notes.pop("sha256", None) != _checksum(tensors, notes):
        raise ValueError(f"{path} is damaged: its checksum does not match its content")
    return tensors, notes


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
