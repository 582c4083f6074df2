"""Detects duplicate ids exactly, in nearly constant memory."""

import tempfile
from array import array
from collections.abc import Callable, Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

Integers = NDArray[np.int64]

_EMPTY = 0
_LOAD = 0.7  # share of the slots in use before the table doubles
_MARK = 16  # the place in the file is noted for every so many ids
_CHUNK = 2**20
_FEW = 64  # so many hashes find their slot one by one
_SLOTS = 2**23  # of the table in memory, at most
_STEP = 256  # of a run every so many hashes are in memory
_BITS = 8  # for each hash of a run, to tell at once that most others are not in it
_ROW = np.dtype([("hash", "<i8"), ("number", "<u4")])


def append(file: IO[bytes], data: bytes | memoryview) -> None:
    """Write all of the data at the file's position.

    Raises:
        InputError: the disk is full.
    """
    left = memoryview(data)
    try:
        while left:  # an unbuffered file may take less than it is given
            left = left[file.write(left) :]
    except OSError as error:
        raise InputError(
            f"{tempfile.gettempdir()}: the ids of the posts cannot be kept there ({error}); "
            "free some space, or set TMPDIR to a folder that has some"
        ) from error


class SortedRun:
    """Distinct hashes (N,) and their numbers (N,), sorted, in a file of which little is read."""

    def __init__(self, hashes: Integers, numbers: NDArray[np.uint32]) -> None:
        order = np.argsort(hashes)
        self._marks = hashes[order[::_STEP]]
        # The bits are those of the multiplied hash, for the table has used the lowest ones.
        self._shift = np.uint64(64 - max(3, int(len(hashes) * _BITS - 1).bit_length()))
        self._bits = np.zeros(1 << (64 - int(self._shift) - 3), np.uint8)
        self._file = tempfile.TemporaryFile(buffering=0)
        for start in range(0, len(order), _CHUNK):
            some = order[start : start + _CHUNK]
            rows = np.empty(len(some), _ROW)
            own = hashes[some]
            rows["hash"], rows["number"] = own, numbers[some]
            places = self._places(own)
            np.bitwise_or.at(self._bits, places >> 3, np.uint8(1) << (places & 7).astype(np.uint8))
            append(self._file, rows.view(np.uint8).data)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def find(self, hashes: Integers, numbers: Integers) -> None:
        """Set the numbers (N,) of those of the hashes (N,) that are here."""
        places = self._places(hashes)
        maybe = np.flatnonzero((self._bits[places >> 3] >> (places & 7).astype(np.uint8)) & 1)
        marks = np.searchsorted(self._marks, hashes[maybe], side="right") - 1
        for index, mark in zip(maybe.tolist(), marks.tolist(), strict=True):
            if mark < 0:
                continue
            self._file.seek(mark * _STEP * _ROW.itemsize)
            rows = np.frombuffer(self._file.read(_STEP * _ROW.itemsize), _ROW)
            at = int(np.searchsorted(rows["hash"], hashes[index]))
            if at < len(rows) and rows["hash"][at] == hashes[index]:
                numbers[index] = rows["number"][at]

    def _places(self, hashes: Integers) -> Integers:
        mixed = hashes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        places: Integers = (mixed >> self._shift).astype(np.int64)
        return places


class SeenIds:
    """A growing set of ids (strings without white space) that keeps the strings on disk.

    The table is open addressing over 64-bit hashes (`hasher`), filled a block at a time by numpy.
    At 100 MB its hashes move to a file (`SortedRun`), which takes 2 bytes of memory an id, and an
    empty table begins. Two ids may have one hash, so a hit is compared with the real id: its number
    is kept with the hash, and a temporary file has all ids in the order of their numbers. An id
    whose hash belongs to another one goes into a small ordinary set.
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
        self._runs: list[SortedRun] = []

    def close(self) -> None:
        """Remove the temporary files."""
        self._file.close()
        for run in self._runs:
            run.close()

    def add(self, ids: Sequence[str]) -> list[int]:
        """Add ids; the indexes of those that came before, in this call or an earlier one."""
        if not ids:
            return []
        hashes = np.fromiter(map(self._hasher, ids), np.int64, len(ids))
        hashes[hashes == _EMPTY] = 1
        own = self._write(ids)
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        self._grow(len(unique))  # first, because it may empty the table into a run
        held = np.full(len(unique), -1, np.int64)
        for run in self._runs:
            run.find(unique, held)
        here = np.flatnonzero(held < 0)
        slots, new = self._insert(unique[here])
        self._numbers[slots[new]] = own[first[here[new]]]
        self._used += int(new.sum())
        held[here] = self._numbers[slots]
        holders = held[inverse]
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
        self._file.seek(self._end)
        append(self._file, joined)
        self._end = int(ends[-1])
        self._total += len(ids)
        return np.arange(self._total - len(ids), self._total, dtype=np.uint32)

    def _insert(self, hashes: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """The slot of each of these different hashes, and whether it was not there before."""
        mask = len(self._hashes) - 1
        slots = hashes & mask
        new = np.zeros(len(hashes), bool)
        pending = np.arange(len(hashes))
        while len(pending) > _FEW:
            at, wanted = slots[pending], hashes[pending]
            empty = self._hashes[at] == _EMPTY
            # If several want one slot the last one gets it; the others look further.
            self._hashes[at[empty]] = wanted[empty]
            found = self._hashes[at] == wanted
            new[pending[found & empty]] = True
            pending = pending[~found]
            slots[pending] = (slots[pending] + 1) & mask
        # Another round of numpy takes longer than the last few one by one.
        table = self._hashes.data
        for index, slot, hashed in zip(
            pending.tolist(), slots[pending].tolist(), hashes[pending].tolist(), strict=True
        ):
            while (held := table[slot]) != hashed:
                if held == _EMPTY:
                    table[slot] = hashed
                    new[index] = True
                    break
                slot = (slot + 1) & mask
            slots[index] = slot
        return slots, new

    def _grow(self, more: int) -> None:
        size = len(self._hashes)
        while self._used + more > _LOAD * size:
            size *= 2
        if size > _SLOTS and self._used:
            full, used = len(self._hashes), self._hashes != _EMPTY
            hashes, numbers = self._hashes[used], self._numbers[used]
            self._allocate(0)  # first, so that the table does not take memory during the sorting
            self._runs.append(SortedRun(hashes, numbers))
            self._allocate(full)
            self._used = 0
            self._grow(more)
            return
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
