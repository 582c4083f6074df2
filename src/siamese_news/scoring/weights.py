"""How much words, vectors and what exceeds a quantile weigh in each article's scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class MixtureWeights:
    """``(1 - w - e) L + w D + e max(0, D - q)`` for A articles: L of the words, D the cosine.

    Attributes:
        share: w.
        excesses: (A,) e; at first 0, as is q.
        quantiles: (A,) q.
    """

    def __init__(self, share: float, articles: int) -> None:
        self.share = share
        self.excesses = np.zeros(articles, np.float32)
        self.quantiles = np.zeros(articles, np.float32)

    def mixed(
        self,
        lexical: NDArray[np.float32],
        dense: NDArray[np.float32] | None,
        articles: Sequence[int] | None = None,
    ) -> NDArray[np.float32]:
        """The scores for some articles, or all, from L and D (A, P); None if D does not count."""
        mine = slice(None) if articles is None else list(articles)
        excesses = self.excesses[mine][:, None]
        mixed: NDArray[np.float32] = lexical * (np.float32(1 - self.share) - excesses)
        if dense is not None:
            mixed += np.float32(self.share) * dense
            if excesses.any():
                mixed += excesses * np.maximum(dense - self.quantiles[mine][:, None], 0)
        return mixed

    def of(self, article: int) -> tuple[float, float, float]:
        """w, e and q of an article."""
        return self.share, float(self.excesses[article]), float(self.quantiles[article])
