"""Progress bars, which never stop what they tell of."""

import sys
from contextlib import suppress
from typing import TextIO

from tqdm.auto import tqdm


class _Lenient:
    """A stream whose reader may be gone: what cannot be written is dropped."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


def progress_bar(name: str, total: int, done: int, shown: bool) -> tqdm:
    """A bar over steps on stderr, or in a notebook as its widget; none where stderr is closed."""
    stream = None if sys.stderr is None else _Lenient(sys.stderr)
    return tqdm(total=total, initial=done, desc=name, unit="step", disable=not shown or stream is None, file=stream)
