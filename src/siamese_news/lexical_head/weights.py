"""Weights of words and pairs, the sparse vectors they make, and the counts of a pool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.options import TermOptions
from siamese_news.lexical_head.term_ids import (
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


def looked_up(ids: Ids, tables: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """The values of ids in tables of words, of words outside the vocabulary, and of pairs."""
    values = np.empty(len(ids))
    masks = groups(ids, len(tables[0]))
    for mask, table, indices in zip(masks, tables, places(ids, tables), strict=True):
        values[mask] = table[indices]
    return values


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
        return looked_up(ids, self.tables)

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
            headlines = [ids[:words] for ids in texts]
            headline_vectors = self._article_rows(
                headlines, columns, factors, lead=False
            )
            vectors = (1 - self.headline) * vectors + self.headline * headline_vectors
        return sparse.csr_matrix(vectors)

    def _article_rows(
        self, texts: Sequence[Ids], columns: Ids, factors: Factors, *, lead: bool
    ) -> sparse.csr_matrix:
        """(texts, C) the vectors; with `lead`, words at the beginning of a text count more."""
        rows = []
        columns_of = []
        values = []
        for row, (text, row_factors) in enumerate(zip(texts, factors, strict=True)):
            for share, occurrences, by in self._parts(text, row_factors[: len(text)]):
                ids, first_occurrence, inverse, counts = np.unique(
                    occurrences,
                    return_index=True,
                    return_inverse=True,
                    return_counts=True,
                )
                sums = np.bincount(inverse, weights=by, minlength=len(ids))
                weights = self.of(ids) * (1 + np.log(counts)) * (sums / counts)
                if lead:
                    weights = weights / (
                        1 + first_occurrence / self.options.lead_half_life
                    )
                length = np.linalg.norm(weights) or 1.0
                rows.append(np.full(len(ids), row))
                columns_of.append(np.searchsorted(columns, ids))
                values.append(share * weights / length)
        return _csr(values, rows, columns_of, (len(texts), len(columns)))

    def _parts(
        self, text: Ids, factors: NDArray[Any]
    ) -> list[tuple[float, Ids, NDArray[Any]]]:
        """Share in the score, ids and factors of the words, and of the pairs if they count."""
        phrases = self.options.bigram_weight
        words = (1 - phrases, text, factors)
        if not phrases:
            return [words]
        return [words, (phrases, bigram_ids(text), bigram_factors(factors))]

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
            group_squares = weights[group] ** 2
            squares = np.bincount(rows[group], group_squares, minlength=posts)
            lengths = np.sqrt(squares)
            scale = (1 - self.options.pivot) * typical + self.options.pivot * lengths
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
        for counts, indices in zip(self.counts, places(ids, self.counts), strict=True):
            np.add.at(counts, indices, 1)
        self.posts += posts

    def of(self, ids: Ids) -> NDArray[np.float64]:
        """How many posts have each of some features; those that share a counter, all of them."""
        return looked_up(ids, self.counts)

    def typical(self, weights: TermWeights) -> list[float]:
        """Root mean square length of the posts' vectors, of words and of pairs."""
        of_words, of_unknown, of_pairs = (
            float((counts * np.resize(table, len(counts)) ** 2).sum())
            for counts, table in zip(self.counts, weights.tables, strict=True)
        )
        sums = [of_words + of_unknown, of_pairs]
        return [float(np.sqrt(total / max(self.posts, 1))) or 1.0 for total in sums]


def _words_and_pairs(ids: Ids) -> tuple[NDArray[Any], NDArray[Any]]:
    paired = ids >= FIRST_BIGRAM
    return ~paired, paired


def _csr(
    values: list[Any], rows: list[Any], columns: list[Any], shape: tuple[int, int]
) -> sparse.csr_matrix:
    def joined(parts: list[Any]) -> NDArray[Any]:
        return np.concatenate(parts) if parts else np.zeros(0)

    coordinates = (joined(rows).astype(np.int64), joined(columns).astype(np.int64))
    return sparse.csr_matrix(
        (joined(values).astype(np.float32), coordinates), shape=shape
    )
