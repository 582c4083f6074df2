"""Document frequencies of a pool, in bounded memory."""

from typing import TYPE_CHECKING

import numpy as np

from siamese_news.lexical_head.features import BIGRAM_BUCKETS, UNKNOWN_BUCKETS, Ids, places

if TYPE_CHECKING:
    from siamese_news.lexical_head.weights import TermWeights


class PoolCounts:
    """Document frequencies of a pool in bounded memory.

    Args:
        words: V.

    Attributes:
        posts: how many posts were counted.
        counts: of the words (V,), of unknown words by hash (2^20,), of pairs by hash (2^19,).
    """

    def __init__(self, words: int) -> None:
        self.posts = 0
        self.counts = [
            np.zeros(size, np.int64) for size in (words, UNKNOWN_BUCKETS, BIGRAM_BUCKETS)
        ]

    def add(self, rows: Ids, ids: Ids, posts: int) -> None:
        """Add `posts` texts with the distinct (row, id) pairs of their features."""
        for counts, place in zip(self.counts, places(ids, self.counts), strict=True):
            np.add.at(counts, place, 1)
        self.posts += posts

    def typical(self, weights: "TermWeights") -> list[float]:
        """Root mean square length of the posts' vectors, of words and of pairs."""
        squares = [
            float((counts * np.resize(table, len(counts)) ** 2).sum())
            for counts, table in zip(self.counts, weights.tables, strict=True)
        ]
        means = [(squares[0] + squares[1]), squares[2]]
        return [float(np.sqrt(mean / max(self.posts, 1))) or 1.0 for mean in means]
