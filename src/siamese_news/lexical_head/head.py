"""The lexical head: background document frequencies, and the weights that follow from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.errors import InputError
from siamese_news.lexical_head.options import TermOptions
from siamese_news.lexical_head.term_ids import (
    BIGRAM_BUCKETS,
    FIRST_BIGRAM,
    Ids,
    bigram_factors,
    bigram_ids,
    blocks,
    distinct,
    distinct_with_bigrams,
    mean_factors,
    unit_rows,
)
from siamese_news.lexical_head.weights import PoolCounts, TermWeights
from siamese_news.text.content_words import smoothed_idf

# A model folder keeps the logarithm of a pair's counter in a byte.
_STEPS = 16
# Bounds of typical lengths.
_SHORTEST = 0.001
_LONGEST = 100  # in weights of the rarest words


class TermHead:
    """Background document frequencies and the options of the lexical head.

    Args:
        frequencies: (V,), in how many background texts each word occurs.
        pairs: (2^19,) uint8, the counters of pairs (`bigram_counters`).
        texts: how many background texts there were.
        typical: root mean square lengths of a background post's vectors, of words and of pairs.
        options: the numbers.
    """

    def __init__(
        self,
        frequencies: NDArray[Any],
        pairs: NDArray[np.uint8],
        *,
        texts: int,
        typical: Sequence[float],
        options: TermOptions,
    ) -> None:
        self.frequencies: NDArray[np.int32] = np.asarray(frequencies, np.int32)
        self.pairs = np.asarray(pairs, np.uint8)
        self.texts = texts
        self.typical = list(typical)
        self.options = options

    @classmethod
    def of_texts(
        cls,
        frequencies: NDArray[Any],
        articles: Sequence[Ids],
        posts: Sequence[Ids],
        options: Mapping[str, Any],
    ) -> "TermHead":
        """The head whose background are these texts, as word ids, with an option of conf/terms."""
        background_texts = [*articles, *posts]
        pairs = bigram_counters(background_texts)
        kind = TermOptions.of(options)
        head = cls(
            frequencies,
            pairs,
            texts=len(background_texts),
            typical=(1.0, 1.0),
            options=kind,
        )
        pool = PoolCounts(len(head.frequencies))
        for block in blocks(posts):
            pool.add(*head.distinct(block))
        head.typical = pool.typical(head.background())
        return head

    def config(self) -> dict[str, Any]:
        """Plain values to rebuild it with the frequencies."""
        return {"texts": self.texts, "typical": self.typical, **self.options.plain()}

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays that a model folder keeps, by name."""
        return {f"{prefix}frequencies": self.frequencies, f"{prefix}pairs": self.pairs}

    @classmethod
    def rebuilt(cls, config: Mapping[str, Any] | None, words: int) -> "TermHead | None":
        """A head of so many words with the options of `config` and no frequencies yet, or none.

        Raises:
            InputError: an option, the number of texts or the typical lengths are of another form.
        """
        if config is None:
            return None
        options = dict(config)
        texts = options.pop("texts")
        typical = options.pop("typical")
        if type(texts) is not int or not 0 <= texts <= 2**62:
            raise InputError(
                f"terms: texts={texts!r}; expected how many background texts there were"
            )
        lengths = typical if isinstance(typical, list) else []
        if len(lengths) != 2 or not all(
            type(length) in (int, float) and length > 0 for length in lengths
        ):
            raise InputError(
                f"terms: typical={typical!r}; expected two numbers above 0"
            )
        return cls(
            np.zeros(words),
            empty_bigram_counters(),
            texts=texts,
            typical=typical,
            options=TermOptions.of(options),
        )

    def fill(self, frequencies: NDArray[Any], pairs: NDArray[np.uint8]) -> None:
        """Take the frequencies that belong to a `rebuilt` head.

        Raises:
            InputError: the number of texts or the typical lengths cannot be those of these texts.
        """
        largest = int(frequencies.max(initial=0))
        if int(frequencies.min(initial=0)) < 0 or largest > self.texts:
            raise InputError(
                f"terms: texts={self.texts}, and a word is in {largest} of them; expected at least as "
                "many texts as the most frequent word is in"
            )
        self.frequencies = frequencies
        self.pairs = pairs
        # No post is longer than one of ten thousand words that no background text has.
        rarest = smoothed_idf(np.zeros(1), self.texts, add=1.0)[0] ** self.options.power
        if not all(_SHORTEST <= length <= _LONGEST * rarest for length in self.typical):
            raise InputError(
                f"terms: typical={self.typical}; expected the lengths of posts' vectors, from "
                f"{_SHORTEST} to {_LONGEST * rarest:.0f}"
            )

    def features(self, ids: Ids) -> Ids:
        """The ids of a text's words, then of its pairs."""
        if not self.options.bigram_weight:
            return ids
        return np.concatenate([ids, bigram_ids(ids)])

    def feature_factors(self, factors: NDArray[Any]) -> NDArray[Any]:
        """The factors of a text's words, then of its pairs (`features`)."""
        if not self.options.bigram_weight:
            return factors
        return np.concatenate([factors, bigram_factors(factors)])

    def distinct(self, texts: Sequence[Ids]) -> tuple[Ids, Ids, int]:
        """(row, id) pairs of the texts' features without repetitions, and how many texts."""
        if not self.options.bigram_weight:
            return distinct(texts)
        return distinct_with_bigrams(texts)

    def background(self) -> TermWeights:
        """Weights by the background IDF."""
        return self._weights(self._idfs(), self.typical)

    def focused(self, pool: PoolCounts, degree: float) -> TermWeights:
        """Weights for a pool that is mostly about an article's story, by the degree x in (0, 1]."""
        rule = self.options.focused_pool
        share = degree * rule.pool
        idfs = [
            idf ** (1 - share) * smoothed_idf(counts, pool.posts, add=1.0) ** share
            for idf, counts in zip(self._idfs(), pool.counts, strict=True)
        ]
        weights = self._weights(
            idfs, [1.0, 1.0], headline=degree * rule.headline_weight
        )
        return replace(weights, typical=pool.typical(weights))

    def _weights(
        self,
        idfs: Sequence[NDArray[Any]],
        typical: Sequence[float],
        *,
        headline: float = 0.0,
    ) -> TermWeights:
        of_words, unknown, pairs = (idf**self.options.power for idf in idfs)
        return TermWeights(
            of_words, unknown, pairs, list(typical), self.options, headline
        )

    def _idfs(self) -> list[NDArray[Any]]:
        """Background IDF of the words, of an unknown word, and of the pairs' counters."""
        logarithms = self.pairs.astype(np.float64) / _STEPS
        counts = (self.frequencies, np.zeros(1), np.expm1(logarithms))
        return [smoothed_idf(count, self.texts, add=1.0) for count in counts]


def empty_bigram_counters() -> NDArray[np.uint8]:
    """Counters that have seen nothing."""
    return np.zeros(BIGRAM_BUCKETS, np.uint8)


def bigram_counters(texts: Iterable[Ids]) -> NDArray[np.uint8]:
    """The counters of pairs over background texts, as `TermHead` takes them: (2^19,) uint8."""
    counts = np.zeros(BIGRAM_BUCKETS, np.int64)
    for block in blocks(texts):
        _, pairs, _ = distinct([bigram_ids(ids) for ids in block])
        counts += np.bincount(pairs % BIGRAM_BUCKETS, minlength=BIGRAM_BUCKETS)
    steps = np.rint(np.log1p(counts) * _STEPS)
    return steps.clip(0, 255).astype(np.uint8)


def mean_vectors(
    terms: TermHead,
    weights: TermWeights,
    lists: Iterable[Sequence[Ids]],
    columns: Ids,
    factors: Sequence[Sequence[NDArray[np.float32]]] | None = None,
) -> sparse.csr_matrix:
    """The mean vector of each list of posts, shaped like an article's, for feedback.

    Each post has length 1 in its words and in its pairs; so has their mean, times the share that
    the words and the pairs have in the score. The mean of an empty list is zero.

    The lists are A lists of posts, each its word ids, with a factor for each; the result is
    (A, len(columns)).
    """
    phrases = terms.options.bigram_weight
    parts = []
    for number, posts in enumerate(lists):
        rows, ids, count = terms.distinct(posts)
        means = None
        if factors is not None:
            features = [terms.features(post) for post in posts]
            feature_factors = list(map(terms.feature_factors, factors[number]))
            means = mean_factors(features, feature_factors)
        vectors = weights.posts(rows, ids, count, columns, means)
        paired = columns >= FIRST_BIGRAM
        mean = sparse.csr_matrix((1, len(columns)), dtype=np.float32)
        for group, share in ((~paired, 1 - phrases), (paired, phrases)):
            of_group = vectors @ sparse.diags_array(group.astype(np.float32))
            sums = unit_rows(of_group).sum(axis=0)
            direction = unit_rows(sparse.csr_matrix(np.asarray(sums).reshape(1, -1)))
            mean = mean + share * direction
        parts.append(mean)
    return sparse.csr_matrix(sparse.vstack(parts), dtype=np.float32)
