"""Smoothing: a post's score leans on the scores of the posts most like it.

Posts that resemble each other tend to be relevant to the same articles (the cluster hypothesis).
Diaz (CIKM 2005, "Regularizing ad hoc retrieval scores") moves a ranking's scores towards those of
each document's neighbors. Here a post with close neighbors takes their mean, and a post without
any keeps its score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head import Smoothing


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The neighbors of each of n posts.

    Attributes:
        rows: (n, k) which of the posts they are.
        weights: (n, k) what each counts in the mean, 0 for those too far away; rows sum to 1 or 0.
        gains: (n,) the weight of the mean in the smoothed score.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    gains: NDArray[np.float64]

    @classmethod
    def of(
        cls, terms: sparse.csr_matrix, vectors: NDArray[np.float32], options: Smoothing
    ) -> "Neighbors":
        """Find the neighbors of n posts among themselves.

        Args:
            terms: (n, C), whose products are the lexical similarities.
            vectors: (n, D) unit vectors.
            options: the numbers.
        """
        count = terms.shape[0]
        many = max(0, min(options.neighbors, count - 1))
        similarity = np.asarray((terms @ terms.T).toarray(), np.float64) * (1 - options.dense)
        wide = vectors.astype(np.float64)
        similarity += options.dense * (wide @ wide.T)
        np.fill_diagonal(similarity, -1.0)
        rows = _nearest(similarity, many, options.least)
        near = np.take_along_axis(similarity, rows, axis=1)
        weights = np.where(near > options.least, np.maximum(near, 0.0), 0.0) ** options.exponent
        total = weights.sum(axis=1)
        gains = options.weight * total / (total + options.prior)
        return cls(rows, weights / np.where(total > 0, total, 1.0)[:, None], gains)

    def smooth(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """The smoothed scores of the same posts: (..., n)."""
        around = (scores[..., self.rows] * self.weights).sum(axis=-1)
        smoothed: NDArray[np.float64] = (1 - self.gains) * scores + self.gains * around
        return smoothed


def _nearest(similarity: NDArray[np.float64], many: int, least: float) -> NDArray[np.int64]:
    """(n, many) those of each row's highest similarities that are over `least`, then any others."""
    count = len(similarity)
    over = similarity > least
    rows = np.zeros((count, many), np.int64)
    few = over.sum(axis=1) <= many
    if many and not few.all():
        # Sorting out the highest is slow, and most posts have no so many neighbors.
        rows[~few] = np.argpartition(-similarity[~few], many - 1, axis=1)[:, :many]
    owner, column = np.nonzero(over & few[:, None])
    within = np.arange(len(owner)) - np.searchsorted(owner, owner)
    # What fills a row up is the post itself, whose similarity to itself does not count.
    rows[few] = np.flatnonzero(few)[:, None]
    rows[owner, within] = column
    return rows
