"""What a pool teaches a scorer, of an index: only posts that can matter are given to it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.scoring import MixtureScorer, ScoreForm
from siamese_news.search.index.bounds import Bounds
from siamese_news.search.index.chunks import Chosen, Chunk, ahead
from siamese_news.search.index.quantiles import CosineTail
from siamese_news.text.token_ids import TokenIds

_TOGETHER = 2048  # posts scored between two looks at which are still of use
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Bounded:
    """What is known of n posts before they are scored.

    Attributes:
        about: (A,) at most so many of them are about an article's story.
        cosines: (A, n).
        errors: (n,) how far off these are at most.
        most: (A, n) at most the scores, in millionths.
    """

    about: NDArray[np.int64]
    cosines: NDArray[np.float32]
    errors: NDArray[np.float32]
    most: NDArray[np.float32]


def learn(scorer: MixtureScorer, form: ScoreForm, posts: Chosen) -> NDArray[np.int64] | None:
    """Let a scorer learn of a pool what it needs.

    Args:
        scorer: one that observes, and has observed nothing.
        form: of it.
        posts: the pool.

    Returns:
        The rows that were scored, ascending: every post that is among an article's best is one.
        None if the pool has to be observed, every post of it.
    """
    bounds = Bounds(form, posts.codes)

    def bounded(chunk: Chunk) -> Bounded:
        segment, start, end = chunk.segment, chunk.start, chunk.end
        lexical = chunk.of_live(bounds.lexical(segment, start, end))
        cosines, errors = map(chunk.of_live, bounds.cosines(segment, start, end))
        most = bounds.scores(lexical, cosines, errors) * MILLION
        return Bounded(np.count_nonzero(lexical > form.about, axis=1), cosines, errors, most)

    tails = [CosineTail(form.quantile) for _ in range(bounds.articles) if form.quantile is not None]
    about = np.zeros(bounds.articles, np.int64)
    scored = [np.zeros(0, np.int64)]
    least = scorer.candidates(TokenIds.of([]))
    for chunk, found in ahead(bounded, posts.chunks(bounds.articles)):
        about += found.about
        first = chunk.start + posts.firsts[chunk.number]
        for article, tail in enumerate(tails):
            tail.add(chunk.live + first, found.cosines[article], found.errors)
        for columns in _best_first(found.most, least):
            columns = columns[(found.most[:, columns] >= least[:, None]).any(axis=0)]
            closer = bounds.refined(chunk.segment, chunk.live[columns] + chunk.start)
            closer = bounds.scores(closer, found.cosines[:, columns], found.errors[columns])
            columns = np.sort(columns[(closer * MILLION >= least[:, None]).any(axis=0)])
            if len(columns):
                rows = chunk.live[columns]
                least = scorer.candidates(chunk.segment.token_ids(rows + chunk.start))
                scored.append(rows + first)
    counts = _counts(scorer, form, bounds, posts, tails)
    if not scorer.conclude(len(posts), about, counts):
        # The bounds may be too far: it is worth a closer look before every post is read.
        about = _about(bounds, posts)
        if not scorer.conclude(len(posts), about, counts):
            return None
    return np.sort(np.concatenate(scored))


def _about(bounds: Bounds, posts: Chosen) -> NDArray[np.int64]:
    """(A,) at most so many posts are about an article's story."""

    def near(chunk: Chunk) -> NDArray[np.int64]:
        lexical = chunk.of_live(bounds.lexical(chunk.segment, chunk.start, chunk.end))
        rows = chunk.live[(lexical > bounds.form.about).any(axis=0)] + chunk.start
        closer = bounds.refined(chunk.segment, rows)
        return np.count_nonzero(closer > bounds.form.about, axis=1)

    counts = (found for _, found in ahead(near, posts.chunks(bounds.articles)))
    return sum(counts, np.zeros(bounds.articles, np.int64))


def _best_first(most: NDArray[np.float32], least: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """The columns that are of use, so that the least that is of use rises early."""
    wanted = np.flatnonzero((most >= least[:, None]).any(axis=0))
    if not len(wanted):
        return
    # Each article's best come before the next best of any.
    order = np.argsort(-most[:, wanted], axis=1)
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(len(wanted))[None], axis=1)
    wanted = wanted[np.argsort(places.min(axis=0), kind="stable")]
    for start in range(0, len(wanted), _TOGETHER):
        yield wanted[start : start + _TOGETHER]


def _counts(
    scorer: MixtureScorer, form: ScoreForm, bounds: Bounds, posts: Chosen, tails: list[CosineTail]
) -> NDArray[np.int32] | None:
    """(A, bins) how many posts have which cosine with each article; None if it does not matter."""
    if form.quantile is None:
        return None

    def near(chunk: Chunk) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        cosines, errors = bounds.cosines(chunk.segment, chunk.start, chunk.end)
        return chunk.of_live(cosines), chunk.of_live(errors)

    found = []
    for article, tail in enumerate(tails):

        def exact(rows: NDArray[np.int64], article: int = article) -> NDArray[np.float32]:
            return scorer.cosines(posts.token_ids(rows), article)

        counts = tail.counted(exact)
        while counts is None:
            # The first block was nearer to the article than the rest.
            assert tail.floor is not None
            tail = CosineTail(form.quantile, max(tail.floor - 0.1, -1.0))
            for chunk, (cosines, errors) in ahead(near, posts.chunks(bounds.articles)):
                rows = chunk.live + chunk.start + posts.firsts[chunk.number]
                tail.add(rows, cosines[article], errors)
            counts = tail.counted(exact)
        found.append(counts)
    return np.stack(found)
