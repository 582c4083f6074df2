"""Scores of posts for seed articles: one interface over every kind of model."""

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy import sparse

from siamese_news.factors import TextHeads
from siamese_news.foreign import ForeignModel
from siamese_news.model import Model
from siamese_news.terms import PoolCounts, TermWeights, mean_factors, pairs_of


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

    def carried(self, post: str, article: int) -> dict[str, float]:
        """What each word adds to the post's score for an article, exactly; strongest first."""

    def own(self, article: int) -> dict[int, float]:
        """Each word's share of an article's lexical vector, by id; together 1."""

    def state(self) -> bytes:
        """What the scorer has learned from the posts so far; empty where it learns nothing."""

    def restore(self, state: bytes) -> None:
        """Go on from the `state` of a scorer of the same model and articles."""


# What a mixture has done with its pool so far.
_READING, _BACKGROUND, _NARROWED = range(3)


class Encodes(Protocol):
    """What a dense model must do: `Model` without a lexical head, or `ForeignModel`."""

    def encode_articles(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (A, D) float32."""

    def encode_posts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (P, D) float32."""


class CosineScorer:
    """Cosine similarities of a dense model.

    Args:
        model: the model.
        articles: A texts.
    """

    kind = "cosine"

    def __init__(self, model: Encodes, articles: Sequence[str]) -> None:
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

    def carried(self, post: str, article: int) -> dict[str, float]:
        """None: a vector has no words."""
        return {}

    def own(self, article: int) -> dict[int, float]:
        """None: a vector has no words."""
        return {}

    def state(self) -> bytes:
        """Nothing."""
        return b""

    def restore(self, state: bytes) -> None:
        """Nothing to go on from."""


class MixtureScorer:
    """``(1 - w)`` times the lexical head's score plus ``w`` times the cosine of the dense head.

    Args:
        model: a model with a lexical head; its options have w.
        articles: A texts.
    """

    kind = "mixture"

    def __init__(self, model: Model, articles: Sequence[str], *, asked: int | None = None) -> None:
        assert model.terms is not None
        self._asked = asked
        self._model, self._terms = model, model.terms
        self._ids = [model.ids(text)[: self._terms.options.article_tokens] for text in articles]
        features = [self._terms.features(ids) for ids in self._ids]
        self._columns = np.unique(np.concatenate([*features, np.zeros(0, np.int64)]))
        self._heads = TextHeads(model)
        self._dense, self._factors = self._heads(self._ids, "article")
        self._pool = PoolCounts(len(model.vocabulary))
        self._about = 0
        self._stage = _READING
        self._use(self._terms.background())

    def _use(self, weights: TermWeights) -> None:
        self._weights = weights
        self._lexical = weights.articles(self._ids, self._columns, self._factors)

    def scores(self, posts: Sequence[str]) -> np.ndarray:
        """See `Scorer`."""
        ids = [self._model.ids(post) for post in posts]
        share = self._terms.options.dense
        dense, factors = None, None
        if share or self._model.encoder.has_factors:
            dense, factors = self._heads(ids, "post")
        rows, words, count = self._terms.distinct(ids)
        means = self._means(ids, factors)
        vectors = self._weights.posts(rows, words, count, self._columns, means)
        mixed = np.asarray((self._lexical @ vectors.T).toarray(), np.float32) * (1 - share)
        if share and dense is not None:
            mixed += share * (self._dense @ dense.T)
        if self._stage == _READING and count and len(mixed):
            self._pool.add(rows, words, count)
            best = mixed[: self._asked].max(axis=0)
            self._about += int((best > self._terms.options.narrow.score).sum())
        return mixed

    def _means(
        self, ids: Sequence[np.ndarray], factors: Sequence[np.ndarray] | None
    ) -> np.ndarray | None:
        """The mean factor of each (row, id) pair that `TermHead.distinct` gives."""
        if factors is None:
            return None
        features = [self._terms.features(text) for text in ids]
        return mean_factors(features, list(map(self._terms.feature_factors, factors)))

    def adapt(self) -> bool:
        """Whether the pool turned out to be mostly about the story (`terms.Narrow`)."""
        pool, narrow = self._pool, self._terms.options.narrow
        if self._stage != _READING:
            return False
        if pool.posts < narrow.posts or self._about < narrow.share * pool.posts:
            self._stage = _BACKGROUND
            return False
        self._stage = _NARROWED
        self._use(self._terms.narrowed(pool))
        return True

    def matched(self, post: str, limit: int = 8) -> list[str]:
        """See `Scorer`."""
        names, vector = self._words(post)
        if not vector.nnz:
            return []
        best = int(np.argmax((self._lexical @ vector.T).toarray()))
        return list(self._products(names, vector, best))[:limit]

    def carried(self, post: str, article: int) -> dict[str, float]:
        """See `Scorer`."""
        return self._products(*self._words(post), article)

    def own(self, article: int) -> dict[int, float]:
        """See `Scorer`."""
        row = self._lexical[[article]].tocoo()
        squares = row.data.astype(np.float64) ** 2
        total = max(float(squares.sum()), 1e-12)
        return dict(zip(self._columns[row.col].tolist(), (squares / total).tolist(), strict=True))

    def state(self) -> bytes:
        """See `Scorer`."""
        arrays = {"numbers": np.array([self._stage, self._about, self._pool.posts])}
        for place, counts in enumerate(self._pool.counts):
            arrays[f"places{place}"] = found = np.flatnonzero(counts)
            arrays[f"counts{place}"] = counts[found]
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **arrays)
        return stream.getvalue()

    def restore(self, state: bytes) -> None:
        """See `Scorer`."""
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            self._stage, self._about, self._pool.posts = map(int, saved["numbers"])
            for place, counts in enumerate(self._pool.counts):
                counts[:] = 0
                counts[saved[f"places{place}"]] = saved[f"counts{place}"]
        if self._stage == _NARROWED:
            self._use(self._terms.narrowed(self._pool))

    def _words(self, post: str) -> tuple[dict[int, str], sparse.csr_matrix]:
        """A post's words by their ids, and its vector."""
        vocabulary = self._model.vocabulary
        tokens = self._model.tokens(post)
        if vocabulary.unknown == "drop":  # what has no id has no place among the pairs either
            tokens = [token for token in tokens if token in vocabulary]
        ids = vocabulary.ids(tokens)
        factors = self._heads([ids], "post")[1] if self._model.encoder.has_factors else None
        rows, words, count = self._terms.distinct([ids])
        means = self._means([ids], factors)
        vector = self._weights.posts(rows, words, count, self._columns, means)
        phrases = [f"{left} {right}" for left, right in pairwise(tokens)]
        names = dict(zip(pairs_of(ids).tolist(), phrases, strict=True))
        return names | dict(zip(ids.tolist(), tokens, strict=True)), vector

    def _products(
        self, names: dict[int, str], vector: sparse.csr_matrix, article: int
    ) -> dict[str, float]:
        carried = self._lexical[[article]].multiply(vector).tocoo()
        order = np.argsort(-carried.data, kind="stable")
        share = 1 - self._terms.options.dense
        return {
            names[int(self._columns[carried.col[place]])]: float(carried.data[place]) * share
            for place in order
        }


def open_scorer(
    model: Model | ForeignModel, articles: Sequence[str], *, asked: int | None = None
) -> Scorer:
    """The scorer of a model for A articles.

    Args:
        model: any model.
        articles: A full texts (`Article.full_text`).
        asked: how many of them, the first, tell what the story is; the others (stories that are
            not meant) do not count when a pool is judged to be mostly about it. None: all.
    """
    if isinstance(model, Model) and model.terms is not None:
        return MixtureScorer(model, articles, asked=asked)
    return CosineScorer(model, articles)
