"""The posts of a search in an index, in chunks that are computed on several threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.model.text_model import BLOCK
from siamese_news.search.cpu_threads import one_thread_of_products, thread_count
from siamese_news.search.index.segment import Codes, Segment
from siamese_news.search.pool import Floats, Ints
from siamese_news.text.token_ids import TokenIds

S = TypeVar("S")
T = TypeVar("T")

CELLS = 1 << 22
"""Articles times posts of which bounds are held at once."""

_ROWS = 1 << 16  # of a chunk, at most
_TOGETHER = 2048  # posts of each list that are scored at once, the best first


@dataclass(frozen=True)
class Chunk:
    """Rows of segment `number` from `start` to `end`, and those of the search, `live` (n,)."""

    number: int
    segment: Segment
    start: int
    end: int
    live: Ints

    @cached_property
    def words(self) -> sparse.csr_matrix:
        """Which codes all rows have, in their order, as often as they occur: (n, width)."""
        starts = self.segment.starts[self.start : self.end + 1].astype(np.int64)
        codes = self.segment.codes[starts[0] : starts[-1]].astype(np.int32)
        ends = (starts - starts[0]).astype(np.int32)
        entries = (np.ones(len(codes), np.float32), codes, ends)
        shape = (self.end - self.start, self.segment.width)
        return sparse.csr_matrix(entries, shape)

    def of_live(self, values: Floats) -> Floats:
        """(..., n) values of the live rows, from (..., `end` - `start`)."""
        if len(self.live) == self.end - self.start:
            return values
        return values[..., self.live]

    @property
    def rows(self) -> Ints:
        """(n,) the live rows of the segment."""
        return self.live + self.start


@dataclass(slots=True)
class Chosen:
    """The posts of a search: the rows of a mask for each segment.

    `firsts` are the numbers of the segments' first rows over all segments, and of all rows.
    """

    segments: list[Segment]
    masks: list[NDArray[np.bool_]]
    codes: Codes
    firsts: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.firsts = np.cumsum([0, *map(len, self.segments)])

    def __len__(self) -> int:
        return int(sum(mask.sum() for mask in self.masks))

    def chunks(self, articles: int) -> Iterator[Chunk]:
        """The posts in chunks that are small enough for the scores of so many articles."""
        step = min(_ROWS, max(1, CELLS // max(articles, 1)))
        pairs = zip(self.segments, self.masks, strict=True)
        for number, (segment, mask) in enumerate(pairs):
            for start in range(0, len(segment), step):
                end = min(start + step, len(segment))
                live = np.flatnonzero(mask[start:end])
                yield Chunk(number, segment, start, end, live)

    def without(self, rows: Ints) -> "Chosen":
        """All posts but these rows over all segments, ascending."""
        masks = [mask.copy() for mask in self.masks]
        for number, mask in enumerate(masks):
            mask[self.rows_of(number, rows)] = False
        return Chosen(self.segments, masks, self.codes)

    def rows_of(self, number: int, rows: Ints) -> Ints:
        """The rows over all segments that are in one segment, as rows of that segment."""
        start, end = np.searchsorted(rows, self.firsts[number : number + 2])
        return rows[start:end] - self.firsts[number]

    def counted(self) -> Ints:
        """How often words of the vocabulary, and n-grams of others, occur: (V + BUCKETS,)."""
        parts = [
            segment.counted(mask)
            for segment, mask in zip(self.segments, self.masks, strict=True)
        ]
        counts: Ints = np.sum(parts, axis=0)
        return counts

    def blocks_of_ids(self) -> Iterator[TokenIds]:
        """The token ids of all posts in blocks, without the texts of unknown words."""
        for segment, mask in zip(self.segments, self.masks, strict=True):
            for rows in row_blocks(mask):
                yield segment.ids_alone(rows)

    def token_ids(self, rows: Ints) -> TokenIds:
        """The token ids of posts, by their rows over all segments, ascending."""
        return TokenIds.joined(
            [
                segment.token_ids(self.rows_of(number, rows))
                for number, segment in enumerate(self.segments)
            ]
        )


def row_blocks(mask: NDArray[np.bool_], articles: int = 1) -> Iterator[Ints]:
    """The rows of a segment that a search has, in blocks."""
    rows = np.flatnonzero(mask)
    step = min(BLOCK, max(1, (1 << 24) // max(articles, 1)))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def ahead(of: Callable[[S], T], chunks: Iterable[S]) -> Iterator[tuple[S, T]]:
    """Each chunk with the result of a function, in order.

    The function runs on `thread_count` threads, ahead of the consumer. Within a thread, products of
    numpy use no further threads, which would wait for one another.
    """
    threads = thread_count()
    if threads == 1:
        yield from ((chunk, of(chunk)) for chunk in chunks)
        return
    with one_thread_of_products(), ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[S, Future[T]]] = deque()
        for chunk in chunks:
            waiting.append((chunk, pool.submit(of, chunk)))
            if len(waiting) > threads:
                oldest_chunk, computed = waiting.popleft()
                yield oldest_chunk, computed.result()
        while waiting:
            oldest_chunk, computed = waiting.popleft()
            yield oldest_chunk, computed.result()


def best_first(
    rows: Ints, upper_bounds: Floats, floors: Callable[[], Floats]
) -> Iterator[Ints]:
    """The n `rows` that can matter, those with the highest bounds (lists, n) first.

    The (lists, 1) `floors` are asked again for each part, which was scored by then: as the best come
    first, the floors are soon high, and few rows are left.
    """
    together = _TOGETHER
    while (
        can_matter := (upper_bounds >= (lowest_scores := floors())).any(axis=0)
    ).any():
        rows = rows[can_matter]
        upper_bounds = upper_bounds[:, can_matter]
        is_best = _highest(upper_bounds, lowest_scores, together)
        yield rows[is_best]
        rows = rows[~is_best]
        upper_bounds = upper_bounds[:, ~is_best]
        # With many similar posts, the floors hardly rise.
        together *= 2


def _highest(upper_bounds: Floats, floors: Floats, count: int) -> NDArray[np.bool_]:
    """(n,) whether a post is among so many with the highest bound for a list, and can matter to it."""
    is_high = np.zeros(upper_bounds.shape[1], bool)
    cut = max(len(is_high) - count, 0)
    for bounds, (floor,) in zip(upper_bounds, floors, strict=True):
        highest = np.argpartition(bounds, cut)[cut:]
        is_high[highest[bounds[highest] >= floor]] = True
    return is_high
