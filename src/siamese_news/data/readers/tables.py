"""Records of CSV and TSV files; a stray quotation mark costs only its own line."""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.fields import IDS, METADATA, TEXTS, Record, normal

FIELD_CAP = 2**20
"""Longest field in characters: one quotation mark too many must not swallow a whole file."""

TABLES = (".csv", ".tsv", ".tab")
"""The endings of tables."""

_TABS = (".tsv", ".tab")
_PREAMBLE = 20  # lines about an export that may precede the header
# A column between quotation marks; those inside are doubled.
_WHOLE = re.compile(r'"[^"]*(?:""[^"]*)*"')
# What surrogateescape makes of bytes that are not UTF-8; no valid UTF-8 decodes to these.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Table:
    """The layout of a CSV or TSV.

    Attributes:
        names: the header's columns; empty if the first line is not a header.
        delimiter: between columns.
        quoted: whether a quotation mark can hold a column together.
        header_row: rows before the header; -1 without a header.
    """

    names: tuple[str, ...]
    delimiter: str
    quoted: bool
    header_row: int = 0


def table_layout(lines: Sequence[str], suffix: str, *, header: Sequence[str] = ()) -> Table:
    """The layout of a table, by the first lines that are not blank.

    Args:
        lines: the lines.
        suffix: the ending of the file's name, in lower case.
        header: the columns of a table that is known to have no header.
    """
    if header:
        return Table(tuple(header), "\t", False, -1)
    row = _header_row(lines, suffix)
    delimiter = _delimiter(lines[row], suffix)
    names = tuple(_cells(lines[row], delimiter))
    quoted = delimiter != "\t" or _quoted(lines[row:], delimiter, len(names))
    # Many TSV files use no quoting; a CSV without it could not contain a comma.
    return Table(names, delimiter, quoted, row)


def header_of(rows: Sequence[Sequence[str]]) -> int:
    """The index of the header among the first rows: 0, or that of a later row with known names."""
    for number, row in enumerate(rows[:_PREAMBLE]):
        names = {normal(name) for name in row}
        others = names & {*IDS, *(name for options in METADATA.values() for name in options)}
        if len(names) > 1 and names & {*TEXTS} and (number == 0 or others):
            return number
    return 0


def _header_row(lines: Sequence[str], suffix: str) -> int:
    rows = [_cells(line, _delimiter(line, suffix)) for line in lines[:_PREAMBLE]]
    found = header_of(rows)
    # Lines about an export are shorter than its header.
    return found if all(len(row) < len(rows[found]) for row in rows[:found]) else 0


def _delimiter(line: str, suffix: str) -> str:
    if suffix in _TABS:
        return "\t"
    return max("\t,;|", key=lambda mark: len(_cells(line, mark)))


def _cells(header: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _quoted(lines: Sequence[str], delimiter: str, columns: int) -> bool:
    """Whether a quotation mark holds a column together, or is a character like any other.

    It is an ordinary character if each line is a row by itself and some column begins with a mark
    but does not end with one.
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
    """Yield (line, record, the row as it came) after the header; blank lines are skipped.

    Where a quotation mark is opened and not closed, the rows that it would swallow are read one by
    one again, and only the line that contains it is lost.
    """
    width = len(table.names)
    left = table.header_row + 1
    for start, row in _Rows(stream, table):
        if isinstance(row, BadRow):
            yield start, row, ""
            continue
        if not row:
            continue
        if left:
            left -= 1
            continue
        if len(row) != width and (len(row) < width or any(row[width:])):
            yield (
                start,
                BadRow("wrong number of columns", f"{len(row)} columns, expected {width}"),
                row,
            )
            continue
        record = dict(zip(table.names, row, strict=False))
        joined = "".join(row)
        if not joined.isascii() and _NOT_UTF8.search(joined):
            message = (
                "bytes that are not text in the encoding of the file; name the right one with "
                "--encoding, such as cp1252, or convert the file to UTF-8"
            )
            yield start, BadRow("not UTF-8", message), row
            continue
        yield start, record, row


class _Rows:
    """(line from 1, row) of a table; `BadRow` for a line that is not a row."""

    def __init__(self, stream: IO[bytes], table: Table) -> None:
        # The csv module has one limit for the process: it is only ever raised.
        csv.field_size_limit(max(csv.field_size_limit(), FIELD_CAP))
        self._table = table
        self._lines = raw_lines(stream)
        self._again: deque[tuple[int, str]] = deque()
        self._taken: list[tuple[int, str]] = []
        self._bad: list[tuple[int, BadRow]] = []
        self._digits: list[bool] | None = None

    def __iter__(self) -> Iterator[tuple[int, list[str] | BadRow]]:
        reader = self._reader()
        while True:
            self._taken.clear()
            broken = False
            row: list[str] | None = None
            try:
                row = next(reader, None)
            except csv.Error:
                broken = True
            # Held until the row is complete: it may contain a line that is too long.
            bad, self._bad = self._bad, []
            taken = list(self._taken)
            if broken or (row is not None and len(taken) > 1 and self._swallowed(row, taken)):
                if len(taken) == 1 or not taken:
                    yield self._lenient(taken)
                else:
                    start = taken[0][0]
                    yield (
                        start,
                        BadRow(
                            "stray quotation mark",
                            "a quotation mark is opened here and not closed; the next lines are "
                            "read as rows of their own: double the mark, or remove it",
                        ),
                    )
                    self._again.extendleft(reversed(taken[1:]))
                reader = self._reader()
                row = []
            if row:
                yield taken[0][0], row
            yield from bad
            if row is None:
                return

    def _reader(self) -> Any:
        quoting: Any = csv.QUOTE_MINIMAL if self._table.quoted else csv.QUOTE_NONE
        return csv.reader(
            self._feed(), delimiter=self._table.delimiter, quoting=quoting, strict=True
        )

    def _feed(self) -> Iterator[str]:
        while True:
            if self._again:
                item = self._again.popleft()
            else:
                found = next(self._lines, None)
                if found is None:
                    return
                number, line = found
                if isinstance(line, BadRow):
                    self._bad.append((number, line))
                    continue
                item = (number, line.decode("utf-8", "surrogateescape"))
            self._taken.append(item)
            yield item[1]

    def _lenient(self, taken: list[tuple[int, str]]) -> tuple[int, list[str] | BadRow]:
        """Read a line that is not strict CSV, such as one with a mark inside a quoted column."""
        number, line = taken[0] if taken else (0, "")
        try:
            return number, next(csv.reader([line], delimiter=self._table.delimiter), [])
        except csv.Error as error:
            return number, BadRow("broken row", f"not CSV: {error}")

    def _swallowed(self, row: list[str], taken: list[tuple[int, str]]) -> bool:
        """Whether a row of several lines holds other rows.

        It does where it has another width, or where a line of it is a row by itself, with digits in
        the same columns.
        """
        width = len(self._table.names)
        if len(row) < width or any(row[width:]):
            return True
        if width < 3:
            return False
        digits = [cell.isdigit() for cell in _cells(taken[0][1], self._table.delimiter)[:width]]
        if not any(digits):
            return False
        return any(
            len(cells) == width
            and all(cell.isdigit() for cell, digit in zip(cells, digits, strict=False) if digit)
            for _, line in taken[1:]
            for cells in [_cells(line, self._table.delimiter)]
        )
