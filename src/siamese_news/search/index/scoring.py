"""The scores of an index's posts: of those that can matter, or of all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.model.siamese import BLOCK
from siamese_news.scoring import Scorer
from siamese_news.search.index.bounds import Bounds
from siamese_news.search.index.chunks import Chosen, Chunk, ahead
from siamese_news.search.index.segment import Segment
from siamese_news.search.pool import Floats, Scored, Wanted

# Two sums in single precision.
_ROUNDING = np.float32(1e-6)


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


def all_scores(scorer: Scorer, posts: Chosen, articles: int) -> Iterator[Scored]:
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
) -> Iterator[Scored]:
    """The scores of the posts that can matter.

    Args:
        scorer: one that has learned of them.
        bounds: by its form.
        posts: the posts.
        first: rows over all segments, ascending, that are scored whatever their bounds say, for
            smoothing may raise them; and before the others.
        wanted: asked again for each chunk.
    """
    for number in range(len(posts.segments)):
        rows = posts.rows_of(number, first)
        for start in range(0, len(rows), BLOCK):
            yield _part(scorer, posts, number, rows[start : start + BLOCK])

    def possible(asked: tuple[Chunk, Floats]) -> NDArray[np.int64]:
        chunk, floors = asked
        rows = chunk.live + chunk.start
        scale, more = scorer.surface(chunk.segment.token_ids(rows))

        def reach(most: Floats, least: Floats) -> NDArray[np.intp]:
            found = wanted.at_most(
                scale * most + more + _ROUNDING, scale * least + more - _ROUNDING
            )
            return np.flatnonzero((found >= floors).any(axis=0))

        # What costs least is asked first: the vectors of few posts have to be looked at.
        lexical = chunk.of_live(bounds.lexical(chunk.segment, chunk.start, chunk.end))
        kept = reach(*bounds.scores_by_words(lexical))
        rows, more = rows[kept], _some(more, kept)
        cosines, errors = bounds.cosines_of(chunk.segment, rows)
        least = bounds.least(cosines, errors)
        kept = reach(bounds.scores(lexical[:, kept], cosines, errors), least)
        rows, more = rows[kept], _some(more, kept)
        closer = bounds.refined(chunk.segment, rows)
        most = bounds.scores(closer, cosines[:, kept], errors[kept])
        return rows[reach(most, least[:, kept])]

    chunks = posts.without(first).chunks(bounds.articles)
    for (chunk, _), rows in ahead(possible, ((chunk, wanted.floors()) for chunk in chunks)):
        for begin in range(0, len(rows), BLOCK):
            yield _part(scorer, posts, chunk.number, rows[begin : begin + BLOCK])


def _some(values: Floats, columns: NDArray[np.intp]) -> Floats:
    """Some columns of (A, n) values, or all of the one (1, 1) that counts for each."""
    return values[:, columns] if values.shape[1] > 1 else values


def _part(scorer: Scorer, posts: Chosen, number: int, rows: NDArray[np.int64]) -> Scored:
    segment = posts.segments[number]
    scores = scorer.scores(segment.token_ids(rows))
    places = rows + posts.firsts[number]
    # An index is one block: it is asked anew rather than gone on with.
    return Scored(0, StoredPosts(segment, rows), scores, last=False, rows=places)
