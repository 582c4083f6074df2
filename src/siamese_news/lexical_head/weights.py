"""Weights of words and pairs, the sparse vectors they make, and the counts of a pool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.features import (
    BIGRAM_BUCKETS,
    FIRST_BIGRAM,
    UNKNOWN_BUCKETS,
    Factors,
    Ids,
    bigram_factors,
    bigram_ids,
    groups,
    places,
    places_among,
)
from siamese_news.lexical_head.options import TermOptions


@dataclass(frozen=True, slots=True)
class TermWeights:
    """Weights of words and pairs, and what turns texts into vectors with them."""

    vocabulary: NDArray[Any]  # (V,) of its words
    unknown: NDArray[Any]  # of words outside the vocabulary, by hash modulo the length
    pairs: NDArray[Any]  # (2^19,), by hash
    typical: Sequence[float]  # lengths of a post's vectors, of words and of pairs
    options: TermOptions
    headline: float  # the weight of the headline vector in an article's; 0 for none

    @property
    def tables(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The three tables of weights."""
        return self.vocabulary, self.unknown, self.pairs

    def of(self, ids: Ids) -> NDArray[Any]:
        """The weights of ids."""
        weights = np.empty(len(ids))
        mine = groups(ids, len(self.vocabulary))
        for group, table, place in zip(
            mine, self.tables, places(ids, self.tables), strict=True
        ):
            weights[group] = table[place]
        return weights

    def articles(
        self, texts: Sequence[Ids], columns: Ids, factors: Factors | None = None
    ) -> sparse.csr_matrix:
        """Vectors of articles over the sorted ids `columns`, which hold all their features.

        The texts are ids of content words in their order, with a factor for each.
        """
        texts = [text[: self.options.article_tokens] for text in texts]
        if factors is None:
            factors = [np.ones(len(text)) for text in texts]
        vectors = self._article_rows(texts, columns, factors, lead=True)
        words = self.options.focused_pool.headline
        if self.headline and words:
            first = self._article_rows(
                [ids[:words] for ids in texts], columns, factors, lead=False
            )
            vectors = (1 - self.headline) * vectors + self.headline * first
        return sparse.csr_matrix(vectors)

    def _article_rows(
        self, texts: Sequence[Ids], columns: Ids, factors: Factors, *, lead: bool
    ) -> sparse.csr_matrix:
        rows = []
        columns_of = []
        values = []
        for row, (text, row_factors) in enumerate(zip(texts, factors, strict=True)):
            for share, ids, by in self._parts(text, row_factors[: len(text)]):
                ids, first, place, counts = np.unique(
                    ids, return_index=True, return_inverse=True, return_counts=True
                )
                means = np.bincount(place, weights=by, minlength=len(ids)) / counts
                weights = self.of(ids) * (1 + np.log(counts)) * means
                if lead:
                    weights = weights / (1 + first / self.options.lead_half_life)
                length = np.linalg.norm(weights)
                rows.append(np.full(len(ids), row))
                columns_of.append(np.searchsorted(columns, ids))
                values.append(share * weights / (length if length > 0 else 1.0))
        return _csr(values, rows, columns_of, (len(texts), len(columns)))

    def _parts(
        self, text: Ids, factors: NDArray[Any]
    ) -> list[tuple[float, Ids, NDArray[Any]]]:
        """Share in the score, ids and factors of the words, and of the pairs if they count."""
        phrases = self.options.bigram_weight
        words = (1 - phrases, text, factors)
        return (
            [words, (phrases, bigram_ids(text), bigram_factors(factors))]
            if phrases
            else [words]
        )

    def posts(
        self,
        rows: Ids,
        ids: Ids,
        posts: int,
        columns: Ids,
        factors: NDArray[Any] | None = None,
    ) -> sparse.csr_matrix:
        """Vectors of posts over the sorted ids `columns`, from the pairs that `distinct` returns.

        There is a factor for each pair (`mean_factors`).
        """
        weights = self.of(ids)
        if factors is not None:
            weights *= factors
        scales = self.scales(rows, ids, weights, posts)
        for group, scale in zip(_words_and_pairs(ids), scales, strict=True):
            weights[group] /= scale[rows[group]]
        is_column, column = places_among(columns, ids)
        shape = (posts, len(columns))
        return _csr([weights[is_column]], [rows[is_column]], [column], shape)

    def scales(
        self, rows: Ids, ids: Ids, weights: NDArray[Any], posts: int
    ) -> list[NDArray[Any]]:
        """The divisors of the weights of P posts' words and of those of their pairs: twice (P,).

        Rows and ids are those of `distinct`; the weights include factors.
        """
        scales = []
        for group, typical in zip(_words_and_pairs(ids), self.typical, strict=True):
            squares = np.bincount(
                rows[group], weights=weights[group] ** 2, minlength=posts
            )
            scale = (1 - self.options.pivot) * typical + self.options.pivot * np.sqrt(
                squares
            )
            scale[scale == 0] = 1.0
            scales.append(scale)
        return scales


class PoolCounts:
    """Document frequencies of a pool in bounded memory.

    Attributes:
        posts: how many posts were counted.
        counts: of the words (V,), of unknown words by hash (2^20,), of pairs by hash (2^19,).
    """

    def __init__(self, words: int) -> None:
        self.posts = 0
        self.counts = [
            np.zeros(size, np.int64)
            for size in (words, UNKNOWN_BUCKETS, BIGRAM_BUCKETS)
        ]

    def add(self, rows: Ids, ids: Ids, posts: int) -> None:
        """Add `posts` texts with the distinct (row, id) pairs of their features."""
        for counts, place in zip(self.counts, places(ids, self.counts), strict=True):
            np.add.at(counts, place, 1)
        self.posts += posts

    def of(self, ids: Ids) -> NDArray[np.float64]:
        """How many posts have each of some features; those that share a counter, all of them."""
        counts_of = np.zeros(len(ids))
        mine = groups(ids, len(self.counts[0]))
        for group, counts, place in zip(
            mine, self.counts, places(ids, self.counts), strict=True
        ):
            counts_of[group] = counts[place]
        return counts_of

    def typical(self, weights: TermWeights) -> list[float]:
        """Root mean square length of the posts' vectors, of words and of pairs."""
        squares = [
            float((counts * np.resize(table, len(counts)) ** 2).sum())
            for counts, table in zip(self.counts, weights.tables, strict=True)
        ]
        means = [(squares[0] + squares[1]), squares[2]]
        return [float(np.sqrt(mean / max(self.posts, 1))) or 1.0 for mean in means]


def _words_and_pairs(ids: Ids) -> tuple[NDArray[Any], NDArray[Any]]:
    paired = ids >= FIRST_BIGRAM
    return ~paired, paired


def _csr(
    values: list[Any], rows: list[Any], columns: list[Any], shape: tuple[int, int]
) -> sparse.csr_matrix:
    def joined(parts: list[Any]) -> NDArray[Any]:
        return np.concatenate(parts) if parts else np.zeros(0)

    places = (joined(rows).astype(np.int64), joined(columns).astype(np.int64))
    return sparse.csr_matrix((joined(values).astype(np.float32), places), shape=shape)
