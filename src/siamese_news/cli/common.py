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
from typer.core import TyperCommand

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


class ManyValues(TyperCommand):
    """A command whose list options take every value up to the next option.

    ``--posts a b c`` is ``--posts a --posts b --posts c``. A value that belongs to no option stops
    the command, with what each option took: a file that the shell put in the wrong place is never
    read as something else.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values over their options, then parse as usual."""
        lists: dict[str, str] = {}
        others: set[str] = set()
        for parameter in self.params:
            if getattr(parameter, "multiple", False):
                lists.update(dict.fromkeys(parameter.opts, parameter.opts[0]))
            elif parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False):
                others.update(parameter.opts)
        spread, taken, stray = _spread(args, lists, others)
        if stray:
            known = {name for one in self.get_params(ctx) for name in one.opts + one.secondary_opts}
            if any(word.startswith("--") and word.partition("=")[0] not in known for word in args):
                super().parse_args(ctx, spread)  # names the option that does not exist
            listed = "; ".join(f"{name} took {', '.join(v)}" for name, v in taken.items())
            raise typer.BadParameter(
                f"{', '.join(stray)}: belongs to no option{f' ({listed})' if listed else ''}; put "
                "files right after --articles or --posts",
                ctx=ctx,
            )
        return super().parse_args(ctx, spread)


def _spread(
    args: list[str], lists: dict[str, str], others: set[str]
) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """The arguments with each list option named before each value, what each took, and strays."""
    spread: list[str] = []
    taken: dict[str, list[str]] = {}
    stray: list[str] = []
    current: str | None = None  # the list option that takes what comes
    wanted = False  # the value of another option is to come
    bare = False  # a list option is named and has no value yet
    for word in args:
        name, equals, value = word.partition("=")
        if wanted:
            spread.append(word)
            wanted = False
        elif word.startswith("-") and word != "-":
            current = lists.get(name)
            if current is not None and equals:
                taken.setdefault(current, []).append(value)
            bare = current is not None and not equals
            wanted = name in others and not equals
            spread.append(word)
        elif current is not None:
            spread += [word] if bare else [current, word]
            bare = False
            taken.setdefault(current, []).append(word)
        else:
            stray.append(word)
    return spread, taken, stray
