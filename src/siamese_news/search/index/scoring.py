"""The scores of an index's posts: of those that can matter, or of all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.model.siamese import BLOCK
from siamese_news.scoring import Scorer
from siamese_news.search.index.bounds import Bounds
from siamese_news.search.index.learning import Chosen
from siamese_news.search.index.segment import Segment

Wanted = Callable[[NDArray[np.floating], NDArray[np.floating]], NDArray[np.bool_]]
"""(A, P) at most and (A, P) at least the scores of P posts -> (P,) which of them can matter now."""


class StoredPosts(Sequence[Post]):
    """Posts of a segment that are read when they are looked at.

    Args:
        segment: where they are.
        rows: which they are.
    """

    def __init__(self, segment: Segment, rows: NDArray[np.int64]) -> None:
        self._segment, self._rows = segment, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Post: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Post]: ...

    def __getitem__(self, place: int | slice) -> Post | Sequence[Post]:
        if isinstance(place, slice):
            return StoredPosts(self._segment, self._rows[place])
        return self._segment.post(int(self._rows[place]))


@dataclass(frozen=True, slots=True)
class Part:
    """Some posts of an index with their scores.

    Attributes:
        posts: P posts.
        rows: (P,) their rows over all segments; None where all posts come in their order.
        scores: (A, P).
    """

    posts: Sequence[Post]
    rows: NDArray[np.int64] | None
    scores: NDArray[np.float32]


def all_scores(scorer: Scorer, posts: Chosen, articles: int) -> Iterator[Part]:
    """The scores of all posts, in their order.

    Args:
        scorer: one that has observed them.
        posts: the posts.
        articles: how many the scorer has.
    """
    for number, mask in enumerate(posts.masks):
        for rows in row_blocks(mask, articles):
            part = _part(scorer, posts, number, rows)
            yield replace(part, rows=None)


def row_blocks(mask: NDArray[np.bool_], articles: int = 1) -> Iterator[NDArray[np.int64]]:
    """The rows of a segment that a search has, in blocks."""
    rows = np.flatnonzero(mask)
    step = min(BLOCK, max(1, (1 << 24) // max(articles, 1)))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def best_scores(
    scorer: Scorer, bounds: Bounds, posts: Chosen, first: NDArray[np.int64], wanted: Wanted
) -> Iterator[Part]:
    """The scores of the posts that can matter.

    Args:
        scorer: one that has learned of them.
        bounds: by its form.
        posts: the posts.
        first: rows over all segments, ascending, that are scored whatever their bounds say, for
            smoothing may raise them; and before the others.
        wanted: asked again for each piece.
    """
    known = [np.zeros(len(segment), bool) for segment in posts.segments]
    for number in range(len(posts.segments)):
        low, high = np.searchsorted(first, posts.firsts[number : number + 2])
        rows = first[low:high] - posts.firsts[number]
        known[number][rows] = True
        for start in range(0, len(rows), BLOCK):
            yield _part(scorer, posts, number, rows[start : start + BLOCK])
    for number, start, end in posts.chunks():
        segment = posts.segments[number]
        live = np.flatnonzero(posts.masks[number][start:end] & ~known[number][start:end])
        lexical = bounds.lexical(segment, start, end)[:, live]
        cosines, errors = (part[..., live] for part in bounds.cosines(segment, start, end))
        most, least = bounds.scores(lexical, cosines, errors), bounds.least(cosines, errors)
        kept = np.flatnonzero(wanted(most, least))
        closer = bounds.refined(segment, live[kept] + start)
        most = bounds.scores(closer, cosines[:, kept], errors[kept])
        kept = kept[wanted(most, least[:, kept])]
        for begin in range(0, len(kept), BLOCK):
            rows = live[kept[begin : begin + BLOCK]] + start
            yield _part(scorer, posts, number, rows)


def _part(
    scorer: Scorer,
    posts: Chosen,
    number: int,
    rows: NDArray[np.int64],
) -> Part:
    segment = posts.segments[number]
    scores = scorer.scores(segment.token_ids(rows))
    return Part(StoredPosts(segment, rows), rows + posts.firsts[number], scores)
