"""How and where a command writes: never over its inputs, over other files only with --force."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from siamese_news.search.query import Query
    from siamese_news.search.records import RankedPost
    from siamese_news.utils.choices import Format

ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]

_ENDINGS: "dict[str, Format]" = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".trec": "trec",
    ".run": "trec",
    ".txt": "table",
}
_HTML = b'<meta name="generator" content="siamese_news'


def format_of(query: "Query", default: "Format | None") -> "Query":
    """The query with the format asked for, else that of the ending of the file's name.

    Raises:
        InputError: the name has no known ending, and there is no default.
    """
    from dataclasses import replace

    from siamese_news.errors import InputError

    format, out = query.format, query.out
    if format is None and out is not None:
        name = out.name.lower().removesuffix(".gz")
        format = next((known for ending, known in _ENDINGS.items() if name.endswith(ending)), None)
        if format is None:
            raise InputError(
                f"{out}: unknown format; expected an ending .jsonl, .csv, "
                ".parquet, .trec or .txt, or --format"
            )
    # What is missing is better known before the search.
    if format == "parquet":
        import pyarrow  # noqa: F401
    if query.map:
        import sklearn  # noqa: F401
    return replace(query, format=format or default)


def check_output(out: Path | None, inputs: Iterable[Path | None], *, force: bool = False) -> None:
    """Check that an output and the files that go with it overwrite nothing of the user's.

    Unchanged results of an earlier search, and reports, may be replaced.

    Args:
        out: the file to write; None is the terminal.
        inputs: the files that the command reads; None among them is standard input.
        force: replace another file as well.

    Raises:
        InputError: the output is one of the inputs, is not a regular file, or already exists.
    """
    from siamese_news.errors import InputError
    from siamese_news.utils.files import is_stream

    if out is None or is_stream(out):
        return
    read = {_identity(path): path for path in inputs if path is not None and path.exists()}
    for written in (out, *_beside(out)):
        if not written.exists():
            continue
        source = read.get(_identity(written))
        if source is not None:
            what = "is" if written == out else f"would also write {written.name}, which is"
            raise InputError(
                f"{out}: {what} one of the input files ({source}); name another file with --out"
            )
        if not written.is_file():
            kind = "a folder" if written.is_dir() else "not a regular file"
            raise InputError(f"{written}: is {kind}; expected the name of a file to write")
    if force or (not out.exists() and not any(path.exists() for path in _beside(out))):
        return
    for path in (out, *_beside(out)):
        if path.exists() and not _replaceable(path, out):
            raise InputError(
                f"{path}: already exists, and an earlier run of this program did not write it "
                f"(or it was "
                "changed since); name another file with --out, or replace it with --force"
            )


def write(ranking: "list[list[RankedPost]]", format: str, out: Path | None) -> None:
    """Write a ranking to a file, whole or not at all, or to the terminal."""
    from siamese_news.search.output import BINARY, write_ranking
    from siamese_news.utils.files import atomic_write

    binary = format in BINARY
    if out is None:
        stream: Any = sys.stdout.buffer if binary else sys.stdout
        write_ranking(stream, ranking, format, terminal=sys.stdout.isatty())
        return
    with atomic_write(out, "wb" if binary else "w") as stream:
        write_ranking(stream, ranking, format, terminal=False)
    typer.echo(f"{out}: {sum(map(len, ranking))} posts for {len(ranking)} seeds", err=True)


def files_read(
    *,
    posts: Iterable[str] = (),
    articles: Iterable[str] = (),
    model: Path | None = None,
    others: Iterable[Path | None] = (),
) -> list[Path | None]:
    """The files behind what a user named; see `check_output`."""
    from siamese_news.data.articles import SUFFIXES as ARTICLES
    from siamese_news.data.readers.inputs import input_paths
    from siamese_news.data.readers.stream import SUFFIXES as POSTS

    found = [*input_paths(posts, POSTS), *input_paths(articles, ARTICLES), *others]
    return found if model is None else [*found, *model.rglob("*")]


def check_query_output(query: "Query", *, force: bool) -> None:
    """Check the output of a search; see `check_output`.

    Args:
        query: the search.
        force: replace an existing file.
    """
    index = query.index.rglob("*") if query.index else ()
    read = files_read(
        posts=query.posts,
        articles=[*query.articles, *query.negatives],
        model=query.model,
        others=[path for path in index if path.is_file()],
    )
    check_output(query.out, read, force=force)


def rejected_file(out: Path | None) -> Path | None:
    """The file for rejected rows, next to the output if that is a file."""
    from siamese_news.utils.files import is_stream

    if out is None or is_stream(out):
        return None
    return out.with_name(out.name + ".rejected.jsonl")


def _beside(out: Path) -> list[Path]:
    names = (".meta.json", ".rejected.jsonl", ".part", ".part.json")
    return [out.with_name(out.name + name) for name in names]


def _identity(path: Path) -> tuple[int, int]:
    """Two names of one file, by whatever links, have one identity."""
    found = path.stat()
    return found.st_dev, found.st_ino


def _replaceable(path: Path, out: Path) -> bool:
    """Whether a file is what an earlier run of ours wrote, byte for byte as far as is known."""
    from siamese_news.utils.files import file_sha256

    if path == out:
        unfinished = out.with_name(out.name + ".part.json")
        if unfinished.exists() and "job" in _object(unfinished):
            return True  # it was there when that run began, and was allowed to go
        known = _object(out.with_name(out.name + ".meta.json")).get("sha256")
        return known == file_sha256(out) if known else _starts_with_html(path)
    if path.name.endswith(".meta.json"):
        return "provenance" in _object(path)
    if path.name.endswith(".rejected.jsonl"):
        with path.open("rb") as stream:
            first = stream.readline(2**20)
        return not first or first.startswith(b'{"source": ')
    if path.name.endswith(".part"):
        return not path.stat().st_size or path.with_name(path.name + ".json").exists()
    return True  # an unfinished run: it is never replaced, but gone on with or refused


def _starts_with_html(path: Path) -> bool:
    with path.open("rb") as stream:
        return _HTML in stream.read(2**12)


def _object(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
