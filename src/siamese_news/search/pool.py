"""The interface to the posts that a search reads."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.scoring import Scorer
from siamese_news.search.seeds import MILLION
from siamese_news.search.window import Window

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scored:
    """A block of posts with its scores.

    Attributes:
        number: of the block, from 0.
        posts: P posts within the window (of an index, only those that can change the results).
        scores: (A, P).
        last: whether the block has no further part.
        rows: (P,) places of the posts in the pool; None if all posts come in its order.
    """

    number: int
    posts: Sequence[Post]
    scores: Floats
    last: bool = True
    rows: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which posts can still change the results.

    Attributes:
        at_most: (A, P) upper and (A, P) lower bounds of the scores for the articles -> (lists, P)
            upper bounds for the lists.
        least: (lists,) lowest scores in millionths that a list accepts now.
    """

    at_most: Callable[[Floats, Floats], Floats]
    least: Callable[[], NDArray[np.int64]]

    def floors(self) -> Floats:
        """(lists, 1) scores below everything that a list accepts now."""
        return ((self.least() - 1.0) / MILLION).astype(np.float32)[:, None]


class Pool(ABC):
    """Posts to search: a stream or an index. A search does not need to know which."""

    @abstractmethod
    def __iter__(self) -> Iterator[Post]:
        """The posts, in their order."""

    @abstractmethod
    def observe(self, scorer: Scorer, window: Window, *, done: int = 0) -> Iterator[int]:
        """Let a scorer observe the pool, in as many passes as it needs.

        Args:
            scorer: of any model; the iteration must be read to its end before it scores.
            window: which posts by date; its counts restart with each pass.
            done: blocks of the first pass that the scorer has observed already.

        Yields:
            After each block, the number of finished blocks in this pass; 0 at the end of a pass.
        """

    @abstractmethod
    def parts(
        self, scorer: Scorer, articles: int, window: Window, wanted: Wanted | None, done: int = 0
    ) -> Iterator[Scored]:
        """The posts with their scores, a block at a time.

        Args:
            scorer: one that has observed the posts.
            articles: how many it has.
            window: which posts by date.
            wanted: which posts can still change the results: an index yields only these. None for
                all.
            done: blocks to skip.

        Yields:
            The blocks. Blocks without posts in the window are skipped, and blocks with very many
            scores are divided.
        """

    @abstractmethod
    def sample(self) -> list[Post]:
        """Fewer than 1,000 posts, to detect the languages of the pool."""

    def counts(self) -> dict[str, int]:
        """How many posts were read, rejected and so on; empty if that is unknown."""
        return {}

    def searched(self, scored: int) -> int:
        """How many posts were searched, given how many were scored."""
        return scored

    def summary(self, scored: int) -> list[str]:
        """Lines about what was read and how fast."""
        return []

    def remarks(self) -> list[str]:
        """Remarks for the reader of the results."""
        return []

    def job(self) -> list[Any]:
        """Plain values that must not change if an interrupted search is resumed.

        Empty if posts come through a pipe, which cannot be checked.
        """
        return []
