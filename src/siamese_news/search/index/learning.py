"""What a pool teaches a scorer, of an index: only posts that can matter are given to it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from siamese_news.scoring import MixtureScorer, ScoreForm
from siamese_news.search.index.bounds import Bounds
from siamese_news.search.index.quantiles import CosineTail
from siamese_news.search.index.segment import Codes, Segment
from siamese_news.text.token_ids import TokenIds

CHUNK = 1 << 17
"""Rows whose bounds are made at once."""

_TOGETHER = 2048  # posts scored between two looks at which are still of use
MILLION = 1e6


@dataclass(slots=True)
class Chosen:
    """The posts of a search: which rows of which segments.

    Attributes:
        segments: in their order.
        masks: which rows of each.
        codes: of the tokens.
    """

    segments: list[Segment]
    masks: list[NDArray[np.bool_]]
    codes: Codes
    firsts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.firsts = np.cumsum([0, *map(len, self.segments)])

    def __len__(self) -> int:
        return int(sum(mask.sum() for mask in self.masks))

    def chunks(self) -> Iterator[tuple[int, int, int]]:
        """Number of the segment, first row and end of one piece after the other."""
        for number, segment in enumerate(self.segments):
            for start in range(0, len(segment), CHUNK):
                yield number, start, min(start + CHUNK, len(segment))

    def token_ids(self, rows: NDArray[np.int64]) -> TokenIds:
        """The token ids of posts, by their rows over all segments, ascending."""
        texts: list[NDArray[np.int64]] = []
        for number, segment in enumerate(self.segments):
            low, high = np.searchsorted(rows, self.firsts[number : number + 2])
            texts += segment.token_ids(rows[low:high] - self.firsts[number])
        return TokenIds.of(texts)


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
    floors: list[float | None] = [None] * bounds.articles
    tails = _tails(form, floors)
    about = np.zeros(bounds.articles, np.int64)
    scored = [np.zeros(0, np.int64)]
    least = scorer.candidates(TokenIds.of([]))
    for number, start, end in posts.chunks():
        segment, mask = posts.segments[number], posts.masks[number][start:end]
        live = np.flatnonzero(mask)
        lexical = bounds.lexical(segment, start, end)[:, live]
        cosines, errors = (part[..., live] for part in bounds.cosines(segment, start, end))
        about += (lexical > form.about).sum(axis=1)
        for article, tail in enumerate(tails):
            tail.add(live + start + posts.firsts[number], cosines[article], errors)
        most = bounds.scores(lexical, cosines, errors) * MILLION
        for rows in _best_first(most, least):
            rows = rows[(most[:, rows] >= least[:, None]).any(axis=0)]
            closer = bounds.refined(segment, live[rows] + start)
            closer = bounds.scores(closer, cosines[:, rows], errors[rows]) * MILLION
            rows = np.sort(rows[(closer >= least[:, None]).any(axis=0)])
            if len(rows):
                least = scorer.candidates(segment.token_ids(live[rows] + start))
                scored.append(live[rows] + start + posts.firsts[number])
    counts = _counts(scorer, form, bounds, posts, tails)
    if not scorer.conclude(len(posts), about, counts):
        # The bounds may be too far: it is worth a closer look before every post is read.
        about = _about(bounds, posts)
        if not scorer.conclude(len(posts), about, counts):
            return None
    return np.sort(np.concatenate(scored))


def _tails(form: ScoreForm, floors: list[float | None]) -> list[CosineTail]:
    if form.quantile is None:
        return []
    return [CosineTail(form.quantile, floor) for floor in floors]


def _about(bounds: Bounds, posts: Chosen) -> NDArray[np.int64]:
    """(A,) at most so many posts are about an article's story."""
    found = np.zeros(bounds.articles, np.int64)
    for number, start, end in posts.chunks():
        segment, mask = posts.segments[number], posts.masks[number][start:end]
        near = (bounds.lexical(segment, start, end) > bounds.form.about).any(axis=0) & mask
        closer = bounds.refined(segment, np.flatnonzero(near) + start)
        found += (closer > bounds.form.about).sum(axis=1)
    return found


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
    found = []
    for article, tail in enumerate(tails):

        def exact(rows: NDArray[np.int64], article: int = article) -> NDArray[np.float32]:
            return scorer.cosines(posts.token_ids(rows), article)

        counts = tail.counted(exact)
        while counts is None:
            # The first block was nearer to the article than the rest.
            assert tail.floor is not None
            tail = CosineTail(form.quantile, max(tail.floor - 0.1, -1.0))
            for number, start, end in posts.chunks():
                live = np.flatnonzero(posts.masks[number][start:end])
                cosines, errors = bounds.cosines(posts.segments[number], start, end)
                rows = live + start + posts.firsts[number]
                tail.add(rows, cosines[article, live], errors[live])
            counts = tail.counted(exact)
        found.append(counts)
    return np.stack(found)
