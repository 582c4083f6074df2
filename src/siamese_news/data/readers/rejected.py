"""Counts of what was read, and the file of the rows that could not be."""

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from siamese_news.data.lines import BadRow
from siamese_news.utils.files import atomic_write
from siamese_news.utils.terminal import counted

_KEPT = 1000  # characters of a row


@dataclass(slots=True)
class Counts:
    """Counts of the rows read so far.

    Attributes:
        read: posts.
        empty: how many of them have an empty text.
        skipped: records without a post: reposts without a text, likes, deletions, posts whose text
            is gone.
        reasons: rejected rows by reason.
        unreadable: files of a folder that could not be read.
    """

    read: int = 0
    empty: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def rejected(self) -> int:
        """Rows that could not be used."""
        return sum(self.reasons.values())

    def __str__(self) -> str:
        """A summary such as ``1,000 posts read, 3 rows rejected (2 not JSON, 1 duplicate id)``."""
        words = f"{counted(self.read, 'post')} read"
        if self.empty:
            words += f" ({self.empty:,} with an empty text)"
        if self.skipped:
            skipped = counted(self.skipped, "record")
            words += f", {skipped} without a post skipped (reposts, likes and the like)"
        if self.reasons:
            most = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
            listed = ", ".join(f"{count:,} {reason}" for reason, count in most)
            words += f", {counted(self.rejected, 'row')} rejected ({listed})"
        if self.unreadable:
            words += f", {counted(self.unreadable, 'unreadable file')} left out"
        return words


@dataclass(frozen=True, slots=True)
class Rejection:
    """One row that could not be used."""

    source: str
    line: int
    bad: BadRow
    row: str


def line_of(rejection: Rejection) -> bytes:
    """A rejected row as a line of JSON."""
    record = {
        "source": rejection.source,
        "line": rejection.line,
        "reason": rejection.bad.reason,
        "detail": rejection.bad.message,
        "row": rejection.row,
    }
    text = json.dumps(record, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def shown(row: Any) -> str:
    """The beginning of a row, whatever it is."""
    if isinstance(row, bytes):
        return row[:_KEPT].decode("utf-8", "backslashreplace").rstrip("\r\n")
    if not isinstance(row, str):
        try:
            row = json.dumps(row, ensure_ascii=False, default=str)
        except RecursionError:
            row = ""
    return row[:_KEPT].encode("utf-8", "backslashreplace").decode()


class RejectedFile:
    """JSON lines ``source, line, reason, detail, row``, complete at the end or unchanged.

    Without a rejected row no file is made, and one from an earlier run is emptied.

    Args:
        path: the file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._context: AbstractContextManager[IO[str]] | None = None
        self._stream: IO[str] | None = None
        if path is not None and path.exists():
            self._open()

    def write(self, rejection: Rejection) -> None:
        """Add a row."""
        if self._path is None:
            return
        if self._stream is None:
            self._open()
        assert self._stream is not None
        self._stream.write(line_of(rejection).decode())

    def close(self, error: BaseException | None = None) -> None:
        """Put the file in its place; after an error, leave what was there before."""
        context, self._context, self._stream = self._context, None, None
        if context is not None:
            context.__exit__(type(error) if error else None, error, None)

    def _open(self) -> None:
        assert self._path is not None
        self._context = atomic_write(self._path)
        self._stream = self._context.__enter__()
