"""Records of CSV and TSV files."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.fields import Record

FIELD_CAP = 2**20
"""Longest field in characters: one quotation mark too many must not swallow a whole file."""

TABLES = (".csv", ".tsv", ".tab")
"""The endings of tables."""

_TABS = (".tsv", ".tab")
# A column between quotation marks; those inside are doubled.
_WHOLE = re.compile(r'"[^"]*(?:""[^"]*)*"')
# What surrogateescape makes of bytes that are not UTF-8; no valid UTF-8 decodes to these.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Table:
    """How a CSV or TSV is written.

    Attributes:
        names: the header's columns; none where the first line is no header of any table.
        delimiter: between columns.
        quoted: whether a quotation mark can hold a column together.
    """

    names: tuple[str, ...]
    delimiter: str
    quoted: bool


def table_layout(lines: Sequence[str], suffix: str) -> Table:
    """What the first lines of a file tell; `suffix` is its ending, in lower case."""
    delimiter = "\t"
    if suffix not in _TABS:
        delimiter = max("\t,;|", key=lambda mark: len(_cells(lines[0], mark)))
    names = tuple(_cells(lines[0], delimiter))
    # Many a TSV knows no quoting; a CSV without it could hold no comma.
    return Table(names, delimiter, delimiter != "\t" or _quoted(lines, delimiter, len(names)))


def _cells(header: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _quoted(lines: Sequence[str], delimiter: str, columns: int) -> bool:
    """Whether a quotation mark holds a column together, or is a character like any other.

    It is one like any other where each line is a row by itself and some column begins with a mark
    that does not end it.
    """
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
    except csv.Error:
        return True
    if any(len(row) not in (0, columns) for row in rows):
        return True
    return all(_WHOLE.fullmatch(value) for row in rows for value in row if value[:1] == '"')


def table_rows(
    stream: IO[bytes], table: Table
) -> Iterator[tuple[int, Record | BadRow, list[str] | str]]:
    """Yield (line, record, the row as it came) after the header; blank lines are skipped."""
    # The csv module has one limit for the process: it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_CAP))
    bad: list[tuple[int, BadRow]] = []
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in raw_lines(stream):
            last = number
            if isinstance(line, BadRow):
                bad.append((number, line))
            else:
                yield line.decode("utf-8", "surrogateescape")

    quoting: Any = csv.QUOTE_MINIMAL if table.quoted else csv.QUOTE_NONE
    reader = csv.reader(lines(), delimiter=table.delimiter, quoting=quoting)
    width = len(table.names)
    header = True
    while True:
        start = last + 1
        row: list[str] | None = []
        try:
            row = next(reader, None)
        except csv.Error as error:
            yield start, BadRow("broken row", f"not CSV: {error}{_span(start, last)}"), ""
        for number, complaint in bad:
            yield number, complaint, ""
        bad.clear()
        if row is None:
            return
        if not row:
            continue
        if header:
            header = False
            continue
        if len(row) != width:
            if len(row) < width or any(row[width:]):
                message = f"{len(row)} columns, expected {width}{_span(start, last)}"
                yield start, BadRow("wrong number of columns", message), row
                continue
        record = dict(zip(table.names, row, strict=False))
        joined = "".join(row)
        if not joined.isascii() and _NOT_UTF8.search(joined):
            message = "bytes that are not UTF-8; convert the file to UTF-8"
            yield start, BadRow("not UTF-8", message), row
            continue
        yield start, record, row


def _span(first: int, last: int) -> str:
    """Where a row takes several lines, which: a quotation mark may be missing."""
    return f" (lines {first} to {last}: is a quotation mark missing?)" if last > first else ""
