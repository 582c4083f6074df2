"""Lines of bounded length, and the error of a bad row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary

# Longest line in bytes; a file that is one line of gigabytes must not fill the memory.
LINE_CAP = 16 * 2**20

# Longest line that is skipped; beyond it a file is not lines at all.
_SKIP_CAP = 2**30


class BadRow(Exception):
    """A row that cannot be used.

    The reason is a few words out of a small set, to count by, and the message has the value, the
    expectation, and the remedy.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@contextmanager
def refused_at(location: str) -> Iterator[None]:
    """Turn the `BadRow` of a record into an `InputError` that begins with its place."""
    try:
        yield
    except BadRow as bad:
        raise InputError(f"{location}: {bad.message}") from bad
    except RecursionError as error:
        raise InputError(
            f"{location}: nested too deeply; expected a flat object"
        ) from error


def raw_lines(stream: Any) -> Iterator[tuple[int, bytes | BadRow]]:
    """Yield (line number from 1, line with its end), holding at most `LINE_CAP` bytes.

    The stream needs only ``readline(limit)``. Neither the size of a file nor how far it expands is
    capped, for honest dumps are large and repeat themselves; a line is. A longer one is a `BadRow`
    and is skipped. If its end does not come for 1 GiB, or the stream is damaged, the `BadRow` is
    the last item. A byte order mark is dropped.
    """
    number = 0
    try:
        while line := stream.readline(LINE_CAP + 1):
            number += 1
            if len(line) > LINE_CAP:
                size = len(line)
                while line and line[-1:] != b"\n" and size <= _SKIP_CAP:
                    line = stream.readline(LINE_CAP)
                    size += len(line)
                endless = size > _SKIP_CAP
                consequence = "; the rest of the file is not read" if endless else ""
                message = (
                    f"the line is longer than {LINE_CAP:,} bytes; expected one record on each line: "
                    f"is this one large JSON array?{consequence}"
                )
                yield number, BadRow("line too long", message)
                if endless:
                    return
                continue
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except (EOFError, OSError) as error:
        message = (
            f"cannot be read further ({error}); the file is damaged or cut off: fetch or make it "
            "again"
        )
        yield number + 1, BadRow("damaged file", message)


def decode_text(line: bytes) -> str:
    """The line without its end.

    Raises:
        BadRow: for bytes that are not UTF-8.
    """
    return decode_whole(line).rstrip("\r\n")


def decode_whole(line: bytes) -> str:
    """The line with its end; for a table, in which it may belong to a cell.

    Raises:
        BadRow: for bytes that are not UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise BadRow(
            "not UTF-8", f"byte {error.start} is not UTF-8; convert the file to UTF-8"
        ) from error


def read_lines(
    path: str | Path,
    decode: Callable[[bytes], Any] = decode_text,
    *,
    name: str | Path | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, line without its end) of a plain, gz or zst UTF-8 file.

    Another `decode` makes other values of the lines. Messages call the file `name`, or by its path.

    Raises:
        InputError: for a missing, empty, truncated or damaged file, a line longer than `LINE_CAP`,
            and one that `decode` refuses with a `BadRow`, such as bytes that are not UTF-8.
    """
    number = 0
    with open_binary(path) as stream:
        try:
            for number, line in raw_lines(stream):
                if isinstance(line, BadRow):
                    raise line
                yield number, decode(line)
        except BadRow as bad:
            raise InputError(f"{name or path}:{number}: {bad.message}") from bad
