"""Rows of an Excel file (.xlsx), by openpyxl, streamed."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.office import Oversized, check_parts
from siamese_news.data.readers.delimited import Table, header_of
from siamese_news.data.readers.fields import Choice, Record
from siamese_news.data.readers.inputs import Input
from siamese_news.errors import InputError
from siamese_news.utils.extras import optional
from siamese_news.utils.terminal import counted, verb

_HELD = 2**28  # bytes of all parts but the sheets, such as the table of strings
_EXACT = 10**15  # Excel keeps 15 digits of a number
_PARSING = (zipfile.BadZipFile, zlib.error, SyntaxError, EOFError, OSError)
_BROKEN = (*_PARSING, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def is_sheet(source: Input) -> bool:
    """Whether a zip archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(_file(source)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except _BROKEN:
        return False


def sheet_layout(source: Input, choice: Choice) -> tuple[str, Table, str, list[Record]]:
    """The sheet with posts: its title, its columns, a description for people, and its first rows.

    It is the first one with known names of columns, or with the user's; else the first with a row.

    Raises:
        InputError: openpyxl is not installed; the file is damaged, empty, or made to fill memory.
    """
    book = _open(source)
    try:
        looks = [
            (sheet.title, *_first_rows(sheet, choice.texts))
            for sheet in book.worksheets
        ]
    except _BROKEN as error:
        raise _damaged(source, error) from error
    finally:
        book.close()
    filled = [look for look in looks if any(map(any, look[1]))]
    if not filled:
        raise InputError(
            f"{source.name}: all sheets are empty, expected a header and rows"
        )
    title, rows, at, _ = next((look for look in filled if look[-1]), filled[0])
    description = f"Excel, sheet '{title}'" + (
        f", header in row {at + 1}" if at else ""
    )
    if unread_sheets := len(looks) - 1:
        unread = counted(unread_sheets, "other sheet")
        description += f"; {unread} {verb(unread_sheets, 'are')} not read"
    records = [
        {n: v for n, v in zip(rows[at], row, strict=False) if n}
        for row in rows[at + 1 :]
    ]
    return title, Table(tuple(rows[at]), "", False, at), description, records


def sheet_rows(
    source: Input, title: str, table: Table
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """Yield (row from 1, record, the record again) after the header."""
    book = _open(source)
    number = 0
    try:
        for number, row in enumerate(book[title].iter_rows(values_only=True), 1):
            if number <= table.header_row + 1 or not any(
                cell is not None for cell in row
            ):
                continue
            cells = {n: _cell(v) for n, v in zip(table.names, row, strict=False) if n}
            yield number, cells, {n: str(v) for n, v in cells.items()}
    except _BROKEN as error:
        yield (
            number + 1,
            BadRow("damaged file", f"cannot be read further ({error})"),
            "",
        )
    finally:
        book.close()


def _open(source: Input) -> Any:
    needing = f"{source.name}: an Excel file"
    otherwise = "save the sheet as CSV UTF-8"
    openpyxl = optional("openpyxl", "office", needing, otherwise)
    try:
        with zipfile.ZipFile(_file(source)) as archive:
            check_parts(archive, _HELD)
        return openpyxl.load_workbook(
            _file(source), read_only=True, data_only=True, keep_links=False
        )
    except Oversized as error:
        raise InputError(
            f"{source.name}: {error}, which is more than a sheet holds; the file is made to fill "
            "the memory, or should be saved as CSV"
        ) from error
    except _BROKEN as error:
        raise _damaged(source, error) from error


def _file(source: Input) -> str:
    assert source.path is not None
    # A spooled pipe has no name that ends in .xlsx, so openpyxl gets the open file.
    return source.path.open("rb")  # type: ignore[return-value]


def _first_rows(sheet: Any, texts: Sequence[str]) -> tuple[list[list[str]], int, bool]:
    """The first rows, the index of the header, and whether it has known names or the `texts`.

    A header with other names is the first row, or the first below rows with one title.
    """
    cell_rows = islice(sheet.iter_rows(values_only=True), 20)
    rows = [
        ["" if cell is None else str(cell).strip() for cell in row] for row in cell_rows
    ]
    at = header_of(rows)
    has_header = at is not None
    if at is None:
        title = rows and rows[0][0] and not any(rows[0][1:])
        filled = (row for row, cells in enumerate(rows) if sum(map(bool, cells)) > 1)
        at = next(filled, 0) if title else 0
    return rows, at, {*texts} <= {*rows[at]} if texts and rows else has_header


def _damaged(source: Input, error: BaseException) -> InputError:
    return InputError(
        f"{source.name}: not an Excel file that can be read ({error}); save it again"
    )


def _cell(value: Any) -> Any:
    """A cell as a CSV would have it; a number of more digits than Excel keeps becomes a fraction."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, int) and abs(value) >= _EXACT:
        return float(value)  # refused as an id: its last digits are zeros
    return value
