"""Progress bars never stop what they tell of."""

import io
import sys

import pytest

from assign_add_lib.engine.progress import progress_bar


class Gone(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError

    def flush(self):
        raise ValueError("I/O operation on closed file")


def test_a_bar_goes_on_from_where_a_run_stands(capsys):
    with progress_bar("seed-3", 80, 40, True) as bar:
        bar.update(40)
    shown = capsys.readouterr().err
    assert "seed-3" in shown and "40/80" in shown and "80/80" in shown


@pytest.mark.parametrize("stream", [Gone(), None], ids=["broken", "closed"])
def test_a_bar_that_nobody_sees_does_no_harm(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("seed-3", 80, 0, True) as bar:
        for _ in range(80):
            bar.update()
            bar.set_postfix(loss="0.1")
    assert stream is None or bar.n == 80


def test_a_quiet_bar_says_nothing(capsys):
    with progress_bar("seed-3", 80, 0, False) as bar:
        bar.update(80)
    assert capsys.readouterr() == ("", "")
