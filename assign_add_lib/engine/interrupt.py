"""Ctrl-C while a program still imports: torch takes seconds, and until it is there nothing can be lost."""

import os
import signal


def _leave(*_) -> None:
    os.write(2, b"error: stopped\n")
    os._exit(130)


def stop_at_once() -> None:
    """Let Ctrl-C end this process in one line, until `listen`; where it is ignored, as in the background, it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def listen() -> None:
    """Let Ctrl-C be a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
