"""A student's process: it runs the cells of one notebook and answers calls of its functions, and can do little else.

It is forked from the marker, which has run the chapter's own cells already, so it starts at once.  Its limits are the
system's own, and its folder is empty.  Nothing that it says is trusted, see `channel`.
"""

import contextlib
import ctypes
import errno
import importlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

from . import channel, landlock, seccomp


@dataclass(frozen=True)
class Limits:
    """What one process may use; ValueError for seconds or a memory that no marking can mean."""

    seconds: int = 60  # of a processor
    clock: int = 360  # seconds by the clock
    memory: int = 2 * 2**30  # bytes, beyond what the chapter itself uses
    output: int = 16 * 2**20  # bytes, of all that is printed, and of each file

    def __post_init__(self):
        for name, given, least, most in (("seconds", self.seconds, 1, 3600), ("MiB of memory", self.memory >> 20, 64, 2**20)):
            if not least <= given <= most:
                raise ValueError(f"{name} must be at least {least} and at most {most}, not {given}")


PARENT_DEATH_SIGNAL = 1  # see prctl(2)


class Stopped(BaseException):
    """A student's process ended, or had to be ended; no check may take it for an error of the student's function."""


class Student:
    """A student's process, seen from the marker: `with Student(shell, limits) as student`.

    Whatever it says may be forged, so nothing is taken to be of the type that it should have.
    """

    def __init__(self, shell, limits: Limits):
        self.limits, self.remarks = limits, []
        self.folder = Path(tempfile.mkdtemp(prefix="marking-"))
        here, there = Pipe()
        self.pid = os.fork()
        if not self.pid:
            _child(there, shell, limits, self.folder)
        there.close()
        self.connection = here
        signal.signal(signal.SIGALRM, self._late)
        signal.setitimer(signal.ITIMER_REAL, limits.clock)

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        _limit_memory(self.limits, self.before[1])  # what is made here of an answer counts, too
        return self

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_AS, self.before)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._kill()
        self.connection.close()
        subprocess.run(["rm", "-rf", self.folder], stderr=subprocess.DEVNULL)  # it goes as deep as folders are nested

    def run(self, source: str) -> str | None:
        """Run a cell; returns what it stopped with, or nothing. Raises Stopped."""
        error = self._ask("run", source)
        return None if error is None else str(error)[:300]

    def function(self, name: str) -> Callable:
        """A function of the notebook; calling it calls the student's. Raises Stopped."""

        def call(*arguments, **named):
            outcome, value = self._ask("call", name, arguments, named)
            if outcome == "raised":
                raise type(value[0], (Exception,), {})(value[1])
            return value

        return call

    def check(self, check: str, name: str) -> str:
        """What a check says that has to run in the student's process."""
        return str(self._ask("check", check, name))[:500]

    def seed(self, seed: int) -> None:
        self._ask("seed", seed)

    def defines(self, name: str) -> bool:
        return bool(self._ask("defines", name))

    def replaced(self) -> list[str]:
        """Names of the book's package that the notebook has replaced, as its process tells."""
        names = self._ask("replaced")
        return [str(name)[:100] for name in names[:3]] if isinstance(names, list) else []

    def _ask(self, *parts):
        message, lent = channel.request(*parts)
        try:
            self.connection.send_bytes(message)
            while True:
                said = self.connection.recv_bytes(channel.LARGEST)
                if said[:1] != b"!":
                    return channel.read_answer(said[1:], lent)
                if len(self.remarks) < 5:
                    self.remarks.append(said[1:600].decode(errors="replace"))
        except channel.Unreadable as error:
            raise Stopped(f"what it sent cannot be read: {error}") from None
        except (EOFError, OSError):
            raise Stopped(self._end()) from None

    def _late(self, *_):
        raise Stopped(f"it ran for more than {self.limits.clock} seconds by the clock")

    def _end(self) -> str:
        """How the process ended."""
        status = self._kill()
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"it used {self.limits.seconds} seconds of a processor, or all of the memory"
        return f"it ended the process, with the signal {signal.Signals(-status).name}" if status < 0 else "it ended the process"

    def _kill(self) -> int:
        """End the process and all that it started; how it ended, as in `subprocess`."""
        if self.pid:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if not done:
                os.kill(self.pid, signal.SIGKILL)  # which may have no group of its own yet
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            if not done:
                status = os.waitpid(self.pid, 0)[1]
            self.pid, self.status = 0, os.waitstatus_to_exitcode(status)
        return self.status


def _child(connection: Connection, shell, limits: Limits, folder: Path) -> None:
    """The life of a student's process, which never returns."""
    try:
        _confine(connection.fileno(), limits, folder)
        _serve(connection, shell)
    except BaseException as error:
        with contextlib.suppress(OSError):
            connection.send_bytes(b"!" + f"its process failed: {error}".encode())
    finally:
        os._exit(1)


def _confine(kept: int, limits: Limits, folder: Path) -> None:
    """Close all that the marker has open, and give up what a notebook does not need."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)  # it ends with the marker, even where that is killed
    os.setsid()
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.chdir(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    sys.dont_write_bytecode = True
    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, kept)
    os.closerange(kept + 1, 4096)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output, limits.output))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory(limits)
    landlock.confine(folder)
    seccomp.confine()


def _limit_memory(limits: Limits, hard: int | None = None) -> None:
    """Limit what this process may use from now on; with `hard` it may lift that again."""
    with contextlib.suppress(OSError, ValueError):  # macOS has no such limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most if hard is None else hard))


def unprotected() -> str:
    """What this system cannot keep a notebook's native code from, in words; nothing where it can."""
    without = [] if landlock.version() else ["Landlock, so native code may write wherever you may"]
    if not seccomp.library():
        without.append("libseccomp, so native code may start programs and change or end those of yours")
    return " and without ".join(without)


REFUSED = "a notebook that is being marked may not do this"
CHANGES = ("remove", "rename", "mkdir", "rmdir", "link", "symlink", "truncate", "chmod", "chown", "utime")
FILES = {f"os.{each}" for each in CHANGES}
PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.kill"}
NETWORK = {f"socket.{each}" for each in ("connect", "bind", "sendto", "sendmsg", "getaddrinfo", "gethostbyname", "gethostbyaddr")}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _watch(connection: Connection, folder: Path) -> None:
    """Refuse, and tell the marker, what a notebook tries outside its folder.

    This is Python's own view, so that native code gets round it; on Linux that meets Landlock.
    """
    told = set()

    def refuse(what):
        if what not in told and len(told) < 5:
            told.add(what)
            connection.send_bytes(b"!" + what.encode(errors="replace")[:250])
        raise PermissionError(f"{REFUSED}: it {what}")

    def outside(path):
        if isinstance(path, int):
            return False
        path = os.path.realpath(os.fsdecode(path))
        return path != os.devnull and os.path.commonpath([path, folder]) != str(folder)

    def hook(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING and path is not None and outside(path):
                refuse(f"writes outside its folder: {os.fsdecode(path)}")
        elif event in FILES:
            for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
                there = event == "os.mkdir" and os.path.isdir(path)  # a library that makes sure
                if isinstance(path, str | bytes | os.PathLike) and outside(path) and not there:
                    refuse(f"changes files outside its folder: {os.fsdecode(path)}")
        elif event in PROCESSES:
            refuse(f"starts or ends other programs ({event})")
        elif event in NETWORK:
            refuse("asks the network")

    sys.addaudithook(hook)


def seed_generators(seed: int) -> None:
    """Let what Python, NumPy and PyTorch draw from their own generators begin alike, whatever was drawn before."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _package() -> dict:
    """The functions and classes of the book's package, by name."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("assign_add_lib") and module}
    return {f"{place}.{name}": each for place, module in modules.items() for name, each in vars(module).items() if callable(each)}


def _serve(connection: Connection, shell) -> None:
    """Answer requests until the marker has no more."""
    package, folder = _package(), Path(os.path.realpath(os.getcwd()))
    _watch(connection, folder)
    while True:
        what, *parts = channel.read_request(connection.recv_bytes())
        try:
            message = channel.answer(_answer(shell, package, what, *parts))
        except Exception as error:  # what the function returned cannot be passed on
            message = channel.answer(("raised", (type(error).__name__, str(error)[:300])))
        connection.send_bytes(b"=" + message)


def _answer(shell, package, what, *parts):
    names = shell.user_ns
    if what == "run":
        try:
            result = shell.run_cell(parts[0])
            error = result.error_before_exec or result.error_in_exec
        except Exception as failed:  # IPython could not even print the error
            error = failed
        return None if error is None else _words(error)
    if what == "seed":
        return seed_generators(parts[0])
    if what == "defines":
        return callable(names.get(parts[0]))
    if what == "replaced":
        now = _package()
        return [name for name, each in package.items() if now.get(name) is not each][:3]
    if what == "check":
        said = []
        module = importlib.import_module("assign_add_lib.checks.common")
        module.print = lambda *words: said.append(" ".join(map(str, words)))
        getattr(importlib.import_module("assign_add_lib.checks"), parts[0])(names[parts[1]])
        return "\n".join(said)
    name, arguments, named = parts
    try:
        return "returned", names[name](*arguments, **named)
    except Exception as error:
        return "raised", (type(error).__name__, str(error)[:300])


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return f"printed or wrote more than {resource.getrlimit(resource.RLIMIT_FSIZE)[0] // 2**20} MiB"
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
