"""Scores of posts for seed articles: one interface over every kind of model."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from siamese_news.model import Model
from siamese_news.terms import PoolCounts, TermWeights, distinct


class Scorer(Protocol):
    """Scores posts, a block at a time, for the articles it was made with.

    Attributes:
        kind: what the scores are: ``cosine``, ``mixture``, …
    """

    kind: str

    def scores(self, posts: Sequence[str]) -> np.ndarray:
        """(A, P) float32 for P posts; a post's scores do not depend on the other posts."""

    def adapt(self) -> bool:
        """Choose by what the posts scored so far are like, once that was the whole pool.

        Returns:
            Whether scores are others from now on, so that the pool must be scored once more. A
            second call changes nothing.
        """

    def matched(self, post: str, limit: int = 8) -> list[str]:
        """The words that carried the post's best score, strongest first; none if not by words."""


class CosineScorer:
    """Cosine similarities of a dense model.

    Args:
        model: the model.
        articles: A texts.
    """

    kind = "cosine"

    def __init__(self, model: Model, articles: Sequence[str]) -> None:
        self._model = model
        self._articles = model.encode_articles(articles)

    def scores(self, posts: Sequence[str]) -> np.ndarray:
        """See `Scorer`."""
        return self._articles @ self._model.encode_posts(posts).T

    def adapt(self) -> bool:
        """Nothing to choose."""
        return False

    def matched(self, post: str, limit: int = 8) -> list[str]:
        """None: a vector has no words."""
        return []


class MixtureScorer:
    """``(1 - w)`` times the lexical head's score plus ``w`` times the cosine of the dense head.

    Args:
        model: a model with a lexical head; its options have w.
        articles: A texts.
    """

    kind = "mixture"

    def __init__(self, model: Model, articles: Sequence[str]) -> None:
        assert model.terms is not None
        self._model, self._terms = model, model.terms
        self._ids = [model.ids(text)[: self._terms.options.article_tokens] for text in articles]
        self._columns = np.unique(np.concatenate([*self._ids, np.zeros(0, np.int64)]))
        self._dense = model.encode_ids(self._ids, "article")
        self._pool: PoolCounts | None = PoolCounts(len(model.vocabulary))
        self._about = 0
        self._use(self._terms.background())

    def _use(self, weights: TermWeights) -> None:
        self._weights = weights
        self._lexical = weights.articles(self._ids, self._columns)

    def scores(self, posts: Sequence[str]) -> np.ndarray:
        """See `Scorer`."""
        ids = [self._model.ids(post) for post in posts]
        rows, words, count = distinct(ids)
        vectors = self._weights.posts(rows, words, count, self._columns)
        share = self._terms.options.dense
        mixed = np.asarray((self._lexical @ vectors.T).toarray(), np.float32) * (1 - share)
        if share:
            mixed += share * (self._dense @ self._model.encode_ids(ids, "post").T)
        if self._pool is not None and count and len(mixed):
            self._pool.add(rows, words, count)
            self._about += int((mixed.max(axis=0) > self._terms.options.narrow.score).sum())
        return mixed

    def adapt(self) -> bool:
        """Whether the pool turned out to be mostly about the story (`terms.Narrow`)."""
        pool, narrow = self._pool, self._terms.options.narrow
        self._pool = None
        if pool is None or pool.posts < narrow.posts or self._about < narrow.share * pool.posts:
            return False
        self._use(self._terms.narrowed(pool))
        return True

    def matched(self, post: str, limit: int = 8) -> list[str]:
        """See `Scorer`."""
        tokens = self._model.tokens(post)
        ids = self._model.vocabulary.ids(tokens)
        rows, words, count = distinct([ids])
        vector = self._weights.posts(rows, words, count, self._columns)
        if not vector.nnz:
            return []
        best = int(np.argmax((self._lexical @ vector.T).toarray()))
        carried = self._lexical[[best]].multiply(vector).tocoo()
        order = np.argsort(-carried.data, kind="stable")[:limit]
        names = dict(zip(ids.tolist(), tokens, strict=True))
        return [names[int(self._columns[carried.col[place]])] for place in order]


def open_scorer(model: Model, articles: Sequence[str]) -> Scorer:
    """The scorer of a model for A articles.

    Args:
        model: any model.
        articles: A full texts (`Article.full_text`).
    """
    if model.terms is not None:
        return MixtureScorer(model, articles)
    return CosineScorer(model, articles)
