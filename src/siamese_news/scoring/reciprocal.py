"""Reciprocal rank fusion of words and vectors."""

import io
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from siamese_news.scoring.mixture import MixtureScorer
from siamese_news.scoring.scorer import Content, ScoreParts, Scorer
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.stopwatch import timed

K = 60
"""The constant of Cormack, Clarke and Büttcher (SIGIR 2009)."""

# A rank is found by counting scores in bins of this width; posts in one bin share a rank.
_BINS_A_UNIT = 10_000
_LOWEST, _HIGHEST = -1.0, 2.0


class ReciprocalScorer(Scorer):
    """``(K + 1) / 2`` times the sum of ``1 / (K + rank)`` over words and vectors.

    The best post of both has 1. Ranks are those in the whole pool, so it takes a pass more.

    Args:
        mixture: whose parts are ranked, with a dense head that counts.
        articles: A.
    """

    kind = "reciprocal rank"

    def __init__(self, mixture: MixtureScorer, articles: int) -> None:
        self._mixture = mixture
        bins = round((_HIGHEST - _LOWEST) * _BINS_A_UNIT) + 1
        self._counts = np.zeros((2, articles, bins), np.int64)
        self._settled = False

    @property
    def observing(self) -> bool:
        """See `Scorer`: first the mixture observes, then ranks are counted."""
        return not self._settled

    @override
    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        return self._mixture.token_ids(posts)

    @timed("scoring")
    @override
    def observe(self, posts: Content) -> None:
        if self._mixture.observing:
            self._mixture.observe(posts)
            return
        lexical, dense = self._mixture.parts(posts)
        assert dense is not None
        for counts, own in zip(self._counts, (lexical, dense), strict=True):
            for row, bins in zip(counts, self._bins(own), strict=True):
                row += np.bincount(bins, minlength=len(row))

    @timed("scoring")
    @override
    def settle(self) -> str:
        if self._mixture.observing:
            return self._mixture.settle()
        self._settled = True
        return "ranks by words and by vectors are now known"

    @timed("scoring")
    def scores(self, posts: Content) -> np.ndarray:
        """See `Scorer`; before the ranks are known, those of the mixture."""
        if not self._settled:
            return self._mixture.scores(posts)
        lexical, dense = self._mixture.parts(posts)
        assert dense is not None
        fused: np.ndarray = 1 / (K + self._ranks(0, lexical)) + 1 / (K + self._ranks(1, dense))
        return fused * np.float32((K + 1) / 2)

    @override
    def decisions(self) -> list[str]:
        return self._mixture.decisions()

    def _ranks(self, part: int, scores: np.ndarray) -> np.ndarray:
        """(A, P) float32: one more than the posts in higher bins."""
        counts = self._counts[part]
        higher = counts.sum(axis=1, keepdims=True) - counts.cumsum(axis=1)
        found: np.ndarray = np.take_along_axis(higher, self._bins(scores), axis=1) + 1
        return found.astype(np.float32)

    @staticmethod
    def _bins(scores: np.ndarray) -> np.ndarray:
        inside = np.clip(scores.astype(np.float64), _LOWEST, _HIGHEST)
        return np.rint((inside - _LOWEST) * _BINS_A_UNIT).astype(np.int64)

    @override
    def matched_terms(self, posts: Sequence[str], limit: int = 8) -> list[list[str]]:
        return self._mixture.matched_terms(posts, limit)

    def parts_of(self, post: str, article: int) -> ScoreParts:
        """What the score that the mixture would have is made of."""
        return self._mixture.parts_of(post, article)

    @override
    def article_term_shares(self, article: int) -> dict[int, float]:
        return self._mixture.article_term_shares(article)

    @override
    def article_weight(self, article: int) -> float:
        return self._mixture.article_weight(article)

    @override
    def state(self) -> bytes:
        stream = io.BytesIO()
        places = np.flatnonzero(self._counts)
        np.savez(
            stream,
            allow_pickle=False,
            settled=np.array(self._settled),
            shape=np.array(self._counts.shape),
            places=places,
            counts=self._counts.ravel()[places],
            mixture=np.frombuffer(self._mixture.state(), np.uint8),
        )
        return stream.getvalue()

    @override
    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            self._settled = bool(saved["settled"])
            counts = np.zeros(saved["shape"], np.int64)
            counts.ravel()[saved["places"]] = saved["counts"]
            self._counts = counts if of is None else counts[:, list(of)]
            self._mixture.restore(saved["mixture"].tobytes(), of)

    @override
    def merge(self, state: bytes) -> None:
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            if self._mixture.observing:
                self._mixture.merge(saved["mixture"].tobytes())
            else:
                self._counts.ravel()[saved["places"]] += saved["counts"]
