"""Detects duplicate ids in nearly constant memory."""

import tempfile
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

Integers = NDArray[np.int64]
Checks = NDArray[np.uint32]

_EMPTY = 0
_LOAD = 0.7  # share of the slots in use before the table doubles
_CHUNK = 2**20
_FEW = 64  # at most this many hashes look for their slots one by one
_SLOTS = 2**23  # of the table in memory, at most
_STEP = 256  # every 256th hash of a run is in memory
_BITS = 8  # for each hash of a run, to tell at once that most others are not in it
_ROW = np.dtype([("hash", "<i8"), ("check", "<u4")])


class SortedRun:
    """Distinct hashes (N,) and their checks (N,), sorted, in a file of which little is read.

    Raises:
        InputError: the disk is full.
    """

    def __init__(self, hashes: Integers, checks: Checks) -> None:
        order = np.argsort(hashes)
        self._marks = hashes[order[::_STEP]]
        # The bits are those of the multiplied hash, for the table has used the lowest ones.
        self._shift = np.uint64(64 - max(3, int(len(hashes) * _BITS - 1).bit_length()))
        self._bits = np.zeros(1 << (64 - int(self._shift) - 3), np.uint8)
        self._file = tempfile.TemporaryFile()
        try:
            for start in range(0, len(order), _CHUNK):
                some = order[start : start + _CHUNK]
                rows = np.empty(len(some), _ROW)
                own = hashes[some]
                rows["hash"], rows["check"] = own, checks[some]
                places = self._places(own)
                bits = np.uint8(1) << (places & 7).astype(np.uint8)
                np.bitwise_or.at(self._bits, places >> 3, bits)
                self._file.write(rows.view(np.uint8).data)
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{tempfile.gettempdir()}: the ids of the posts cannot be kept there ({error}); "
                "free some space, or set TMPDIR to a folder that has some"
            ) from error

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def find(self, hashes: Integers, checks: Integers) -> None:
        """Set the checks (N,) of those of the hashes (N,) that are here."""
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
                checks[index] = rows["check"][at]

    def _places(self, hashes: Integers) -> Integers:
        mixed = hashes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        places: Integers = (mixed >> self._shift).astype(np.int64)
        return places


class SeenIds:
    """A growing set of ids that keeps 96 bits of each: a hash and a checksum.

    Among a billion ids, the chance that two of them have the same 96 bits is about one in 10^11.
    Ids that share a hash but not the checksum go into a small ordinary set.

    The table is open addressing over the hashes (`hasher`), filled a block at a time by numpy. At
    100 MB its content moves to a file (`SortedRun`), which takes 2 bytes of memory an id, and an
    empty table begins.
    """

    def __init__(self, hasher: Callable[[str], int] = hash) -> None:
        self._hasher = hasher
        self._allocate(2**14)
        self._used = 0
        self._same_hash: set[str] = set()
        self._runs: list[SortedRun] = []

    def close(self) -> None:
        """Remove the temporary files."""
        for run in self._runs:
            run.close()

    def add(self, ids: Sequence[str]) -> list[int]:
        """Add ids; the indexes of those that came before, in this call or an earlier one."""
        if not ids:
            return []
        hashes = np.fromiter(map(self._hasher, ids), np.int64, len(ids))
        hashes[hashes == _EMPTY] = 1
        checks = np.fromiter(map(crc32, map(str.encode, ids)), np.uint32, len(ids))
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        self._grow(len(unique))  # first, because it may empty the table into a run
        held = np.full(len(unique), -1, np.int64)
        for run in self._runs:
            run.find(unique, held)
        here = np.flatnonzero(held < 0)
        slots, new = self._insert(unique[here])
        added = first[here[new]]
        self._checks[slots[new]] = checks[added]
        self._used += len(added)
        held[here] = self._checks[slots]
        old = np.ones(len(ids), bool)
        old[added] = False
        same = held[inverse] == checks
        again = []
        for index in np.flatnonzero(old).tolist():
            if same[index] or ids[index] in self._same_hash:
                again.append(index)
            else:
                self._same_hash.add(ids[index])
        return again

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
            hashes, checks = self._hashes[used], self._checks[used]
            self._allocate(0)  # first, so that the table does not take memory during the sorting
            self._runs.append(SortedRun(hashes, checks))
            self._allocate(full)
            self._used = 0
            self._grow(more)
            return
        if size == len(self._hashes):
            return
        hashes, checks = self._hashes, self._checks
        self._allocate(size)
        for start in range(0, len(hashes), _CHUNK):
            part = hashes[start : start + _CHUNK]
            used = part != _EMPTY
            slots, _ = self._insert(part[used])
            self._checks[slots] = checks[start : start + _CHUNK][used]

    def _allocate(self, size: int) -> None:
        self._hashes: Integers = np.zeros(size, np.int64)
        self._checks: Checks = np.zeros(size, np.uint32)
