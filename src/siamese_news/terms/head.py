"""The lexical head: background document frequencies, and the weights that follow from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from siamese_news.terms.counts import PoolCounts
from siamese_news.terms.features import (
    PAIRS,
    Ids,
    blocks,
    distinct,
    distinct_with_pairs,
    pair_factors,
    pairs_of,
)
from siamese_news.terms.options import TermOptions
from siamese_news.terms.weights import TermWeights

# A model folder keeps the logarithm of a pair's counter in a byte.
_STEPS = 16


class TermHead(nn.Module):
    """Background document frequencies and the options of the lexical head.

    Args:
        frequencies: (V,), in how many background texts each word occurs.
        pairs: (2^19,) uint8, the counters of pairs (`pair_counters`).
        texts: how many background texts there were.
        typical: root mean square lengths of a background post's vectors, of words and of pairs;
            None where `set_typical` reckons them.
        options: the numbers.
    """

    frequencies: Tensor
    pairs: Tensor

    def __init__(
        self,
        frequencies: Tensor,
        pairs: Tensor,
        *,
        texts: int,
        typical: Sequence[float] | None,
        options: TermOptions,
    ) -> None:
        super().__init__()
        self.register_buffer("frequencies", frequencies.to(torch.int32))
        self.register_buffer("pairs", pairs.to(torch.uint8))
        self.texts = texts
        self.typical = list(typical or (1.0, 1.0))
        self.options = options

    def config(self) -> dict[str, Any]:
        """Plain values to rebuild it with the frequencies."""
        return {"texts": self.texts, "typical": self.typical, **self.options.plain()}

    @classmethod
    def rebuilt(cls, config: Mapping[str, Any] | None, words: int) -> "TermHead | None":
        """A head of so many words with the options of `config` and no frequencies yet, or none."""
        if config is None:
            return None
        options = dict(config)
        texts, typical = options.pop("texts"), options.pop("typical")
        empty = torch.zeros(words)
        return cls(empty, no_pairs(), texts=texts, typical=typical, options=TermOptions.of(options))

    def features(self, ids: Ids) -> Ids:
        """The ids of a text's words, then of its pairs."""
        return np.concatenate([ids, pairs_of(ids)]) if self.options.phrases else ids

    def feature_factors(self, factors: NDArray[Any]) -> NDArray[Any]:
        """The factors of a text's words, then of its pairs (`features`)."""
        if not self.options.phrases:
            return factors
        return np.concatenate([factors, pair_factors(factors)])

    def distinct(self, texts: Sequence[Ids]) -> tuple[Ids, Ids, int]:
        """(row, id) pairs of the texts' features without repetitions, and how many texts."""
        return distinct_with_pairs(texts) if self.options.phrases else distinct(texts)

    def background(self) -> TermWeights:
        """Weights by the background IDF."""
        return self._weights(self._idfs(), self.typical, headline=0)

    def narrowed(self, pool: PoolCounts) -> TermWeights:
        """Weights for a pool that is mostly about the story."""
        share = self.options.narrow.pool
        idfs = [
            mine ** (1 - share) * _idf(own, pool.posts) ** share
            for mine, own in zip(self._idfs(), pool.counts, strict=True)
        ]
        weights = self._weights(idfs, [1.0, 1.0], headline=self.options.narrow.headline)
        return replace(weights, typical=pool.typical(weights))

    def _weights(
        self, idfs: Sequence[NDArray[Any]], typical: Sequence[float], *, headline: int
    ) -> TermWeights:
        known, unknown, pairs = (idf**self.options.power for idf in idfs)
        return TermWeights(known, unknown, pairs, list(typical), self.options, headline)

    def _idfs(self) -> list[NDArray[Any]]:
        """Background IDF of the words, of an unknown word, and of the pairs' counters."""
        logarithms = self.pairs.cpu().numpy().astype(np.float64) / _STEPS
        counts = (self.frequencies.cpu().numpy(), np.zeros(1), np.expm1(logarithms))
        return [_idf(count, self.texts) for count in counts]

    def set_typical(self, posts: Iterable[Ids]) -> None:
        """Reckon the typical lengths from background posts."""
        pool = PoolCounts(len(self.frequencies))
        for block in blocks(posts):
            pool.add(*self.distinct(block))
        self.typical = pool.typical(self.background())


def no_pairs() -> Tensor:
    """Counters that have seen nothing."""
    return torch.zeros(PAIRS, dtype=torch.uint8)


def pair_counters(texts: Iterable[Ids]) -> Tensor:
    """The counters of pairs over background texts, as `TermHead` takes them: (2^19,) uint8."""
    counts = np.zeros(PAIRS, np.int64)
    for block in blocks(texts):
        _, pairs, _ = distinct([pairs_of(ids) for ids in block])
        counts += np.bincount(pairs % PAIRS, minlength=PAIRS)
    steps = np.rint(np.log1p(counts) * _STEPS).clip(0, 255)
    return torch.from_numpy(steps.astype(np.uint8))


def _idf(frequencies: NDArray[Any], texts: int) -> NDArray[Any]:
    """ln((1 + N) / (1 + df)) + 1, scikit-learn's smoothed IDF."""
    return np.log((1.0 + texts) / (1.0 + frequencies)) + 1.0
