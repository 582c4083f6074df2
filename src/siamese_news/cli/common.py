"""What the commands share: exit codes, threads, formats and models."""

import errno
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from siamese_news.cli.options import Format

if TYPE_CHECKING:
    from siamese_news.model.loading import AnyModel
    from siamese_news.model.siamese import Model
    from siamese_news.search.export import ExportOptions

# What the machine may say while a file is written.
_UNWRITABLE = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EIO,
}  # fmt: skip


class _Terminated(KeyboardInterrupt):
    """SIGTERM: everything is put away as after Ctrl-C."""


def _terminate(number: int, frame: Any) -> None:
    raise _Terminated


@contextmanager
def bad_input_exits(hint: str = "nothing was written") -> Iterator[None]:
    """End the process with a message and without a traceback.

    Exit code 2 for bad input, 1 for an output that cannot be written, 130 for Ctrl-C, 143 for
    SIGTERM.

    Args:
        hint: what was left of the work where it was cut off.
    """
    from siamese_news.errors import InputError, MissingExtraError
    from siamese_news.utils.terminal import clean

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _terminate) if main else None
    try:
        yield
    except MissingExtraError:
        raise  # the entry point says which extra the commands need
    except InputError as error:
        # It may quote what a file has.
        typer.echo(f"siamese-news: {clean(str(error))}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        ended = isinstance(error, _Terminated)
        what = "terminated" if ended else "interrupted"
        typer.echo(f"siamese-news: {what}; {hint}", err=True)
        raise typer.Exit(143 if ended else 130) from error
    except OSError as error:
        # tempfile names no file where it finds no folder that it can write to.
        nowhere = error.errno == errno.ENOENT and error.filename is None
        if error.errno not in _UNWRITABLE and not nowhere:
            raise
        name = error.filename or f"the terminal, or a file in {tempfile.gettempdir()}"
        typer.echo(
            f"siamese-news: {name}: cannot be written ({error.strerror}); {hint}, and an older "
            "output is as it was",
            err=True,
        )
        raise typer.Exit(1) from error
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def format_of(format: Format | None, out: Path | None, default: Format | None) -> Format:
    """The format asked for, else by the ending of the file's name.

    Raises:
        InputError: the name tells none, and there is no default.
    """
    from siamese_news.errors import InputError

    if format is not None:
        return _writable(format)
    if out is not None:
        name = out.name.lower().removesuffix(".gz")
        for ending, found in (
            (".jsonl", Format.jsonl), (".csv", Format.csv), (".parquet", Format.parquet),
            (".trec", Format.trec), (".run", Format.trec), (".txt", Format.table),
        ):  # fmt: skip
            if name.endswith(ending):
                return _writable(found)
        default = None
    if default is None:
        raise InputError(
            f"{out}: the name does not tell the format; expected an ending .jsonl, .csv, .parquet, "
            ".trec or .txt, or --format"
        )
    return default


def _writable(format: Format) -> Format:
    """A format whose library is there, which is better known before the search than after it."""
    if format is Format.parquet:
        import pyarrow  # noqa: F401
    return format


def load_model(folder: Path | None) -> "tuple[AnyModel, dict[str, str]]":
    """The model, and which it is.

    Returns:
        The model, and its ``folder`` and ``sha256`` (of its checksums); for a model of another
        library also that, and as ``words`` the hash of the model whose words stand beside it.
    """
    from siamese_news.model.loading import open_named

    return open_named(folder)


def own_model(folder: Path | None) -> "Model":
    """A model of this package, for what looks inside it.

    Raises:
        InputError: the folder is another library's.
    """
    from siamese_news.model.loading import explainable, open_model

    return explainable(open_model(folder))


def export_options(
    ids_only: bool, author: bool, pseudonymise: Path | None, map: bool
) -> "ExportOptions":
    """What is written of the posts."""
    from siamese_news.search.export import ExportOptions, read_key

    return ExportOptions(ids_only, author, read_key(pseudonymise) if pseudonymise else None, map)
