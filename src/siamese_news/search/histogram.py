"""How many posts have which score."""

import numpy as np

from siamese_news.data.columns import ScoreHistogram
from siamese_news.utils.checked_json import Count

# In thousandths; the bounds of a score minus a negative seed's.
_LOWEST = -2000
_HIGHEST = 2000
_BINS = 100

Counted = dict[str, Count]
"""How many scores are in a thousandth, by its place from the lowest; as `ScoreCounts.plain`."""


class ScoreCounts:
    """Counts of scores in thousandths, from -2 to 2; scores beyond count at the ends.

    They begin with those of an earlier `plain`. `of_all` says whether the scores of all posts of
    the search were counted.
    """

    def __init__(self, counts: Counted | None = None) -> None:
        self._counts = np.zeros(_HIGHEST - _LOWEST, np.int64)
        self.of_all = True
        for bin, count in (counts or {}).items():
            self._counts[int(bin)] = count

    def add(self, millionths: np.ndarray, *, of_all: bool = True) -> None:
        """Count scores in millionths, of any shape; not `of_all` if some posts were not scored."""
        self.of_all &= of_all
        bins = np.clip(millionths.ravel() // 1000, _LOWEST, _HIGHEST - 1) - _LOWEST
        self._counts += np.bincount(bins, minlength=_HIGHEST - _LOWEST)

    @property
    def total(self) -> int:
        """How many scores there are."""
        return int(self._counts.sum())

    @property
    def different(self) -> int:
        """How many different scores there are, to a thousandth."""
        return int(np.count_nonzero(self._counts))

    @property
    def highest(self) -> float:
        """The highest score, to a thousandth; -2 if there is none."""
        filled_bins = np.flatnonzero(self._counts)
        return (_LOWEST + int(filled_bins[-1]) if len(filled_bins) else _LOWEST) / 1000

    def plain(self) -> Counted:
        """The counts that are not zero, by place."""
        return {
            str(bin): int(self._counts[bin]) for bin in np.flatnonzero(self._counts)
        }

    def histogram(self) -> ScoreHistogram:
        """100 bins of equal width over the range of the scores: 101 ``edges``, 100 ``counts``."""
        # The score 0 without any.
        filled_bins = np.flatnonzero(self._counts).tolist() or [-_LOWEST]
        lowest_bin, highest_bin = filled_bins[0], filled_bins[-1]
        width = -(-(highest_bin + 1 - lowest_bin) // _BINS)
        edges = [
            (_LOWEST + lowest_bin + width * step) / 1000 for step in range(_BINS + 1)
        ]
        padded = np.zeros(width * _BINS, np.int64)
        padded[: highest_bin + 1 - lowest_bin] = self._counts[
            lowest_bin : highest_bin + 1
        ]
        return {
            "edges": edges,
            "counts": padded.reshape(_BINS, width).sum(axis=1).tolist(),
        }
