"""The statistics of a pool, in a form that can be saved and merged in any order."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head.weights import PoolCounts
from siamese_news.scoring.candidates import Candidates

BINS = 1000
"""Bins of an article's cosines over the pool, from -1 to 1."""


def cosine_bins(cosines: NDArray[np.floating]) -> NDArray[np.int64]:
    """The bin of each cosine; a bin's upper bound belongs to it."""
    scaled = (cosines.astype(np.float64) + 1) * (BINS / 2)
    bins = np.ceil(scaled).astype(np.int64) - 1
    return np.clip(bins, 0, BINS - 1)


class PoolState:
    """Document frequencies of so many words, and what concerns each of A articles.

    Everything here is a sum, or a best-of with a fixed order among ties: posts can be observed in
    any order and in any number of parts.

    Attributes:
        counts: the pool's document frequencies.
        about: (A,) how many posts are about the article's story by the lexical score.
        cosines: (A, bins) how many posts have which cosine.
        candidates: so many of each article's best posts.
        surface: counters of words and n-grams (`SurfaceScores.count`).
    """

    def __init__(
        self, words: int, articles: int, candidates: int, surface: int = 0
    ) -> None:
        self.counts = PoolCounts(words)
        self.about = np.zeros(articles, np.int64)
        self.cosines = np.zeros((articles, BINS), np.int32)
        self.candidates = Candidates(articles, candidates)
        self.surface = np.zeros(surface, np.int64)

    def add_cosines(self, cosines: NDArray[np.floating]) -> None:
        """Count the cosines (A, P) of P posts."""
        for row, bins in zip(self.cosines, cosine_bins(cosines), strict=True):
            row += np.bincount(bins, minlength=BINS).astype(np.int32)

    def cosine_quantiles(self, quantile: float) -> NDArray[np.float32]:
        """(A,) the least bin bound from 0 that this share of an article's cosines keeps below.

        A text that no vector is known of has the cosine 0, so what exceeds a bound is like the
        article.
        """
        below = self.cosines.cumsum(axis=1)
        totals = below[:, -1:]
        reached = below >= np.ceil(quantile * totals)
        first_bins = reached.argmax(axis=1)
        bounds = (first_bins + 1) / (BINS / 2) - 1
        return np.maximum(bounds, 0).astype(np.float32)

    def merge(self, pool: "PoolState") -> None:
        """Add the statistics of other posts of the same pool, for the same articles."""
        for counts, added_counts in zip(
            self.counts.counts, pool.counts.counts, strict=True
        ):
            counts += added_counts
        self.counts.posts += pool.counts.posts
        self.surface += pool.surface
        self.about += pool.about
        self.cosines += pool.cosines
        self.candidates.merge(pool.candidates)

    def saved(self, **arrays_of_scorer: NDArray[Any]) -> bytes:
        """All of it, and further arrays, as bytes."""
        arrays: dict[str, NDArray[Any]] = {"posts": np.array(self.counts.posts)}
        for table_number, counts in enumerate(self.counts.counts):
            arrays |= _without_zeros(
                counts, f"places{table_number}", f"counts{table_number}"
            )
        arrays |= _without_zeros(self.surface, "of_surface", "surface")
        arrays |= _without_zeros(self.cosines, "bins", "in_bins")
        arrays |= self.candidates.plain()
        stream = io.BytesIO()
        np.savez(
            stream, allow_pickle=False, about=self.about, **arrays, **arrays_of_scorer
        )
        return stream.getvalue()

    def restore(
        self, state: bytes, of: Sequence[int] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Continue from the bytes of `saved` and return its arrays; `of` as in `Scorer.restore`."""
        with np.load(io.BytesIO(state), allow_pickle=False) as file:
            saved = {name: file[name] for name in file.files}
        self.counts.posts = int(saved["posts"])
        for table_number, counts in enumerate(self.counts.counts):
            _fill(
                counts, saved[f"places{table_number}"], saved[f"counts{table_number}"]
            )
        _fill(self.surface, saved["of_surface"], saved["surface"])
        cosines = np.zeros((len(saved["about"]), BINS), np.int32)
        _fill(cosines, saved["bins"], saved["in_bins"])
        which = np.arange(len(cosines)) if of is None else np.array(of, np.int64)
        self.about = saved["about"][which]
        self.cosines = cosines[which]
        self.candidates = Candidates.restored(
            saved, self.candidates.count, which.tolist()
        )
        return saved


def _without_zeros(
    values: NDArray[Any], indices_name: str, values_name: str
) -> dict[str, NDArray[Any]]:
    """The places of the values that are not 0, and these, each under its name."""
    indices = np.flatnonzero(values)
    return {indices_name: indices, values_name: values.ravel()[indices]}


def _fill(
    values: NDArray[Any], indices: NDArray[np.int64], numbers: NDArray[Any]
) -> None:
    """Set all values to 0, but for those at these places; the opposite of `_without_zeros`."""
    values[...] = 0
    values.flat[indices] = numbers
