"""Where a quantile of cosines lies, from cosines that are only nearly known."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from siamese_news.scoring.pool import BINS, cosine_bins

Rows = NDArray[np.int64]
_MARGIN = 3.0  # how many times as many cosines are kept as the quantile leaves above it


class CosineTail:
    """The highest cosines of one article over a pool, each within an error.

    Args:
        quantile: which is looked for.
        floor: cosines that are surely not above this are only counted; None sets it by the first
            block.
    """

    def __init__(self, quantile: float, floor: float | None = None) -> None:
        self._quantile, self.floor = quantile, floor
        self._rows: list[Rows] = []
        self._cosines: list[NDArray[np.float32]] = []
        self._errors: list[NDArray[np.float32]] = []
        self._posts = 0

    def add(self, rows: Rows, cosines: NDArray[np.float32], errors: NDArray[np.float32]) -> None:
        """Take a block of posts: their rows, cosines and how far off these are at most."""
        if not len(rows):
            return
        if self.floor is None:
            share = min(1.0, _MARGIN * (1 - self._quantile))
            self.floor = float(np.quantile(cosines, 1 - share)) - 0.01
        kept = np.flatnonzero(cosines + errors > self.floor)
        self._rows.append(rows[kept])
        self._cosines.append(cosines[kept])
        self._errors.append(errors[kept])
        self._posts += len(rows)

    def counted(self, exact: Callable[[Rows], NDArray[np.float32]]) -> NDArray[np.int32] | None:
        """How many posts have which cosine, with the quantile in its place.

        Args:
            exact: the cosines of some rows.

        Returns:
            (bins,) as `PoolState` counts; None if the floor has to be lower to say it.
        """
        rows = np.concatenate([np.zeros(0, np.int64), *self._rows])
        cosines = np.concatenate([np.zeros(0, np.float32), *self._cosines])
        errors = np.concatenate([np.zeros(0, np.float32), *self._errors])
        low, high = cosine_bins(cosines - errors), cosine_bins(cosines + errors)
        need = np.ceil(self._quantile * self._posts)
        # At least, and at most, so many posts are in a bin or below it.
        surely = self._posts - _above(high)
        maybe = self._posts - _above(low)
        first, last = int((maybe >= need).argmax()), int((surely >= need).argmax())
        floor = -1.0 if self.floor is None else self.floor
        if first <= int(cosine_bins(np.array([floor]))[0]) and floor > 0:
            return None
        unclear = np.flatnonzero((low <= last) & (high > first) & (low != high))
        bins = np.where(high <= first, high, low)
        if first != last and len(unclear):
            bins[unclear] = cosine_bins(exact(rows[unclear]))
        counts = np.bincount(bins, minlength=BINS)
        counts[0] += self._posts - len(rows)
        return counts.astype(np.int32)


def _above(bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many are above each bin."""
    counts = np.bincount(bins, minlength=BINS)
    return counts.sum() - counts.cumsum()
