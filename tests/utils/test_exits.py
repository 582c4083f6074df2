"""A signal ends a command wherever it comes."""

import errno
import os
import signal
import tempfile
import time
import weakref

import pytest
import typer

from siamese_news.utils.exits import bad_input_exits


class Anything:
    pass


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
)
def test_a_signal_that_comes_where_exceptions_are_ignored_counts(number, code, capsys):
    gone = Anything()

    def callback(_):
        os.kill(os.getpid(), number)
        sum(range(1000))  # the signal is handled in here

    with pytest.raises(typer.Exit) as ended, bad_input_exits():
        reference = weakref.ref(gone, callback)
        del gone
        assert reference() is None
        time.sleep(10)
        raise AssertionError("the signal was ignored")
    assert ended.value.exit_code == code
    assert "nothing was written" in capsys.readouterr().err


def test_a_closed_terminal_takes_no_message_and_the_code_stays(monkeypatch):
    def closed(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(typer, "echo", closed)
    with pytest.raises(typer.Exit) as ended, bad_input_exits():
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(10)
    assert ended.value.exit_code == 129


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with bad_input_exits():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_handlers_are_those_from_before():
    before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)]
    with bad_input_exits():
        pass
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)] == before


def test_no_folder_for_temporary_files_is_one_line(monkeypatch, capsys):
    """As on a disk that takes not a byte: `tempfile` finds no folder and names no file."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(
        tempfile, "_candidate_tempdir_list", lambda: ["/nowhere/at all"]
    )
    with pytest.raises(typer.Exit) as ended, bad_input_exits("hint"):
        tempfile.TemporaryFile()
    assert ended.value.exit_code == 1
    assert "cannot be written (No usable temporary directory" in capsys.readouterr().err
