"""When random posts of a rest show that few enough relevant ones are missing from those found.

With F relevant posts found, u posts left and x of t random ones relevant, the recall is (F + x) / (F
+ K), K the relevant posts among the u. It is broken if K >= N(x) = floor((F + x) / recall) - F + 1,
which grows with x. Labeling stops at fixed looks: after t_0 labels if none of them is relevant,
after t_1 >= t_0 if at most one is, and so on.

Each t_x is the smallest number of labels with which, if K = N(x), the probability of stopping at
this look or an earlier one is within the error; it is computed exactly, for draws without
replacement. Why that is enough, whatever K is: let y be the largest x with N(x) <= K. Stopping with
more than y relevant posts breaks nothing. Stopping at the look of y or earlier is likelier with
N(y) relevant posts than with K, because fewer relevant posts in the rest never make the counts
higher, and with N(y) its probability is at most the error.

Looks at few counts are one by one; further on one look serves several counts, with N of the
smallest.
"""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from siamese_news_desk.decide.bounds.sequential import log_chance

# The part of the error that may be used up to the first looks. Nearly all is for the first ones:
# whoever finds many relevant posts in the rest should have labeled further down before.
_SHARES = 0.6, 0.8, 0.9, 0.95, 0.98

_ONE_BY_ONE = 20  # counts with a look each; then one for a twentieth of the count
# Of the error: the binomials of ten million posts are exact to a part of 1e-7.
_ROUNDING = 1e-6


class FewMissing:
    """The looks at random posts of a rest; see the module.

    `top` relevant posts were found before the rest of `n_unseen` posts was sampled; `error` is the
    largest probability of stopping below the `recall`.
    """

    def __init__(self, top: int, n_unseen: int, recall: float, error: float) -> None:
        self._top = top
        self._rest = n_unseen
        self._recall = recall
        self._error = error * (1 - _ROUNDING)
        self._counts: list[int] = []  # the largest count that stops at each look
        self._labels: list[int] = []

    def shown(self, hits: int, drawn: int) -> bool:
        """Whether labeling stops after `drawn` random posts, `hits` of them relevant."""
        while not self._counts or self._counts[-1] < hits:
            self._look()
        look = int(np.searchsorted(self._counts, hits))
        return drawn >= self._labels[look]

    def breaking(self, hits: int) -> int:
        """The fewest relevant posts in the rest with which stopping at `hits` breaks the recall."""
        return math.floor((self._top + hits) / self._recall + 1e-9) - self._top + 1

    def _look(self) -> None:
        smallest = self._counts[-1] + 1 if self._counts else 0
        largest = smallest + max(0, smallest - _ONE_BY_ONE) // _ONE_BY_ONE
        number = len(self._counts)
        error = self._error * (_SHARES[number] if number < len(_SHARES) else 1.0)
        n_labels = self._labels[-1] if self._labels else 0
        relevant = self.breaking(smallest)
        if relevant <= self._rest:  # else no rest can break it
            n_labels = self._least(relevant, largest, error, n_labels)
        self._counts.append(largest)
        self._labels.append(n_labels)

    def _least(self, relevant: int, largest: int, error: float, n_labels: int) -> int:
        """The fewest labels of a look at counts up to `largest`."""
        alive = np.zeros(largest + 1)  # by count, not stopped before
        alive[0] = 1.0
        drawn = 0
        spent = 0.0
        for count, labels in zip(self._counts, self._labels, strict=True):
            alive = self._after(alive, relevant, drawn, labels)
            drawn = labels
            spent += float(alive[: count + 1].sum())
            alive[: count + 1] = 0.0
        return n_labels + bisect_left(
            range(n_labels, self._rest),
            True,
            key=lambda labels: bool(
                spent + self._after(alive, relevant, drawn, labels).sum() <= error
            ),
        )

    def _after(
        self, alive: NDArray[np.float64], relevant: int, drawn: int, labels: int
    ) -> NDArray[np.float64]:
        """The chances by count after `labels` in place of `drawn` random posts."""
        counts = np.arange(len(alive))
        new_hits = counts[None, :] - counts[:, None]  # by the count before
        chances = log_chance(
            new_hits, labels - drawn, relevant - counts[:, None], self._rest - drawn
        )
        return np.asarray(alive @ np.exp(chances))
