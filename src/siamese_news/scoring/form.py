"""What a score is a sum of: enough to say what a post's score is at most, without reading it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True, slots=True)
class ScoreForm:
    """Scores before smoothing, ``lexical L + cosine D + excess max(0, D - quantile)``.

    L is the sum over a post's different words of ``terms / word scale`` plus that over its
    different pairs of ``terms / pair scale`` (`TermWeights.scales`), D its cosine.

    Attributes:
        columns: (C,) sorted ids of words and pairs.
        terms: (A, C).
        pairs: (3, n) ids, left and right words of the pairs that may be among the columns.
        vectors: (A, D).
        lexical: (A,).
        cosine: (A,).
        excess: (A,).
        quantiles: (A,).
        about: the L above which a post is about an article's story.
        quantile: which of each article's cosines has to be known of the pool; None for none.

    Example:
        >>> from siamese_news import open_model, open_scorer
        >>> form = open_scorer(open_model(), ["A river floods a town."]).form()
        >>> form.terms.shape == (1, len(form.columns)), form.cosine.shape
        (True, (1,))
    """

    columns: NDArray[np.int64]
    terms: sparse.csr_matrix
    pairs: NDArray[np.int64]
    vectors: NDArray[np.float64]
    lexical: NDArray[np.float64]
    cosine: NDArray[np.float64]
    excess: NDArray[np.float64]
    quantiles: NDArray[np.float64]
    about: float
    quantile: float | None
