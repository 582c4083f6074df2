"""Lets a scorer learn from the pool of an index; it observes only posts that can matter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from siamese_news.model.base import BLOCK
from siamese_news.scoring import MixtureScorer, ScoreForm
from siamese_news.scoring.pool import BINS, cosine_bins
from siamese_news.search.index.bounds import Bounds
from siamese_news.search.index.chunks import CELLS, Chosen, Chunk, ahead
from siamese_news.search.seeds import MILLION
from siamese_news.text.token_ids import TokenIds

Rows = NDArray[np.int64]
_MARGIN = 3.0  # how many times as many cosines are kept as the quantile leaves above it


class CosineTail:
    """The highest cosines of one article over a pool, each within an error, to find a quantile.

    Cosines that are surely not above the `floor` are only counted; the first block sets it if it is
    None.
    """

    def __init__(self, quantile: float, floor: float | None = None) -> None:
        self._quantile, self.floor = quantile, floor
        self._rows: list[Rows] = []
        self._cosines: list[NDArray[np.float32]] = []
        self._errors: list[NDArray[np.float32]] = []
        self._posts = 0

    def add(self, rows: Rows, cosines: NDArray[np.float32], errors: NDArray[np.float32]) -> None:
        """Take a block of posts: their rows, cosines and bounds on the errors of these."""
        if not len(rows):
            return
        if self.floor is None:
            share = min(1.0, _MARGIN * (1 - self._quantile))
            self.floor = float(np.quantile(cosines, 1 - share)) - 0.01
        kept = np.flatnonzero(cosines + errors > self.floor)
        self._rows.append(rows[kept])
        self._cosines.append(cosines[kept])
        self._errors.append(errors[kept])
        self._posts += len(rows)

    def counted(self, exact: Callable[[Rows], NDArray[np.float32]]) -> NDArray[np.int32] | None:
        """The histogram of `PoolState`, with the quantile in the right bin.

        `exact` computes the cosines of some rows. None if the floor is too high.
        """
        rows = np.concatenate([np.zeros(0, np.int64), *self._rows])
        cosines = np.concatenate([np.zeros(0, np.float32), *self._cosines])
        errors = np.concatenate([np.zeros(0, np.float32), *self._errors])
        low, high = cosine_bins(cosines - errors), cosine_bins(cosines + errors)
        need = np.ceil(self._quantile * self._posts)
        # At least, and at most, so many posts are in a bin or below it.
        surely = self._posts - _above(high)
        maybe = self._posts - _above(low)
        first, last = int((maybe >= need).argmax()), int((surely >= need).argmax())
        floor = -1.0 if self.floor is None else self.floor
        if first <= int(cosine_bins(np.array([floor]))[0]) and floor > 0:
            return None
        unclear = np.flatnonzero((low <= last) & (high > first) & (low != high))
        bins = np.where(high <= first, high, low)
        if first != last and len(unclear):
            bins[unclear] = cosine_bins(exact(rows[unclear]))
        counts = np.bincount(bins, minlength=BINS)
        counts[0] += self._posts - len(rows)
        return counts.astype(np.int32)


def _above(bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of values above each bin."""
    counts = np.bincount(bins, minlength=BINS)
    return counts.sum() - counts.cumsum()


_TOGETHER = 2048  # posts of each article that are bounded more closely at once, the best first


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds of n posts before they are scored.

    Attributes:
        cosines: (A, n).
        errors: (n,) upper bounds on the errors of the cosines.
        most: (A, n) upper bounds on the scores, in millionths.
    """

    cosines: NDArray[np.float32]
    errors: NDArray[np.float32]
    most: NDArray[np.float32]

    def of(self, columns: NDArray[np.bool_] | NDArray[np.intp]) -> "Bounded":
        """The bounds of some of the posts."""
        return Bounded(self.cosines[:, columns], self.errors[columns], self.most[:, columns])

    @classmethod
    def joined(cls, parts: Sequence["Bounded"]) -> "Bounded":
        """The bounds of all posts of some parts."""
        return cls(
            np.concatenate([part.cosines for part in parts], axis=1),
            np.concatenate([part.errors for part in parts]),
            np.concatenate([part.most for part in parts], axis=1),
        )


def _cosines(bounds: Bounds, chunk: Chunk) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The cosines of a chunk's live rows, and upper bounds on their errors."""
    cosines, errors = bounds.cosines(chunk.segment, slice(chunk.start, chunk.end))
    return chunk.of_live(cosines), chunk.of_live(errors)


def learn(scorer: MixtureScorer, form: ScoreForm, posts: Chosen) -> NDArray[np.int64] | None:
    """Let a scorer that has observed nothing learn from a pool.

    Returns:
        The rows that were scored, ascending; every post that is among an article's best is one of
        them. None if the scorer has to observe every post of the pool.
    """
    bounds = Bounds(form, posts.codes)

    def bounded(chunk: Chunk) -> tuple[NDArray[np.int64], Bounded]:
        lexical = bounds.lexical(chunk)
        cosines, errors = _cosines(bounds, chunk)
        most = bounds.scores(lexical, cosines, errors) * MILLION
        return np.count_nonzero(lexical > form.about, axis=1), Bounded(cosines, errors, most)

    tails = [CosineTail(form.quantile) for _ in range(bounds.articles) if form.quantile is not None]
    about = np.zeros(bounds.articles, np.int64)
    best = _Best(scorer, bounds, posts)
    for chunk, (near, found) in ahead(bounded, posts.chunks(bounds.articles)):
        about += near
        rows = chunk.rows + posts.firsts[chunk.number]
        for article, tail in enumerate(tails):
            tail.add(rows, found.cosines[article], found.errors)
        best.add(rows, found)
    best.score()
    counts = _counts(scorer, form, bounds, posts, tails)
    if not scorer.conclude(len(posts), about, counts, posts.counted):
        # The bounds may be too loose: closer ones are worth it before every post is read.
        about = _about(bounds, posts)
        if not scorer.conclude(len(posts), about, counts, posts.counted):
            return None
    return np.sort(np.concatenate(best.scored))


class _Best:
    """Scores the posts that can be among an article's best.

    They wait until there are many, so that the best of them come first: then the lowest useful
    score is high, and few of the others are left.
    """

    def __init__(self, scorer: MixtureScorer, bounds: Bounds, posts: Chosen) -> None:
        self._scorer, self._bounds, self._posts = scorer, bounds, posts
        self.scored = [np.zeros(0, np.int64)]
        self._least = scorer.candidates(TokenIds.of([]))[:, None]
        self._waiting: list[tuple[NDArray[np.int64], Bounded]] = []
        self._cells, self._limit = (
            0,
            0,
        )  # the first posts do not wait: they set the lowest useful score

    def add(self, rows: NDArray[np.int64], found: Bounded) -> None:
        """Take note of posts, by their rows over all segments."""
        kept = np.flatnonzero((found.most >= self._least).any(axis=0))
        self._waiting.append((rows[kept], found.of(kept)))
        self._cells += len(kept) * self._bounds.articles
        if self._cells > self._limit:
            self.score()
            self._limit = CELLS

    def score(self) -> None:
        """Score those waiting posts that can matter."""
        if not self._waiting:
            return
        rows = np.concatenate([rows for rows, _ in self._waiting])
        found = Bounded.joined([found for _, found in self._waiting])
        self._waiting, self._cells = [], 0
        together = _TOGETHER
        while len(rows):
            now = np.zeros(len(rows), bool)
            place = max(len(rows) - together, 0)
            for most in found.most:
                now[np.argpartition(most, place)[place:]] = True
            self._look(rows[now], found.of(now))
            left = ~now & (found.most >= self._least).any(axis=0)
            rows, found = rows[left], found.of(left)
            together *= 2  # with many similar posts, the lowest useful score hardly rises

    def _look(self, rows: NDArray[np.int64], found: Bounded) -> None:
        """Bound posts more closely, their rows ascending, and score the useful ones."""
        parts = [
            self._bounds.refined(segment, self._posts.rows_of(number, rows))
            for number, segment in enumerate(self._posts.segments)
        ]
        closer = self._bounds.scores(np.concatenate(parts, axis=1), found.cosines, found.errors)
        rows = rows[(closer * MILLION >= self._least).any(axis=0)]
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            self._least = self._scorer.candidates(self._posts.token_ids(some))[:, None]
            self.scored.append(some)


def _about(bounds: Bounds, posts: Chosen) -> NDArray[np.int64]:
    """(A,) upper bounds on the number of posts about each article's story."""

    def near(chunk: Chunk) -> NDArray[np.int64]:
        rows = chunk.rows[(bounds.lexical(chunk) > bounds.form.about).any(axis=0)]
        closer = bounds.refined(chunk.segment, rows)
        return np.count_nonzero(closer > bounds.form.about, axis=1)

    counts = (found for _, found in ahead(near, posts.chunks(bounds.articles)))
    return sum(counts, np.zeros(bounds.articles, np.int64))


def _counts(
    scorer: MixtureScorer, form: ScoreForm, bounds: Bounds, posts: Chosen, tails: list[CosineTail]
) -> NDArray[np.int32] | None:
    """(A, bins) histograms of the cosines with each article; None if they are not needed."""
    if form.quantile is None:
        return None

    found = []
    for article, tail in enumerate(tails):

        def exact(rows: NDArray[np.int64], article: int = article) -> NDArray[np.float32]:
            return scorer.cosines(posts.token_ids(rows), article)

        counts = tail.counted(exact)
        while counts is None:
            # The first block was nearer to the article than the rest.
            assert tail.floor is not None
            tail = CosineTail(form.quantile, max(tail.floor - 0.1, -1.0))
            chunks = posts.chunks(bounds.articles)
            for chunk, (cosines, errors) in ahead(partial(_cosines, bounds), chunks):
                rows = chunk.rows + posts.firsts[chunk.number]
                tail.add(rows, cosines[article], errors)
            counts = tail.counted(exact)
        found.append(counts)
    return np.stack(found)
