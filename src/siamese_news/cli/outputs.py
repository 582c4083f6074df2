"""How and where a command writes: never over its inputs, over other files only with --force."""

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from siamese_news.errors import InputError
from siamese_news.search.query import Query
from siamese_news.utils.checked_json import read_object
from siamese_news.utils.choices import Format
from siamese_news.utils.files import atomic_write, file_sha256, is_stream, write_json
from siamese_news.utils.provenance import command, provenance

OUTPUT_PANEL = "What is written"
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace an existing file.", rich_help_panel=OUTPUT_PANEL
    ),
]

_ENDINGS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".trec": "trec",
    ".run": "trec",
    ".txt": "table",
}
_HTML = b'<meta name="generator" content="siamese_news'


def format_of(
    query: Query, default: Format | None, among: Sequence[Format] = get_args(Format)
) -> Query:
    """The query with its format, else that of the file's ending, else the default.

    An ending of a format that is not `among` those of the command, or the name of a folder, is an
    `InputError`.
    """
    format = query.format
    out = query.out
    if out is not None and out.is_dir():
        raise InputError(f"{out}: is a folder; expected the name of a file to write")
    if format is None and out is not None:
        name = out.name.lower().removesuffix(".gz")
        format = next(
            (
                format_named
                for ending, format_named in _ENDINGS.items()
                if name.endswith(ending)
            ),
            None,
        )
    if out is not None and format not in among:
        *endings, last_ending = [
            ending for ending, format_named in _ENDINGS.items() if format_named in among
        ]
        raise InputError(
            f"{out}: is of no format that this command writes; expected a name that ends in "
            f"{', '.join(endings)} or {last_ending}"
            + (", or --format" if default else "")
        )
    # A missing library is better reported before the search.
    if format == "parquet":
        import pyarrow  # noqa: F401
    return replace(query, format=format or default)


def check_output(
    out: Path | None, inputs: Iterable[Path | None], *, force: bool
) -> None:
    """Check that an output and the files that go with it overwrite nothing of the user's.

    Unchanged results of an earlier search, and reports, may be replaced, and with `force` any file
    that is not one of the inputs. Standard input and the terminal are None.

    Raises:
        InputError: the output is one of the inputs, is not a regular file or in one, or exists.
    """
    if out is None or is_stream(out):
        return
    for parent in out.parents:
        if parent.exists() and not parent.is_dir():
            raise InputError(
                f"{out}: {parent} is a file, not a folder; name another file with --out"
            )
    input_files = {
        _identity(path): path for path in inputs if path is not None and path.exists()
    }
    existing = [
        path
        for name in ("", ".meta.json", ".rejected.jsonl")
        if (path := out.with_name(out.name + name)).exists()
    ]
    for path in existing:
        source = input_files.get(_identity(path))
        if source is not None:
            relation = (
                "is" if path == out else f"would also write {path.name}, which is"
            )
            raise InputError(
                f"{out}: {relation} one of the input files ({source}); name another file with --out"
            )
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "not a regular file"
            raise InputError(f"{path}: is {kind}; expected the name of a file to write")
    for path in existing:
        if not force and not _replaceable(path, out):
            raise InputError(
                f"{path}: already exists, and an earlier run of this program did not write it (or "
                "it was changed since); name another file with --out, or replace it with --force"
            )


@contextmanager
def open_output(out: Path | None, format: str) -> Iterator[tuple[Any, bool]]:
    """The stream of an output, and whether it is a terminal; a file appears whole or not at all."""
    from siamese_news.search.result_files import BINARY

    binary = format in BINARY
    if out is None:
        if format != "table" and isinstance(sys.stdout, io.TextIOWrapper):
            # As in a file, whatever the console shows.
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout.buffer if binary else sys.stdout, sys.stdout.isatty()
        return
    with atomic_write(out, "wb" if binary else "w") as stream:
        yield stream, False


def write_meta(out: Path | None, **facts: object) -> None:
    """Write ``<out>.meta.json``, by which `check_output` knows a file of ours when it comes again.

    Nothing is written for the terminal, a pipe or a device.
    """
    if out is not None and not is_stream(out):
        meta = {"command": command(), "provenance": provenance(), **facts}
        write_json(
            out.with_name(out.name + ".meta.json"), meta | {"sha256": file_sha256(out)}
        )


def files_read(query: Query, *files: Path | None) -> list[Path | None]:
    """The files that a command reads for a query, and others; see `check_output`."""
    from siamese_news.data.articles import SUFFIXES as ARTICLES
    from siamese_news.data.readers.inputs import input_paths
    from siamese_news.data.readers.stream import SUFFIXES as POSTS

    folders = [folder for folder in (query.model, query.index) if folder is not None]
    return [
        *input_paths(query.posts, POSTS),
        *input_paths([*query.articles, *query.negatives], ARTICLES),
        *files,
        *(path for folder in folders for path in folder.rglob("*") if path.is_file()),
    ]


def check_query_output(query: Query, *files: Path | None, force: bool) -> None:
    """Check the output of a search, which may read other files, too; see `check_output`.

    Raises:
        InputError: as `check_output`, and for an output inside the index that is searched.
    """
    out = query.out
    index = query.index
    if (
        out is not None
        and index is not None
        and out.resolve().is_relative_to(index.resolve())
    ):
        raise InputError(
            f"{out}: is inside the index {index}, which has its own files; name a file outside it "
            "with --out"
        )
    check_output(query.out, files_read(query, *files), force=force)


def _identity(path: Path) -> tuple[int, int]:
    """Two names of one file, by whatever links, have one identity."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _replaceable(path: Path, out: Path) -> bool:
    """Whether an earlier run of ours wrote a file, byte for byte as far as is known."""
    if path == out:
        unfinished = out.with_name(out.name + ".part") / "work.json"
        if unfinished.exists() and _start(unfinished).startswith(b'{"job": '):
            # It existed when that run began, which was allowed to replace it.
            return True
        written_hash = read_object(out.with_name(out.name + ".meta.json")).get("sha256")
        return (
            written_hash == file_sha256(out) if written_hash else _HTML in _start(path)
        )
    if path.name.endswith(".meta.json"):
        return "provenance" in read_object(path)
    start = _start(path)  # of the rejected rows
    return not start or start.startswith(b'{"source": ')


def _start(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(2**12)
