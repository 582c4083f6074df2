"""Records of CSV and TSV files; a stray quotation mark costs only its own line."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.fields import IDS, METADATA, TEXTS, Record, normal
from siamese_news.errors import InputError

# Longest field in characters: one quotation mark too many must not swallow a whole file.
FIELD_CAP = 2**20

# The endings of tables.
TABLES = (".csv", ".tsv", ".tab")

_TABS = (".tsv", ".tab")
_PREAMBLE = 20  # lines about an export that may precede the header
# A column between quotation marks; those inside are doubled.
_WHOLE = re.compile(r'"[^"]*(?:""[^"]*)*"')
# surrogateescape decodes bytes that are not UTF-8 to these; no valid UTF-8 decodes to them.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
# A quotation mark behind an odd number of backslashes, as MySQL, Spark and R write it.
_ESCAPED_MARK = re.compile(r'(?<!\\)((?:\\\\)*)\\"')


@dataclass(frozen=True, slots=True)
class Table:
    """The layout of a CSV or TSV."""

    names: tuple[str, ...]  # of the columns; empty if the first line is not a header
    delimiter: str
    quoted: bool  # whether a quotation mark can hold a column together
    header_row: int = 0  # rows before the header
    # Whether a backslash, not a second mark, precedes a mark in a column.
    escaped: bool = False


def table_layout(lines: Sequence[str], suffix: str) -> Table:
    """The layout of a table by its first lines."""
    rows = [_cells(line, _delimiter(line, suffix)) for line in lines[:_PREAMBLE]]
    row = header_of(rows) or 0
    # Lines about an export have fewer cells than its header; a spreadsheet adds empty ones.
    filled = [sum(map(bool, cells)) for cells in rows[: row + 1]]
    row = row if all(count < filled[row] for count in filled[:row]) else 0
    delimiter = _delimiter(lines[row], suffix)
    names = tuple(_cells(lines[row], delimiter))
    quoted = delimiter != "\t" or _quoted(lines[row:], delimiter, len(names))
    # Many TSV files use no quoting; a CSV without it could not contain a comma.
    escaped = quoted and _escaped(lines[row:], delimiter, len(names))
    return Table(names, delimiter, quoted, row, escaped)


def header_of(rows: Sequence[Sequence[str]]) -> int | None:
    """The index of the header among the first rows: the first with known names."""
    for number, row in enumerate(rows[:_PREAMBLE]):
        names = {normal(name) for name in row}
        known_names = names & {
            *IDS,
            *(name for options in METADATA.values() for name in options),
        }
        if len(names) > 1 and names & {*TEXTS} and (number == 0 or known_names):
            return number
    return None


def refuse_repeated(
    names: Sequence[str], used_names: Iterable[str], location: str
) -> None:
    """Refuse a table in which a used column has a name that another column has as well.

    Raises:
        InputError: there is one, so it is not clear which of the columns is meant.
    """
    for name in used_names:
        if list(names).count(name) > 1:
            raise InputError(
                f"{location}: two columns are called '{name}'; rename one of them"
            )


def _delimiter(line: str, suffix: str) -> str:
    if suffix in _TABS:
        return "\t"
    return max("\t,;|", key=lambda mark: len(_cells(line, mark)))


def _cells(header: str, delimiter: str) -> list[str]:
    try:
        return [
            name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])
        ]
    except csv.Error:
        return []


def _quoted(lines: Sequence[str], delimiter: str, columns: int) -> bool:
    """Whether a quotation mark holds a column together, or is a character like any other.

    It is an ordinary character if each line is a complete row and some column begins with a mark
    but does not end with one.
    """
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
    except csv.Error:
        return True
    if any(len(row) not in (0, columns) for row in rows):
        return True
    return all(
        _WHOLE.fullmatch(value) for row in rows for value in row if value[:1] == '"'
    )


def _escaped(lines: Sequence[str], delimiter: str, columns: int) -> bool:
    """Whether backslashes escape quotation marks.

    They do if that makes complete rows of all lines, and doubled marks do not.
    """
    if not any('\\"' in line for line in lines):
        return False
    doubled = [_ESCAPED_MARK.sub(r'\1""', line) for line in lines]
    return _complete(doubled, delimiter, columns) and not _complete(
        lines, delimiter, columns
    )


def _complete(lines: Sequence[str], delimiter: str, columns: int) -> bool:
    """Whether lines are rows with so many columns; a quoted column may have several lines."""
    text = [line.removesuffix("\n") + "\n" for line in lines]
    try:
        rows = list(csv.reader(text, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return all(len(row) in (0, columns) for row in rows)


def layout_of_file(stream: IO[bytes], name: str, suffix: str, unit: str) -> Table:
    """The layout of a table in UTF-8 with a `unit` in each row, such as ``a pair``.

    Raises:
        InputError: it has no line, or is in UTF-16.
    """
    start_lines = [line for _, line in islice(raw_lines(stream), 100)]
    lines = [
        line.decode("utf-8", "surrogateescape")
        for line in start_lines
        if isinstance(line, bytes) and line.strip()
    ]
    if not lines:
        raise InputError(
            f"{name}: no line in the file, expected a header and {unit} a row"
        )
    if "\0" in lines[0]:
        raise InputError(
            f"{name}: is in UTF-16, expected UTF-8; save the table as CSV UTF-8"
        )
    return table_layout(lines, suffix)


def table_rows(
    stream: IO[bytes], table: Table
) -> Iterator[tuple[int, Record | BadRow, list[str] | str]]:
    """Yield (line, record, the row as it came) after the header; blank lines are skipped.

    Of a quotation mark that is opened and not closed only its own line is lost: the rows that it
    would swallow are read again one by one.
    """
    width = len(table.names)
    header_rows = table.header_row + 1
    for start, row in _rows(stream, table):
        if isinstance(row, BadRow):
            yield start, row, ""
        elif header_rows:
            header_rows -= 1
        elif len(row) != width and (len(row) < width or any(row[width:])):
            message = f"{len(row)} columns, expected {width}"
            yield start, BadRow("wrong number of columns", message), row
        elif not (joined := "".join(row)).isascii() and _NOT_UTF8.search(joined):
            message = "not in UTF-8; convert the file or, for posts, name its --encoding (cp1252)"
            yield start, BadRow("not UTF-8", message), row
        else:
            yield start, dict(zip(table.names, row, strict=False)), row


def _rows(stream: IO[bytes], table: Table) -> Iterator[tuple[int, list[str] | BadRow]]:
    """(line from 1, row) of a table; `BadRow` for a line that is not a row."""
    # The csv module has one limit for the process: it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_CAP))
    lines = raw_lines(stream)
    row_lines: list[tuple[int, str]] = []  # the lines of the current row
    bad: list[
        tuple[int, BadRow]
    ] = []  # lines too long inside it, held until it is complete
    # Lines that a stray quotation mark swallowed.
    lines_again: deque[tuple[int, str]] = deque()

    def feed() -> Iterator[str]:
        while True:
            while lines_again:
                row_lines.append(lines_again.popleft())
                yield row_lines[-1][1]
            number, line = next(lines, (0, None))
            if line is None:
                return
            if isinstance(line, BadRow):
                bad.append((number, line))
                continue
            text = line.decode("utf-8", "surrogateescape")
            if table.escaped and '\\"' in text:
                text = _ESCAPED_MARK.sub(r'\1""', text)
            row_lines.append((number, text))
            yield text

    def reader() -> Iterator[list[str]]:
        quoting: Any = csv.QUOTE_MINIMAL if table.quoted else csv.QUOTE_NONE
        return csv.reader(
            feed(), delimiter=table.delimiter, quoting=quoting, strict=True
        )

    rows = reader()
    row: list[str] | None = []
    while row is not None:
        row_lines.clear()
        try:
            row = next(rows, None)
            complete = (
                row is None
                or len(row_lines) < 2
                or not _swallowed(row, row_lines, table)
            )
        except csv.Error:
            row = []
            complete = False
        if complete and row:
            number, line = row_lines[0]
            if len(row) != len(table.names) and '\\"' in line and len(row_lines) == 1:
                row = _with_escapes(line, table) or row
            yield number, row
        elif not complete:
            message = (
                "a quotation mark is opened here and not closed; the next lines are read as rows "
                "of their own: double the mark, or remove it"
            )
            (number, line), *swallowed = row_lines
            stray = BadRow("stray quotation mark", message)
            yield number, stray if swallowed else _lenient(line, table)
            lines_again.extendleft(reversed(swallowed))
            rows = reader()
        yield from bad
        bad.clear()


def _lenient(line: str, table: Table) -> list[str] | BadRow:
    """Read a line that is not strict CSV, such as one with a mark inside a quoted column."""
    if row := _with_escapes(line, table):
        return row
    # A quotation mark without a delimiter after it is one of the column's characters.
    end = re.escape(table.delimiter)
    column = rf'"((?:""|[^"]|"(?!{end}))*+)"{end}|([^{end}]*+){end}'
    cells = re.findall(column, line.rstrip("\r\n") + table.delimiter)
    if len(cells) == len(table.names):
        return [quoted.replace('""', '"') or bare for quoted, bare in cells]
    try:
        return next(csv.reader([line], delimiter=table.delimiter), [])
    except csv.Error as error:
        return BadRow("broken row", f"not CSV: {error}")


def _with_escapes(line: str, table: Table) -> list[str] | None:
    """The row of a line whose quotation marks are escaped by backslashes; None if it is not one."""
    if '\\"' not in line:
        return None
    doubled = _ESCAPED_MARK.sub(r'\1""', line)
    try:
        row = next(csv.reader([doubled], delimiter=table.delimiter, strict=True), [])
    except csv.Error:
        return None
    return row if len(row) == len(table.names) else None


def _swallowed(row: list[str], row_lines: list[tuple[int, str]], table: Table) -> bool:
    """Whether a row of several lines contains other rows.

    It does if it has another width, or if one of its lines is a complete row, with digits in the
    same columns.
    """
    width = len(table.names)
    if len(row) < width or any(row[width:]):
        return True
    if width < 3:
        return False
    top_cells, *lower_rows = (_cells(line, table.delimiter) for _, line in row_lines)
    digits = [column for column, cell in enumerate(top_cells[:width]) if cell.isdigit()]
    return bool(digits) and any(
        len(cells) == width and all(cells[column].isdigit() for column in digits)
        for cells in lower_rows
    )
