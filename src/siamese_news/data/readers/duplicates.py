"""Detects duplicate ids in eight bytes of memory an id."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_RECENT = 2**19  # hashes in a set, which are then sorted into the others


class SeenIds:
    """A growing set of ids, of which it keeps hashes of 64 bits.

    Among ten million ids, the chance that two of them have the same hash is 1 in 400,000.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted: NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, ids: Sequence[str]) -> list[int]:
        """Add ids; the indexes of those that came before, in this call or an earlier one."""
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        if len(self._sorted):
            at = np.searchsorted(self._sorted, hashes)
            older = self._sorted[np.minimum(at, len(self._sorted) - 1)] == hashes
        else:
            older = np.zeros(len(ids), np.bool_)
        again = []
        for index, (hashed, known) in enumerate(zip(hashes.tolist(), older.tolist(), strict=True)):
            if known or hashed in self._recent:
                again.append(index)
            else:
                self._recent.add(hashed)
        if len(self._recent) >= _RECENT:
            new = np.fromiter(self._recent, np.int64, len(self._recent))
            # A stable sort merges two sorted runs in one pass.
            self._sorted = np.sort(np.concatenate([self._sorted, np.sort(new)]), kind="stable")
            self._recent.clear()
        return again
