"""Detects duplicate ids in nearly constant memory."""

import tempfile
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

Integers = NDArray[np.int64]
Checks = NDArray[np.uint32]

_RECENT = 2**19  # hashes in a dictionary, which are then sorted into a run
_IN_MEMORY = 2**21  # hashes of a run, which then moves to files
_BITS = 8  # for each hash of a run, to tell at once that most others are not in it


class SortedRun:
    """Distinct ascending hashes (N,) and their checks (N,), in memory or mapped from files."""

    def __init__(self, hashes: Integers, checks: Checks) -> None:
        self.hashes, self.checks = hashes, checks
        here = np.zeros(1 << (len(hashes) * _BITS - 1).bit_length(), np.bool_)
        self._mask = len(here) - 1
        here[hashes & self._mask] = True
        self._bits = np.packbits(here, bitorder="little")

    def find(self, hashes: Integers, checks: Integers) -> None:
        """Set the checks (N,) of those of the hashes (N,) that are here."""
        places = hashes & self._mask
        maybe = np.flatnonzero((self._bits[places >> 3] >> (places & 7).astype(np.uint8)) & 1)
        at = np.searchsorted(self.hashes, hashes[maybe])
        at[at == len(self.hashes)] = 0
        here = self.hashes[at] == hashes[maybe]
        checks[maybe[here]] = self.checks[at[here]]


class SeenIds:
    """A growing set of ids that keeps 96 bits of each: a hash and a checksum.

    Among a billion ids, the chance that two of them have the same 96 bits is about one in 10^11.
    Ids that share a hash but not the checksum go into a small ordinary set. The hashes (`hasher`)
    move from a dictionary to a run in memory, and from there to files; these take one or two bytes
    of memory an id.
    """

    def __init__(self, hasher: Callable[[str], int] = hash) -> None:
        self._hasher = hasher
        self._recent: dict[int, int] = {}  # hash -> check
        self._runs: list[SortedRun] = []  # the last one may be in memory
        self._same_hash: set[str] = set()

    def close(self) -> None:
        """Remove the files."""
        self._runs.clear()

    def add(self, ids: Sequence[str]) -> list[int]:
        """Add ids; the indexes of those that came before, in this call or an earlier one.

        Raises:
            InputError: the disk is full.
        """
        hashes = np.fromiter(map(self._hasher, ids), np.int64, len(ids))
        older = np.full(len(ids), -1, np.int64)
        for run in self._runs:
            run.find(hashes, older)
        again = []
        recent, checks = self._recent, map(crc32, map(str.encode, ids))
        rows = zip(hashes.tolist(), checks, older.tolist(), strict=True)
        for index, (hashed, check, held) in enumerate(rows):
            if held < 0:
                held = recent.setdefault(hashed, -1)
            if held < 0:
                recent[hashed] = check
            elif held == check or ids[index] in self._same_hash:
                again.append(index)
            else:
                self._same_hash.add(ids[index])
        if len(recent) >= _RECENT:
            self._sort()
        return again

    def _sort(self) -> None:
        """Move the hashes of the dictionary to the last run, and a large run to files."""
        hashes = np.fromiter(self._recent, np.int64, len(self._recent))
        checks = np.fromiter(self._recent.values(), np.uint32, len(self._recent))
        self._recent = {}
        if self._runs and len(self._runs[-1].hashes) < _IN_MEMORY:
            last = self._runs.pop()
            hashes = np.concatenate([last.hashes, hashes])
            checks = np.concatenate([last.checks, checks])
        order = np.argsort(hashes, kind="stable")  # fast, for most of them are in order
        hashes, checks = hashes[order], checks[order]
        if len(order) >= _IN_MEMORY:
            hashes, checks = _on_disk(hashes), _on_disk(checks)
        self._runs.append(SortedRun(hashes, checks))


def _on_disk(values: NDArray[np.generic]) -> np.memmap:
    file = tempfile.TemporaryFile()
    try:
        file.write(values.data)
        file.flush()
    except OSError as error:
        raise InputError(
            f"{tempfile.gettempdir()}: the ids of the posts cannot be kept there ({error}); "
            "free some space, or set TMPDIR to a folder that has some"
        ) from error
    return np.memmap(file, values.dtype, "r")
