"""Which ids came before: exact, in 12 bytes of memory a slot."""

import tempfile
from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

Integers = NDArray[np.int64]

_EMPTY = 0
_LOAD = 0.7  # share of the slots in use before the table doubles
_MARK = 16  # every so many ids, where it stands in the file
_CHUNK = 2**20


class SeenIds:
    """A growing set of ids (strings without white space) that keeps the strings on disk.

    The table is open addressing over 64-bit hashes, filled a block at a time by numpy: 10 million
    ids take 201 MB, where a Python set of them takes over a gigabyte. Two ids may have one hash, so
    a hit is compared with the real id: its number stands beside the hash, and a temporary file has
    all ids in the order of their numbers. An id whose hash belongs to another one goes into a small
    ordinary set.

    Args:
        hasher: 64-bit hash of a string.
    """

    def __init__(self, hasher: Callable[[str], int] = hash) -> None:
        self._hasher = hasher
        self._allocate(2**14)
        self._used = 0
        self._same_hash: set[str] = set()
        self._file = tempfile.TemporaryFile(buffering=0)
        self._total = 0
        self._end = 0
        self._marks = array("q")

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def add(self, ids: Sequence[str]) -> list[int]:
        """Add ids; the indexes of those that came before, in this call or an earlier one."""
        if not ids:
            return []
        hashes = np.fromiter(map(self._hasher, ids), np.int64, len(ids))
        hashes[hashes == _EMPTY] = 1
        own = self._write(ids)
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        self._grow(len(unique))
        slots, new = self._insert(unique)
        self._numbers[slots[new]] = own[first[new]]
        self._used += int(new.sum())
        holders = self._numbers[slots][inverse]
        return [
            index
            for index in np.flatnonzero(holders != own).tolist()
            if not self._is_new(ids[index], int(holders[index]))
        ]

    def _is_new(self, value: str, number: int) -> bool:
        """Whether a hit is another id with the same hash; it is remembered then."""
        if self._read(number) == value.encode() or value in self._same_hash:
            return False
        self._same_hash.add(value)
        return True

    def _read(self, number: int) -> bytes:
        mark, index = divmod(number, _MARK)
        start = self._marks[mark]
        end = self._marks[mark + 1] if mark + 1 < len(self._marks) else self._end
        self._file.seek(start)
        return self._file.read(end - start).split(b"\n", index + 1)[index]

    def _write(self, ids: Sequence[str]) -> NDArray[np.uint32]:
        """Append the ids to the file; their numbers."""
        joined = "\n".join([*ids, ""]).encode()
        ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == ord("\n")) + 1 + self._end
        starts = np.concatenate(([self._end], ends[:-1]))
        self._marks.extend(starts[-self._total % _MARK :: _MARK].tolist())
        data = memoryview(joined)
        try:
            self._file.seek(self._end)
            while data:  # an unbuffered file may take less than it is given
                data = data[self._file.write(data) :]
        except OSError as error:
            raise InputError(
                f"{tempfile.gettempdir()}: the ids of the posts cannot be kept there ({error}); "
                "free some space, or set TMPDIR to a folder that has some"
            ) from error
        self._end = int(ends[-1])
        self._total += len(ids)
        return np.arange(self._total - len(ids), self._total, dtype=np.uint32)

    def _insert(self, hashes: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """The slot of each of these different hashes, and whether it was not there before."""
        mask = len(self._hashes) - 1
        slots = hashes & mask
        new = np.zeros(len(hashes), bool)
        pending = np.arange(len(hashes))
        while len(pending):
            at, wanted = slots[pending], hashes[pending]
            empty = self._hashes[at] == _EMPTY
            # Where several want one slot the last one has it; the others look further.
            self._hashes[at[empty]] = wanted[empty]
            found = self._hashes[at] == wanted
            new[pending[found & empty]] = True
            pending = pending[~found]
            slots[pending] = (slots[pending] + 1) & mask
        return slots, new

    def _grow(self, more: int) -> None:
        size = len(self._hashes)
        while self._used + more > _LOAD * size:
            size *= 2
        if size == len(self._hashes):
            return
        hashes, numbers = self._hashes, self._numbers
        self._allocate(size)
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            used = part != _EMPTY
            slots, _ = self._insert(part[used])
            self._numbers[slots] = numbers[start : start + _CHUNK][used]

    def _allocate(self, size: int) -> None:
        self._hashes: Integers = np.zeros(size, np.int64)
        self._numbers: NDArray[np.uint32] = np.zeros(size, np.uint32)
