"""Small records that the whole search shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from siamese_news.data.records import Article, Post

SAMPLE = 999
"""Number of posts from which the languages of a pool are detected."""


@dataclass(frozen=True, slots=True)
class RankedPost:
    """A post at its rank.

    Attributes:
        article: the seed article; in one list over several seeds, the one it is nearest to.
        rank: from 1.
        score: rounded to 6 decimals, of the kind `Scorer.kind`.
        post: the post.
    """

    article: Article
    rank: int
    score: float
    post: Post


def metadata_text(post: Post, name: str) -> str | None:
    """A post's metadata value if it is text; prepared collections may hold anything."""
    value = post.metadata.get(name)
    return value if isinstance(value, str) else None


def post_columns(post: Post) -> dict[str, Any]:
    """The columns of the results that come from the post alone."""
    return {
        "post": post.id,
        "text": post.text,
        "lang": metadata_text(post, "lang"),
        "created_at": metadata_text(post, "created_at"),
        "link": metadata_text(post, "permalink"),
    }


class Sample:
    """The `SAMPLE` posts whose ids have the smallest checksums.

    The order of the posts does not matter, and the samples of two parts of a pool can be combined.
    """

    def __init__(self) -> None:
        self._noted: list[tuple[int, str, Post]] = []
        self._bound = 1 << 32

    def note(self, post: Post) -> None:
        """Keep a post if its checksum is small enough."""
        checksum = crc32(post.id.encode("utf-8", "replace"))
        if checksum < self._bound:
            self._noted.append((checksum, post.id, post))
            if len(self._noted) >= 2 * SAMPLE:
                self._cut()
                self._bound = self._noted[-1][0] + 1

    @property
    def posts(self) -> list[Post]:
        """The sample."""
        self._cut()
        return [post for _, _, post in self._noted]

    def _cut(self) -> None:
        self._noted.sort(key=lambda item: item[:2])
        del self._noted[SAMPLE:]


_LOWEST, _HIGHEST = -2000, 2000  # thousandths; the bounds of a score minus a negative seed's
_BINS = 100


class ScoreCounts:
    """Counts of scores in thousandths, from -2 to 2; scores beyond count at the ends.

    They begin with those of an earlier `plain`. `of_all` says whether the scores of all posts of
    the search were counted.
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = np.zeros(_HIGHEST - _LOWEST, np.int64)
        self.of_all = True
        for place, count in (counts or {}).items():
            self._counts[int(place)] = count

    def add(self, millionths: np.ndarray, *, of_all: bool = True) -> None:
        """Count scores in millionths, of any shape; not `of_all` if some posts were not scored."""
        self.of_all &= of_all
        places = np.clip(millionths.ravel() // 1000, _LOWEST, _HIGHEST - 1) - _LOWEST
        self._counts += np.bincount(places, minlength=_HIGHEST - _LOWEST)

    @property
    def total(self) -> int:
        """How many scores there are."""
        return int(self._counts.sum())

    @property
    def different(self) -> int:
        """How many different scores there are, to a thousandth."""
        return int(np.count_nonzero(self._counts))

    @property
    def highest(self) -> float:
        """The highest score, to a thousandth; -2 if there is none."""
        used = np.flatnonzero(self._counts)
        return (_LOWEST + int(used[-1]) if len(used) else _LOWEST) / 1000

    def plain(self) -> dict[str, int]:
        """The counts that are not zero, by place."""
        return {str(place): int(self._counts[place]) for place in np.flatnonzero(self._counts)}

    def histogram(self) -> dict[str, list[float] | list[int]]:
        """100 bins of equal width over the scores that there are: 101 ``edges``, 100 ``counts``."""
        used = np.flatnonzero(self._counts)
        first, last = (int(used[0]), int(used[-1])) if len(used) else (-_LOWEST, -_LOWEST)
        width = -(-(last + 1 - first) // _BINS)
        edges = [(_LOWEST + first + width * place) / 1000 for place in range(_BINS + 1)]
        padded = np.zeros(width * _BINS, np.int64)
        padded[: last + 1 - first] = self._counts[first : last + 1]
        return {"edges": edges, "counts": padded.reshape(_BINS, width).sum(axis=1).tolist()}
