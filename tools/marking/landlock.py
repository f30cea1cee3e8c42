"""What Linux itself forbids a process, from version 5.13 on and without any privileges: Landlock.

A process can only ever take rights from itself and from what it starts.  See landlock(7) in the manual of Linux.
"""

import ctypes
import os
import struct
import sys
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
NO_NEW_PRIVS, PATH_BENEATH = 38, 1

# Rights on files, by the version that brought them; execute, read and list a folder (bits 0, 2, 3) stay allowed.
WRITES = {1: (1 << 1) | sum(1 << bit for bit in range(4, 13)), 2: 1 << 13, 3: 1 << 14}
NETWORK = {4: 0b11}  # bind and connect by TCP
SCOPES = {6: 0b11}  # abstract sockets, and signals to processes outside


def version() -> int:
    """The version of Landlock here, 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def confine(folder: Path) -> None:
    """From now on this process writes nowhere but in `folder` (and into nothing), and sends no signal to others."""
    here = version()
    if not here:
        return
    writes, network, scopes = (
        sum(bits for since, bits in rights.items() if since <= here) for rights in (WRITES, NETWORK, SCOPES)
    )
    call = ctypes.CDLL(None, use_errno=True).syscall
    attributes = struct.pack("QQQ", writes, network, scopes)[: 8 if here < 4 else 16 if here < 6 else 24]
    rules = _done(call(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path, rights in ((folder, writes), (Path(os.devnull), WRITES[1] & 2)):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _done(call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, place), 0))
        os.close(place)
    _done(ctypes.CDLL(None, use_errno=True).prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    _done(call(RESTRICT_SELF, rules, 0))
    os.close(rules)


def _done(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock is there, but refuses: " + os.strerror(ctypes.get_errno()))
    return result
