"""How much words, vectors and what exceeds a quantile weigh in each article's scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class MixtureWeights:
    """``(1 - w - e) L + w D + e max(0, D - q)`` for A articles: L of the words, D the cosine.

    Attributes:
        shares: (A,) w.
        excesses: (A,) e; at first 0, as is q.
        quantiles: (A,) q.
    """

    def __init__(self, share: float, articles: int) -> None:
        self.shares = np.full(articles, share, np.float32)
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
        shares, excesses = self.shares[mine][:, None], self.excesses[mine][:, None]
        mixed: NDArray[np.float32] = lexical * (1 - shares - excesses)
        if dense is not None:
            mixed += shares * dense
            if excesses.any():
                mixed += excesses * np.maximum(dense - self.quantiles[mine][:, None], 0)
        return mixed

    def of(self, article: int) -> tuple[float, float, float]:
        """w, e and q of an article."""
        return (
            float(self.shares[article]),
            float(self.excesses[article]),
            float(self.quantiles[article]),
        )
