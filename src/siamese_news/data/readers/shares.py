"""How several readers share the same files, so that each row is read by exactly one of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TypeVar

# Bytes of a file of lines, and rows of another file, that go to one reader in turn.
_BYTES = 1 << 16
_ROWS = 512
_STEP = 1 << 20

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Share:
    """Part `index` (from 0) of `count` parts of the input."""

    index: int
    count: int

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of this part, out of all."""
        for number, row in enumerate(rows):
            if number // _ROWS % self.count == self.index:
                yield row


def owners(sizes: Sequence[int], count: int) -> list[int | None]:
    """The part that reads each file, by their sizes; None if each part reads some of its rows.

    Files too large for one part are shared by rows. The others, largest first, go whole to the part
    with the least so far, so that no part reads many files of which it needs little.
    """
    found: list[int | None] = [None] * len(sizes)
    fair = sum(sizes) / count
    loads = [0] * count
    for place in sorted(range(len(sizes)), key=lambda place: (-sizes[place], place)):
        if sizes[place] > fair / 2:
            continue
        found[place] = least = min(range(count), key=loads.__getitem__)
        loads[least] += sizes[place]
    return found


class SharedLines:
    """A stream of which only the lines of one part are read, the others skipped in bulk.

    A line belongs to the part in whose stretch of the stream its first byte lies.

    Attributes:
        skipped: how many lines were passed over so far.
    """

    def __init__(self, stream: IO[bytes], share: Share) -> None:
        self._stream, self._share = stream, share
        self._at = 0
        self._within = False  # a line that is read in pieces
        self.skipped = 0

    def readline(self, limit: int, /) -> bytes:
        """The next line of this part, or its first `limit` bytes; empty at the end."""
        if not self._within:
            self._forward()
        line = self._stream.readline(limit)
        self._at += len(line)
        self._within = bool(line) and not line.endswith(b"\n")
        return line

    def _forward(self) -> None:
        """Go on to the next line that is this part's."""
        while (turn := self._at // _BYTES) % self._share.count != self._share.index:
            wait = (self._share.index - turn) % self._share.count
            last = self._skip((turn + wait) * _BYTES - self._at)
            while last and last != b"\n":  # the rest of another part's line
                rest = self._stream.readline(_STEP)
                self._at += len(rest)
                last = rest[-1:]
                self.skipped += last == b"\n"
            if not last:
                return

    def _skip(self, size: int) -> bytes:
        """Skip so many bytes; the last one, empty where the stream ended before."""
        last = b""
        while size:
            piece = self._stream.read(min(size, _STEP))
            if not piece:
                return b""
            self.skipped += piece.count(b"\n")
            self._at += len(piece)
            size -= len(piece)
            last = piece[-1:]
        return last
