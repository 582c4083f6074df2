"""How much words, vectors and what exceeds a quantile weigh in each article's scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class MixtureWeights:
    """``(1 - w - e) L + w D + e max(0, D - q)`` for A articles; at first e and q are 0.

    Args:
        share: w, the weight of the cosine D; the words' score is L.
        articles: A.

    Attributes:
        share: w.
        excesses: (A,) e.
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
        """The scores of P posts for some articles, or all.

        Args:
            lexical: (A, P) L.
            dense: (A, P) D; None where it does not count.
            articles: which articles the rows are; None means all.
        """
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
