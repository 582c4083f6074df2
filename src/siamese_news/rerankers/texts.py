"""Token ids of many texts in one flat array."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

PAD = -1


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Ids of N texts, one after the other.

    Attributes:
        flat: (total,) int64 ids.
        offsets: (N + 1,) where each text starts.
    """

    flat: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def from_lists(cls, ids: Sequence[ArrayLike]) -> "EncodedTexts":
        """Join the ids of the texts."""
        parts = [np.asarray(part, np.int64) for part in ids]
        flat = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        lengths = np.fromiter((len(part) for part in parts), np.int64, len(parts))
        return cls(flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) ids per text."""
        return np.diff(self.offsets)

    def padded(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n, longest) ids of the texts `rows`, -1 at padding; at least one column."""
        starts, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        width = max(1, int(lengths.max(initial=0)))
        columns = np.arange(width)
        real = columns < lengths[:, None]
        index = np.where(real, starts[:, None] + columns, 0)
        if not len(self.flat):
            return np.full((len(rows), width), PAD, np.int64)
        return np.where(real, self.flat[index], PAD)
