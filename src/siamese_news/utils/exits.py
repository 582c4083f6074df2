"""How a command exits: with a code and one line, not with a traceback."""

import errno
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

# Errors of the system while a file is written.
_NAMES = "ENOSPC EDQUOT EFBIG EROFS EACCES EPERM ENOTDIR EISDIR EEXIST ENAMETOOLONG EIO"
_UNWRITABLE = {getattr(errno, name) for name in _NAMES.split()}


# The signals that end a process; SIGHUP comes when its terminal is closed (not on Windows).
ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class _Terminated(KeyboardInterrupt):
    """A signal that ends the process, whose number is the argument: cleans up like Ctrl-C."""


def _terminate(number: int, frame: Any) -> None:
    raise _Terminated(number)


def _send_again(ignored: Any) -> None:
    """Send a signal again that came where Python ignores exceptions, as in callbacks of garbage."""
    error = ignored.exc_value
    if not isinstance(error, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    number = error.args[0] if isinstance(error, _Terminated) else signal.SIGINT
    timer = threading.Timer(_SOON, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


_SOON = 0.05  # seconds, in which Python has left that place
NOTHING_WRITTEN = "nothing was written"
EXIT_CODES = (
    "Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted."
)
_Function = TypeVar("_Function", bound=Callable[..., None])


def ending(
    interrupted: str = NOTHING_WRITTEN, exits: str = EXIT_CODES
) -> Callable[[_Function], _Function]:
    """Say how a command ends: what an interrupted one leaves behind, and its exit codes.

    `siamese_news.cli.commands` reads both where it registers the command.
    """

    def mark(command: _Function) -> _Function:
        command.__dict__.update(interrupted=interrupted, exits=exits)
        return command

    return mark


@contextmanager
def bad_input_exits(hint: str = NOTHING_WRITTEN) -> Iterator[None]:
    """End the process with a message, which ends in `hint`, and without a traceback.

    Exit code 2 for bad input, 1 for an output that cannot be written, 130 for Ctrl-C, 143 for
    SIGTERM, 129 for a closed terminal (unless `nohup` ignores it).
    """
    import typer

    from siamese_news.errors import InputError, MissingExtraError
    from siamese_news.utils.terminal import clean

    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {
            number: signal.signal(number, _terminate)
            for number in ENDING
            if signal.getsignal(number) != signal.SIG_IGN
        }
    ignored_before = sys.unraisablehook
    sys.unraisablehook = _send_again
    try:
        yield
    except MissingExtraError:
        raise  # the entry point says which extra the commands need
    except InputError as error:
        # It may quote a file.
        typer.echo(f"siamese-news: {clean(str(error))}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        ended = isinstance(error, _Terminated)
        ending_word = "terminated" if ended else "interrupted"
        with suppress(OSError):  # the terminal is closed
            typer.echo(f"siamese-news: {ending_word}; {hint}", err=True)
        raise typer.Exit(128 + error.args[0] if ended else 130) from error
    except OSError as error:
        # tempfile names no file if it finds no folder that it can write to.
        nowhere = error.errno == errno.ENOENT and error.filename is None
        if error.errno not in _UNWRITABLE and not nowhere:
            raise
        # `gettempdir` would fail again where no folder can be written to.
        folder = tempfile.tempdir or "the folder of temporary files"
        name = error.filename or f"the terminal, or a file in {folder}"
        typer.echo(
            f"siamese-news: {name}: cannot be written ({error.strerror}); {hint}, and the "
            "previous output is unchanged",
            err=True,
        )
        raise typer.Exit(1) from error
    finally:
        sys.unraisablehook = ignored_before
        for number, handler in handlers.items():
            signal.signal(number, handler)
