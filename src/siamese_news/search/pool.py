"""The interface to the posts that a search reads, and their selection by date."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.readers.values import iso_date
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.scoring import Content, Observer, Scorer
from siamese_news.search.seeds import MILLION

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(slots=True)
class Window:
    """Posts from one moment to another; undated posts are kept.

    `begin` is the first moment and `end` the first that is too late, as `iso_date` writes them.
    Posts are counted: those outside the window, those without a readable date and those with one.
    """

    begin: str | None = None
    end: str | None = None
    outside: int = 0
    undated: int = 0
    dated: int = 0

    @classmethod
    def of(cls, begin: str | None, end: str | None) -> "Window":
        """From dates as users type them, such as ``2013-04-15``."""
        window = cls(_moment("--after", begin), _moment("--before", end))
        if window.begin and window.end and window.begin >= window.end:
            raise InputError(
                f"--after {begin} is not before --before {end}; expected an earlier date first"
            )
        return window

    def start(self) -> None:
        """Reset the counts."""
        self.outside = self.undated = self.dated = 0

    @property
    def asked(self) -> bool:
        """Whether posts are selected by date at all."""
        return bool(self.begin or self.end)

    def check(self) -> None:
        """After a pass over all posts: refuse a selection by date if no post has a date."""
        if self.asked and self.undated and not self.dated:
            raise InputError(
                f"--after and --before select by date, but none of {self.undated:,} "
                "posts has a readable date; name the right field with --date-field "
                "(siamese-news doctor FILE shows the fields of a file), or leave the dates out"
            )

    def __call__(self, posts: Sequence[Post]) -> list[Post]:
        """The posts within the window."""
        if not self.asked:
            return list(posts)
        return list(compress(posts, self.mask(seconds_of(posts))))

    def mask(self, seconds: Ints) -> NDArray[np.bool_]:
        """Which of P posts lie within the window, by their dates (`seconds_of`)."""
        moments = seconds.astype("datetime64[s]")
        undated = np.isnat(moments)
        outside = np.zeros(len(seconds), bool)
        if self.begin:
            outside |= moments < np.datetime64(self.begin.removesuffix("Z"), "s")
        if self.end:
            outside |= moments >= np.datetime64(self.end.removesuffix("Z"), "s")
        self.undated += int(undated.sum())
        self.dated += int((~undated).sum())
        self.outside += int(outside.sum())
        return ~outside

    def counts(self) -> dict[str, int]:
        """In plain values; empty if posts are not selected by date."""
        if not self.asked:
            return {}
        return {"outside the dates": self.outside, "without a date": self.undated}


def seconds_of(posts: Sequence[Post]) -> Ints:
    """(P,) dates of posts in seconds since 1970; the smallest 64-bit integer means no date."""
    dates = (iso_date(post.metadata.get("created_at")) for post in posts)
    moments = [date.removesuffix("Z") if date else "NaT" for date in dates]
    return np.array(moments, "datetime64[s]").astype(np.int64)


def _moment(option: str, value: str | None) -> str | None:
    if value is None:
        return None
    moment = iso_date(value)
    if moment is None:
        raise InputError(
            f"{option} is {value!r}, expected a date such as 2013-04-15 or 2013-04-15T18:49:00Z"
        )
    return moment


@dataclass(frozen=True, slots=True)
class Scored:
    """Block `number`, from 0, of P posts within the window, with their (A, P) scores.

    An index yields only posts that can change the results. `rows` are the (P,) places of the posts in
    the pool; None if all come in its order. `content` is what the scorer read of the posts, where it
    is at hand.
    """

    number: int
    posts: Sequence[Post]
    scores: Floats
    rows: Ints | None = None
    content: Content | None = None


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which posts can still change the results.

    `at_most` makes (lists, P) upper bounds for the lists of (A, P) upper and (A, P) lower bounds of
    the scores for the articles. `floors` are (lists,) lowest scores in millionths that they accept
    now.
    """

    at_most: Callable[[Floats, Floats], Floats]
    floors: Callable[[], Ints]


def floors_of(lowest_scores: Ints) -> Floats:
    """(lists, 1) scores below the (lists,) lowest ones, in millionths, that are of use."""
    return ((lowest_scores - 1.0) / MILLION).astype(np.float32)[:, None]


class Pool(ABC):
    """Posts to search: a stream or an index. A search does not need to know which.

    `on_second_pass` is called with what a scorer learned, the reason why the posts are scored once
    more.
    """

    on_second_pass: Callable[[str], None] | None = None

    @abstractmethod
    def __iter__(self) -> Iterator[Post]:
        """The posts, in their order."""

    @abstractmethod
    def observe(self, scorer: Scorer, window: Window) -> Scorer:
        """The scorer that has learned from this pool; the same one if it learns from none.

        The window counts all posts.
        """

    def _settled(self, observer: Observer) -> Scorer:
        """End a pass, and say why the posts are scored once more."""
        scorer = observer.settle()
        if scorer.learned and self.on_second_pass is not None:
            self.on_second_pass(scorer.learned)
        return scorer

    @abstractmethod
    def parts(
        self,
        scorer: Scorer,
        articles: int,
        window: Window,
        pruning: Pruning | None,
    ) -> Iterator[Scored]:
        """The posts with their scores by a scorer of so many articles that has observed them.

        An index yields only posts that `pruning` leaves, if it is given. Blocks without posts in the
        window are skipped, and one with very many scores is divided.
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
