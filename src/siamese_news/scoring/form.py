"""What a score is a sum of: enough to say what a post's score is at most, without reading it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.scoring.articles import ArticleVectors
from siamese_news.scoring.weights import MixtureWeights


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
        exact: whether these sums are the scores: nothing is smoothed or learned from a pool.

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
    exact: bool = False


def score_form(
    articles: ArticleVectors, weights: MixtureWeights, *, about: float, quantile: float | None
) -> ScoreForm | None:
    """The form of articles' scores under weights; None where no single one holds for all posts.

    Args:
        articles: their vectors.
        weights: what words and vectors weigh.
        about: see `ScoreForm`.
        quantile: see `ScoreForm`.
    """
    found = articles.form()
    if found is None:
        return None
    terms, pairs, vectors = found
    excesses = weights.excesses.astype(np.float64)
    return ScoreForm(
        columns=articles.columns,
        terms=terms,
        pairs=pairs,
        vectors=vectors,
        lexical=1 - weights.share - excesses,
        cosine=np.full(len(articles), float(weights.share)),
        excess=excesses,
        quantiles=weights.quantiles.astype(np.float64),
        about=about,
        quantile=quantile,
    )
