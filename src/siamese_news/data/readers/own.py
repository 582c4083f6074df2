"""Which files this package's own commands wrote: they are no dumps of posts."""

import csv
from pathlib import Path
from typing import Any

import orjson

from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary

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
