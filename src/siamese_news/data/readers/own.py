"""Which files this package's own commands wrote: they are no dumps of posts."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import Record
from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary
from siamese_news.utils.spreadsheet import unguarded

RESULTS = ("article", "rank", "score", "post")
"""The first columns of what ``rank`` and ``filter`` write."""

_LINE = 2**20  # of a first line; results have long texts
_OTHERS = (
    ("rank", "term", "adds", "found"),  # keywords
    ("article", "post", "score", "kind"),  # explain
)
_BESIDE = (b'{\n "command": ', b'{"job": {"version": ')  # <out>.meta.json and <out>.part.json


def is_results(names: Any) -> bool:
    """Whether these are the columns of what ``rank`` or ``filter`` wrote."""
    return set(RESULTS) <= set(names)


def as_written(
    rows: Iterator[tuple[int, Record | BadRow, Any]], names: Sequence[str]
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """The rows of a table; those of our own results without the apostrophes against formulas.

    Args:
        rows: line, record, the row as it came.
        names: the columns of the table.
    """
    if not is_results(names):
        yield from rows
        return
    for line, record, row in rows:
        if not isinstance(record, BadRow):
            record = {
                name: unguarded(value) if isinstance(value, str) else value
                for name, value in record.items()
            }
        yield line, record, row


def is_own(path: Path) -> bool:
    """Whether a file is one that a command of ours wrote: results, keywords, what lies beside."""
    try:
        if path.suffix in (".parquet", ".pq"):
            return is_results(_parquet_names(path))
        with open_binary(path) as stream:
            line = stream.readline(_LINE)
            if line == b"{\n":
                line += stream.readline(_LINE)
    except (InputError, OSError, EOFError):
        return False
    if line.startswith(_BESIDE):
        return True
    names = _names(line.removeprefix(b"\xef\xbb\xbf"))
    return is_results(names) or any(set(columns) <= set(names) for columns in _OTHERS)


def _names(line: bytes) -> list[str]:
    """The columns of a file whose first line this is."""
    if line.startswith(b"{"):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            return []
        return list(record) if isinstance(record, dict) else []
    try:
        return next(csv.reader([line.decode("utf-8", "replace").rstrip("\r\n")]), [])
    except csv.Error:
        return []


def _parquet_names(path: Path) -> list[str]:
    import pyarrow.parquet

    try:
        return list(pyarrow.parquet.read_schema(path).names)
    except (OSError, ValueError):
        return []
