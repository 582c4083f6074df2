"""What the commands share: options, formats, exit codes, progress and writing."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from siamese_news.data.records import Article
    from siamese_news.model.loading import AnyModel
    from siamese_news.model.siamese import Model
    from siamese_news.search.export import ExportOptions
    from siamese_news.search.rank import RankedPost
    from siamese_news.search.seeds import Seeds


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
        "or - for standard input. More may follow the options."
    ),
]
PostsOption = Annotated[
    list[str],
    typer.Option(
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -. May be given several times."
    ),
]
MoreArguments = Annotated[
    list[str] | None, typer.Argument(metavar="[ARTICLES]...", help="More seed articles.")
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        help="Model folder that training wrote, or one of sentence-transformers or model2vec; else "
        "the one shipped."
    ),
]
NotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--not",
        metavar="ARTICLE",
        help="Article of a story that is not meant: its score is subtracted. May be given several "
        "times.",
    ),
]
AggregateOption = Annotated[
    Aggregate,
    typer.Option(
        help="Score over several seeds: near any of them (max), near all (mean), between (softmax)."
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


@contextmanager
def bad_input_exits(hint: str = "nothing was written") -> Iterator[None]:
    """End the process with a message and without a traceback.

    Exit code 2 for bad input, 1 for an output that cannot be written, 130 for Ctrl-C.

    Args:
        hint: what was left of the work where it was cut off.
    """
    from siamese_news.errors import InputError, MissingExtraError
    from siamese_news.utils.terminal import clean

    try:
        yield
    except MissingExtraError:
        raise  # the entry point says which extra the commands need
    except InputError as error:
        # It may quote what a file has.
        typer.echo(f"siamese-news: {clean(str(error))}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        typer.echo(f"siamese-news: interrupted; {hint}", err=True)
        raise typer.Exit(130) from error
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


def use_threads(threads: int | None) -> None:
    """Limit torch to so many CPU threads; None leaves it as it is."""
    import torch

    if threads:
        torch.set_num_threads(threads)


def write(ranking: "list[list[RankedPost]]", format: Format, out: Path | None) -> None:
    """Write a ranking to a file, whole or not at all, or to the terminal."""
    from siamese_news.search.output import BINARY, write_ranking
    from siamese_news.utils.files import atomic_write

    binary = format.value in BINARY
    if out is None:
        stream: Any = sys.stdout.buffer if binary else sys.stdout
        write_ranking(stream, ranking, format.value, terminal=sys.stdout.isatty())
        return
    with atomic_write(out, "wb" if binary else "w") as stream:
        write_ranking(stream, ranking, format.value, terminal=False)
    typer.echo(f"{out}: {sum(map(len, ranking))} posts for {len(ranking)} seeds", err=True)


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
    """The model, and which it is: ``folder``, ``sha256`` (of its checksums) and ``library``."""
    from siamese_news.model.external import ExternalModel
    from siamese_news.model.folder import folder_sha256
    from siamese_news.model.loading import open_model
    from siamese_news.model.siamese import PRETRAINED

    model = open_model(folder)
    if isinstance(model, ExternalModel):
        library = {"library": model.library}
        return model, {"folder": str(folder), "sha256": model.sha256()} | library
    digest = folder_sha256(PRETRAINED if folder is None else folder)
    return model, {"folder": "pretrained" if folder is None else str(folder), "sha256": digest}


def own_model(folder: Path | None) -> "Model":
    """A model of this package, for what looks inside it.

    Raises:
        InputError: the folder is another library's.
    """
    from siamese_news.model.loading import explainable, open_model

    return explainable(open_model(folder))


def read_seeds(
    articles: list[str],
    more: list[str] | None,
    negatives: list[str] | None,
    *,
    over: bool,
    aggregate: Aggregate,
    posts: list[str],
    strict: bool = False,
) -> "Seeds":
    """The seed articles of a command.

    Without `strict` an article that has neither title nor text is named and left out.
    """
    from siamese_news.data.articles import read_articles
    from siamese_news.errors import InputError
    from siamese_news.search.seeds import Seeds

    given = [*articles, *(more or [])]
    if sum("-" in names for names in (given, negatives or [], posts)) > 1:
        raise InputError("standard input (-) is named twice; expected one of articles and posts")
    aside = None if strict else _set_aside
    pushing: list[Article] = read_articles(negatives, set_aside=aside) if negatives else []
    return Seeds(read_articles(given, set_aside=aside), pushing, over, aggregate.value)


def _set_aside(reason: str) -> None:
    from siamese_news.utils.terminal import clean

    typer.echo(f"article set aside (--strict stops here): {clean(reason)}", err=True)


def export_options(
    ids_only: bool, author: bool, pseudonymise: Path | None, map: bool
) -> "ExportOptions":
    """What is written of the posts."""
    from siamese_news.search.export import ExportOptions, read_key

    return ExportOptions(ids_only, author, read_key(pseudonymise) if pseudonymise else None, map)


def rejected_file(out: Path | None) -> Path | None:
    """Where bad rows go: beside the output, where it is a file."""
    from siamese_news.utils.files import is_stream

    if out is None or is_stream(out):
        return None
    return out.with_name(out.name + ".rejected.jsonl")
