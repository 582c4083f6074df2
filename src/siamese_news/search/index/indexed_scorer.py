"""A scorer of the posts of an index: what its scores are sums of, so that they can be bounded."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.term_ids import bigram_ids
from siamese_news.scoring import Scorer
from siamese_news.scoring.cosine import CosineScorer
from siamese_news.scoring.mixture import MixtureScorer
from siamese_news.scoring.surface import SurfaceScores, View
from siamese_news.search.pool import Floats, Ints
from siamese_news.text.token_ids import TokenIds

# Articles times words of which bounds of the surface are held at once.
_CELLS = 1 << 23


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
    """

    columns: Ints
    terms: sparse.csr_matrix
    pairs: Ints
    vectors: NDArray[np.float64]
    lexical: NDArray[np.float64]
    cosine: NDArray[np.float64]
    excess: NDArray[np.float64]
    quantiles: NDArray[np.float64]
    about: float
    quantile: float | None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class IndexedScorer:
    """A scorer with the form of its scores before smoothing.

    A score is ``scales * form``, smoothed, plus the surface.
    """

    scorer: Scorer
    form: ScoreForm
    _surface: SurfaceScores | None

    @classmethod
    def of(cls, scorer: Scorer) -> "IndexedScorer | None":
        """The same scorer with its form; None where that is not known.

        It is not known where a post's words weigh differently in one pool than in another, where a
        word's weight depends on its text, and where a vector is of more than its words.
        """
        if isinstance(scorer, CosineScorer):
            nothing = np.zeros(len(scorer.articles))
            form = ScoreForm(
                columns=np.zeros(0, np.int64),
                terms=sparse.csr_matrix((len(nothing), 0)),
                pairs=np.zeros((3, 0), np.int64),
                vectors=scorer.articles,
                lexical=nothing,
                cosine=np.ones(len(nothing)),
                excess=nothing,
                quantiles=nothing,
                about=1.0,
                quantile=None,
                exact=True,
            )
            return cls(scorer, form, None)
        if not isinstance(scorer, MixtureScorer):
            return None
        mixed = _mixture_form(scorer)
        return None if mixed is None else cls(scorer, mixed, scorer.basis.surface)

    def surface(self, posts: TokenIds) -> Floats:
        """The scores to add to the scaled sums of the form: (A, P), or (1, 1) for all."""
        if self._surface is None:
            return np.zeros((1, 1), np.float32)
        scores = np.zeros((len(self._surface.weights), len(posts)), np.float32)
        self._surface.add(scores, posts)
        return scores

    def surface_squares(self, words: sparse.csr_matrix) -> Floats | None:
        """Bounds of `surface` by word: the root of their sum over a post's words is at least that.

        With f the product of a word's vector with the article's and s its length, a post that is
        the sum of its words has ``sum f / root(sum s^2)``, at most ``root(sum (f / s)^2)`` (Cauchy
        and Schwarz), which is a sum over words. One whose n-grams are counted has at most the root
        of the sum of the article's squares over the n-grams of its words. The same inequality
        joins the two IDFs. `words` are the n-grams (U, BUCKETS) of words outside the vocabulary,
        and the bounds (V + U,); None without a surface, and if the table would be too large.
        """
        surface = self._surface
        if surface is None or len(surface.weights) * surface.vocabulary_size > _CELLS:
            return None
        count = surface.vocabulary_size + words.shape[0]
        squares = np.zeros((count, len(surface.weights)))
        total = np.zeros(len(surface.weights))
        for view in surface.views:
            share = surface.weights * view.shares
            squares += share * _most_squared(view, words, surface.counting)
            total += share
        bounds: Floats = (total * squares).max(axis=1, initial=0.0).astype(np.float32)
        return bounds


def _mixture_form(scorer: MixtureScorer) -> ScoreForm | None:
    setting = scorer.setting
    weights = scorer.basis.weights
    articles = scorer.basis.articles
    background = setting.articles.background
    follows_pool = any(group.weights is not background for group in articles.groups)
    if (
        setting.reader.whole_texts
        or setting.articles.factors is not None
        or follows_pool
    ):
        return None
    (group,) = articles.groups
    columns = articles.columns
    pairs = [
        np.stack([bigram_ids(text), text[:-1], text[1:]]) for text in articles.texts
    ]
    # The addition of a feature to a lexical score, times the scale of the post.
    terms = group.vectors @ sparse.diags_array(background.of(columns))
    shares = weights.shares.astype(np.float64)
    excesses = weights.excesses.astype(np.float64)
    excess = setting.options.excess
    return ScoreForm(
        columns=columns,
        terms=sparse.csr_matrix(terms),
        pairs=np.unique(np.concatenate(pairs, axis=1), axis=1),
        vectors=articles.moved,
        lexical=1 - shares - excesses,
        cosine=shares,
        excess=excesses,
        quantiles=weights.quantiles.astype(np.float64),
        about=setting.options.focused_pool.score,
        quantile=excess.quantile if excess.weight and scorer.lesson is None else None,
    )


def _most_squared(
    view: View, words: sparse.csr_matrix, counting: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """What `IndexedScorer.surface_squares` sums under one IDF: (V + U, A)."""
    rows, squares_of_unknown = view.products(words)
    of_vocabulary, squares_of_vocabulary = view.of_vocabulary
    products = np.concatenate([of_vocabulary, np.asarray(rows @ view.vectors)])
    squares = np.concatenate([squares_of_vocabulary, squares_of_unknown])
    bounds: NDArray[np.float64] = products**2 / np.maximum(squares, 1e-12)[:, None]
    if counting.any():
        all_grams = sparse.csr_matrix(sparse.vstack([view.words, words]))
        grams = view.among(all_grams, all_grams.data)
        vectors = sparse.csr_matrix(view.vectors).power(2)[:, np.flatnonzero(counting)]
        bounds[:, counting] = (grams @ vectors).toarray()
    return bounds
