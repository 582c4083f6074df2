"""What the commands share: options, formats, exit codes, progress and writing."""

import errno
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from siamese_news.model.loading import AnyModel
    from siamese_news.model.siamese import Model
    from siamese_news.search.export import ExportOptions


class Format(StrEnum):
    """How results are written."""

    table = "table"
    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    trec = "trec"


class Aggregate(StrEnum):
    """How the scores over several seeds become one."""

    max = "max"
    mean = "mean"
    softmax = "softmax"


class About(StrEnum):
    """Which posts are wanted."""

    auto = "auto"
    event = "event"
    article = "article"


class Fusion(StrEnum):
    """How words and vectors come together."""

    weighted = "weighted"
    reciprocal = "reciprocal"
    words = "words"
    vectors = "vectors"


ArticlesOption = Annotated[
    list[str],
    typer.Option(
        help="Seed articles: .txt, saved web pages, JSON, JSON lines, CSV; files, folders, globs, "
        "or - for standard input; several may follow."
    ),
]
PostsOption = Annotated[
    list[str],
    typer.Option(
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -; several may follow."
    ),
]
OptionalPostsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--posts",
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -; several may follow.",
    ),
]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", help="In place of --posts: an index of them that siamese-news index wrote."
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        help="Model folder that training wrote; else the one shipped. A folder of "
        "sentence-transformers or model2vec gives the vectors beside the words of the one shipped."
    ),
]
NotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--not",
        metavar="ARTICLE",
        help="Article of a story that is not meant: its score is subtracted; several may follow.",
    ),
]
AggregateOption = Annotated[
    Aggregate,
    typer.Option(
        help="Score over several seeds: near any of them (max), near all (mean), between (softmax)."
    ),
]
AboutOption = Annotated[
    About,
    typer.Option(
        help="Posts about the article's event, or about this very article. auto: the event for "
        "several seeds of one story; else as the pool suggests."
    ),
]
SmoothOption = Annotated[
    bool,
    typer.Option(
        "--smooth/--no-smooth",
        help="Let posts that are alike lend each other their scores, where the model does.",
    ),
]
FusionOption = Annotated[
    Fusion | None,
    typer.Option(
        help="Words and vectors: added with the model's weight, by reciprocal ranks (another "
        "pass), or one alone. Else as the model says."
    ),
]
ExpandOption = Annotated[
    bool | None,
    typer.Option(
        "--expand/--no-expand",
        help="Let each article's best posts speak for it as well (pseudo-relevance feedback; "
        "another pass). Else as the model says; the one shipped does.",
    ),
]
AfterOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only posts from then on (UTC), or undated.")
]
BeforeOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only posts before then (UTC), or undated.")
]
DatedOnlyOption = Annotated[bool, typer.Option("--dated-only", help="Leave out undated posts.")]
DedupeOption = Annotated[
    bool, typer.Option("--dedupe", help="Of near-duplicates show the best one, with their number.")
]
IdsOnlyOption = Annotated[
    bool, typer.Option("--ids-only", help="Write no words of the posts, for sharing.")
]
AuthorOption = Annotated[bool, typer.Option("--author", help="Write the authors as well.")]
PseudonymiseOption = Annotated[
    Path | None,
    typer.Option(
        metavar="KEYFILE",
        help="Write the authors as HMAC-SHA256 under a secret key. Names inside texts and ids "
        "(Bluesky) stay.",
    ),
]
MapOption = Annotated[
    bool,
    typer.Option(
        "--map",
        help="Places x and y of the best 2,000 posts, for a viewer such as embedding-atlas.",
    ),
]
BomOption = Annotated[bool, typer.Option("--bom", help="Begin a CSV as Excel likes it.")]
TextFieldOption = Annotated[str | None, typer.Option(help="Field of a post's text.")]
IdFieldOption = Annotated[
    str | None, typer.Option(help="Field of a post's id; 'line' numbers the rows.")
]
DateFieldOption = Annotated[str | None, typer.Option(help="Field of a post's date.")]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of the posts' files, such as utf-16 or cp1252; else by a look."),
]
LongWindowOption = Annotated[
    bool, typer.Option("--long-window", help="Allow .zst windows of up to 2 GiB.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad row instead of setting it aside.")
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="CPU threads.")]

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
        if error.errno not in _UNWRITABLE:
            raise
        name = f"{error.filename}: " if error.filename else ""
        typer.echo(
            f"siamese-news: {name}cannot be written ({error.strerror}); {hint}, and an older "
            "output is as it was",
            err=True,
        )
        raise typer.Exit(1) from error
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def use_threads(threads: int | None) -> None:
    """Limit torch to so many CPU threads; None leaves it as it is."""
    import torch

    if threads:
        torch.set_num_threads(threads)


def format_of(format: Format | None, out: Path | None, default: Format | None) -> Format:
    """The format asked for, else by the ending of the file's name.

    Raises:
        InputError: the name tells none, and there is no default.
    """
    from siamese_news.errors import InputError

    if format is not None:
        return format
    if out is not None:
        name = out.name.lower().removesuffix(".gz")
        for ending, found in (
            (".jsonl", Format.jsonl), (".csv", Format.csv), (".parquet", Format.parquet),
            (".trec", Format.trec), (".run", Format.trec), (".txt", Format.table),
        ):  # fmt: skip
            if name.endswith(ending):
                return found
        default = None
    if default is None:
        raise InputError(
            f"{out}: the name does not tell the format; expected an ending .jsonl, .csv, .parquet, "
            ".trec or .txt, or --format"
        )
    return default


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
