"""What may pass between the marker and a student's process.

Requests are pickled: they come from the marker, whom the student's process may trust.  Answers are not trusted: they are
read by PyTorch's loader for untrusted weights, which makes tensors, numbers, lists and the few classes named here, and
calls nothing else.  What a function writes into the tensors and generators that it was given comes back with its answer.
"""

import io
import re
import sys
import zipfile

import cloudpickle
import numpy as np
import torch
from torch import Generator, Tensor

from assign_add_lib.model import Weights
from assign_add_lib.sampling import Batch
from assign_add_lib.task import Task

LARGEST = 64 * 2**20  # bytes of a message, and of a tensor in it

_received = []  # in the student's process: the tensors and generators of the last request, in order


class Unreadable(Exception):
    """An answer that is damaged, too large, or of a kind that no exercise asks for."""


class _Request(cloudpickle.Pickler):
    """Writes a request, and keeps what the student's function may write into."""

    def __init__(self, file):
        super().__init__(file)
        self.lent = []

    def reducer_override(self, each):
        if isinstance(each, Tensor | Generator):
            self.lent.append(each)
            make, arguments, *rest = each.__reduce_ex__(2)
            return _receive, (make, arguments), *rest
        return super().reducer_override(each)


def _receive(make, arguments):
    each = make(*arguments)
    _received.append((each, _state(each)))
    return each


def _state(each):
    """What tells whether a tensor or a generator has changed."""
    return each.get_state() if isinstance(each, Generator) else each._version


def request(*parts) -> tuple[bytes, list]:
    """A request as bytes, and the tensors and generators in it."""
    file = io.BytesIO()
    pickler = _Request(file)
    pickler.dump(parts)
    return file.getvalue(), pickler.lent


def read_request(message: bytes) -> tuple:
    _received.clear()
    return cloudpickle.loads(message)


def to_numpy(tensor: Tensor) -> np.ndarray:
    return tensor.numpy()


class Pickler(cloudpickle.Pickler.__mro__[1]):
    """Writes an answer; `torch.save` takes it from this module. NumPy's arrays and numbers go as PyTorch's and Python's."""

    def reducer_override(self, each):
        if isinstance(each, np.generic):
            return type(each.item()), (each.item(),)
        if isinstance(each, np.ndarray):
            return to_numpy, (torch.from_numpy(each),)
        if isinstance(each, Generator):
            return Generator, ()
        return NotImplemented


KNOWN = [Weights, Task, Batch, to_numpy, bool, int, float, complex, str]


def answer(value) -> bytes:
    """An answer as bytes, with what the function wrote into what it was given."""
    written = {}
    for place, (each, before) in enumerate(_received):
        now = _state(each)
        if isinstance(each, Generator):
            if not torch.equal(now, before):
                written[place] = now
        elif now != before:
            written[place] = each.detach()
    file = io.BytesIO()
    torch.save((value, written), file, pickle_module=sys.modules[__name__])
    return file.getvalue()


def read_answer(message: bytes, lent: list):
    """The value of an answer; what was written is written into what was lent. Raises Unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(message)) as parts:
            if sum(part.file_size for part in parts.infolist()) > LARGEST:
                raise Unreadable("an answer of more than 64 MiB")
        with torch.serialization.safe_globals(KNOWN):
            value, written = torch.load(io.BytesIO(message), weights_only=True)
        _check_size((value, written))
        with torch.no_grad():
            for place, new in written.items():
                lent[place].set_state(new) if isinstance(lent[place], Generator) else lent[place].copy_(new)
    except Unreadable:
        raise
    except Exception as error:
        unknown = re.search(r"GLOBAL (\S+) was not", str(error))
        words = f"it holds a {unknown[1]}, which no exercise asks for" if unknown else type(error).__name__
        raise Unreadable(words) from None
    return value


def _check_size(answer) -> None:
    """Unreadable where what is small in the message is large where it is used, such as one list many times in another."""
    left, todo = LARGEST, [answer]
    while todo:
        value = todo.pop()
        if isinstance(value, Weights):
            value = vars(value)
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple | set):
            todo += value
        left -= value.numel() * value.element_size() if isinstance(value, Tensor) else sys.getsizeof(value)
        if left < 0:
            raise Unreadable("an answer of more than 64 MiB")
