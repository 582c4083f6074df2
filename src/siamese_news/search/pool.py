"""Posts to search, wherever they are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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
        posts: P posts, those within the window (of an index, those that can matter).
        scores: (A, P).
        last: whether the block has no further part.
        rows: (P,) places of the posts in the pool; None where all posts come in its order.
    """

    number: int
    posts: Sequence[Post]
    scores: Floats
    last: bool = True
    rows: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which posts can matter.

    Attributes:
        at_most: (A, P) at most and (A, P) at least the scores for the articles -> (lists, P) at
            most those of the lists.
        least: (lists,) the scores in millionths below which a post has no place in a list now.
    """

    at_most: Callable[[Floats, Floats], Floats]
    least: Callable[[], NDArray[np.int64]]

    def floors(self) -> Floats:
        """(lists, 1) the scores that are below all that a list can take now."""
        return ((self.least() - 1.0) / MILLION).astype(np.float32)[:, None]


@runtime_checkable
class Pool(Protocol):
    """Posts to search: a stream of them, or an index. Nobody who searches asks which."""

    def __iter__(self) -> Iterator[Post]:
        """The posts, in their order."""

    def observe(self, scorer: Scorer, window: Window, *, done: int = 0) -> Iterator[int]:
        """The passes in which a scorer observes the pool; none where it learns nothing.

        Args:
            scorer: of any model; the iteration must be read to its end before it scores.
            window: which posts by date; it counts anew in each pass over the posts.
            done: blocks of the first of these passes that the scorer knows.

        Yields:
            After each block how many blocks of its pass are done; 0 after the end of a pass.
        """

    def parts(
        self,
        scorer: Scorer,
        articles: int,
        window: Window,
        *,
        wanted: Wanted | None = None,
        done: int = 0,
    ) -> Iterator[Scored]:
        """The posts with their scores, a block at a time.

        Args:
            scorer: one that has observed the posts.
            articles: how many it has.
            window: which posts by date.
            wanted: which posts can matter, by bounds on their scores: an index gives only these.
                None for all.
            done: blocks that are left out.

        Yields:
            The blocks. One of which the window leaves nothing does not come, and one with very many
            scores comes in parts.
        """

    def sample(self) -> list[Post]:
        """Fewer than 1,000 posts, from which the pool's languages are told."""

    def counts(self) -> dict[str, int]:
        """How many posts were read, rejected and so on."""

    def searched(self, scored: int) -> int:
        """How many posts were searched, of which so many were scored."""

    def summary(self, scored: int) -> list[str]:
        """What was read and how fast, in words."""

    def remarks(self) -> list[str]:
        """What a reader of the results should know."""

    def job(self) -> list[Any]:
        """What must be the same to continue an interrupted search, in plain values.

        Nothing where the posts come through a pipe, which cannot be checked.
        """
