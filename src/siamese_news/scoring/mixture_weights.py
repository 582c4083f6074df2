"""How much words, vectors and what exceeds a quantile weigh in each article's scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MixtureWeights:
    """``(1 - w - e) L + w D + e max(0, D - q)`` for A articles: L of the words, D the cosine.

    Attributes:
        shares: (A,) w.
        excesses: (A,) e; 0 before a pool, as is q.
        quantiles: (A,) q.
    """

    shares: Floats
    excesses: Floats
    quantiles: Floats

    @classmethod
    def before_pool(cls, share: float, articles: int) -> "MixtureWeights":
        """The weights of so many articles that have seen no pool, whose w is `share`."""
        nothing = np.zeros(articles, np.float32)
        return cls(np.full(articles, share, np.float32), nothing, nothing)

    def mixed(
        self,
        lexical: Floats,
        dense: Floats | None,
        articles: Sequence[int] | None = None,
    ) -> Floats:
        """The scores for some articles, or all, from L and D (A, P); None if D does not count."""
        rows = slice(None) if articles is None else list(articles)
        shares = self.shares[rows][:, None]
        excesses = self.excesses[rows][:, None]
        mixed: Floats = lexical * (1 - shares - excesses)
        if dense is not None:
            mixed += shares * dense
            if excesses.any():
                quantiles = self.quantiles[rows][:, None]
                mixed += excesses * np.maximum(dense - quantiles, 0)
        return mixed

    def of(self, article: int) -> tuple[float, float, float]:
        """w, e and q of an article."""
        return (
            float(self.shares[article]),
            float(self.excesses[article]),
            float(self.quantiles[article]),
        )
