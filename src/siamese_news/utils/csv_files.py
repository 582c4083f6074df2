"""The one way in which CSV files are written."""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any

from siamese_news.utils.terminal import guarded

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def write_csv(
    stream: IO[str],
    header: Sequence[str],
    rows: Iterable[Iterable[Any]],
    *,
    bom: bool = False,
) -> None:
    r"""Write a header and rows as they come; lines end with ``\n``.

    Texts are `guarded`, except numbers, and None is an empty cell. `bom` begins the file with a
    UTF-8 byte order mark, by which Excel recognizes UTF-8.

    Example:
        >>> import io
        >>> from siamese_news.utils.csv_files import write_csv
        >>> stream = io.StringIO()
        >>> write_csv(stream, ["id", "text"], [["1", "two\rlines"], ["2", "=SUM(A1)"]])
        >>> stream.getvalue()
        "id,text\n1,\"two\rlines\"\n2,'=SUM(A1)\n"
    """
    stream.write("\ufeff" * bom)
    writer = csv.writer(_UnixLines(stream), lineterminator=_END)
    writer.writerow(header)
    for row in rows:
        writer.writerow(map(_cell, row))


def _cell(value: Any) -> Any:
    # A number such as -0.5 begins like a formula and is none.
    return (
        guarded(value)
        if isinstance(value, str) and not _NUMBER.fullmatch(value)
        else value
    )


# The writer quotes the characters of its line end and no others, but readers of CSV end a line at
# a carriage return as well. So its line end has both characters, and the file's has one.
_END = "\r\n"


class _UnixLines:
    """A stream of rows whose line ends become those of Unix."""

    def __init__(self, stream: IO[str]) -> None:
        self._write = stream.write

    def write(self, row: str) -> int:
        return self._write(row.removesuffix(_END) + "\n")
